package draft

import (
	"bufio"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/roundsman/roundsman/internal/lib/crontab"
	"github.com/roundsman/roundsman/jobtype"
)

// unit has values by "Section.Key". An empty value has removed those before it.
type unit map[string][]string

func (u unit) last(key string) string {
	if values := u[key]; len(values) > 0 {
		return values[len(values)-1]
	}
	return ""
}

func readUnit(files fs.FS, name string) (unit, error) {
	text, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	read := unit{}
	read.add(string(text))
	dropIns, err := fs.Glob(files, name+".d/*.conf")
	if err != nil {
		return nil, fmt.Errorf("list the drop-ins of %s: %w", name, err)
	}
	slices.Sort(dropIns)
	for _, dropIn := range dropIns {
		if text, err = fs.ReadFile(files, dropIn); err != nil {
			return nil, fmt.Errorf("read %s: %w", dropIn, err)
		}
		read.add(string(text))
	}
	return read, nil
}

func (u unit) add(text string) {
	section := ""
	lines := bufio.NewScanner(strings.NewReader(strings.ReplaceAll(text, "\\\n", " ")))
	lines.Buffer(nil, len(text)+1)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if line[0] == '[' {
			section = strings.Trim(line, "[]")
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			continue
		}
		key, value = section+"."+strings.TrimSpace(key), strings.TrimSpace(value)
		if value == "" {
			delete(u, key)
			continue
		}
		u[key] = append(u[key], value)
	}
}

// fromTimers translates all timers of a directory. notes are about timers without a translation.
func fromTimers(files fs.FS, timezone string) (entries []entry, notes []string, err error) {
	names, err := fs.Glob(files, "*.timer")
	if err != nil {
		return nil, nil, fmt.Errorf("list the timers: %w", err)
	}
	for _, name := range names {
		timer, err := readUnit(files, name)
		if err != nil {
			return nil, nil, err
		}
		service := timer.last("Timer.Unit")
		if service == "" {
			service = strings.TrimSuffix(name, path.Ext(name)) + ".service"
		}
		started, err := readUnit(files, service)
		if err != nil {
			notes = append(notes, fmt.Sprintf("%s: its service cannot be read: %v", name, err))
			continue
		}
		e := entry{name: clean(strings.TrimSuffix(name, path.Ext(name))), from: name + " starts " + service, timezone: timezone}
		if problem := e.schedule(timer); problem != "" {
			notes = append(notes, name+": "+problem)
			continue
		}
		if problem := e.service(started); problem != "" {
			notes = append(notes, service+": "+problem)
			continue
		}
		entries = append(entries, e)
	}
	distinct(entries)
	return entries, notes, nil
}

// schedule translates the section Timer. It returns the reason if nothing of it has a translation.
func (e *entry) schedule(timer unit) (problem string) {
	var reasons []string
	for _, text := range timer["Timer.OnCalendar"] {
		cron, zone, err := fromCalendar(text)
		switch {
		case err != nil:
			reasons = append(reasons, fmt.Sprintf("OnCalendar=%s: %v", text, err))
		case zone != "" && len(e.cron) > 0 && zone != e.timezone:
			reasons = append(reasons, fmt.Sprintf("OnCalendar=%s: another time zone than the line before", text))
		default:
			e.cron = append(e.cron, cron)
			if zone != "" {
				e.timezone = zone
			}
		}
	}
	for _, key := range []string{"OnUnitActiveSec", "OnUnitInactiveSec"} {
		value := timer.last("Timer." + key)
		every, ok := span(value)
		switch {
		case value == "":
		case ok && len(e.cron) == 0:
			e.every = every
		default:
			reasons = append(reasons, fmt.Sprintf("%s=%s", key, value))
		}
	}
	for _, key := range []string{"OnBootSec", "OnStartupSec", "OnActiveSec", "OnClockChange", "WakeSystem"} {
		if value := timer.last("Timer." + key); value != "" {
			reasons = append(reasons, key+"="+value)
		}
	}
	if len(e.cron) == 0 && e.every == "" {
		return "no line of [Timer] has a translation: " + strings.Join(reasons, "; ")
	}
	for _, reason := range reasons {
		e.note("not translated: %s", reason)
	}
	if value := timer.last("Timer.RandomizedDelaySec"); value != "" {
		if jitter, ok := span(value); ok {
			e.delay(jitter)
		} else {
			e.note("not translated: RandomizedDelaySec=%s", value)
		}
	}
	if isTrue(timer.last("Timer.Persistent")) {
		e.note("Persistent=true: a tick that the control plane missed is made up for, see catchup_window in docs/configuration.md")
	}
	return ""
}

// delay sets the jitter, which must be shorter than the time between two ticks.
func (e *entry) delay(jitter string) {
	e.jitter = jitter
	wanted, err := jobtype.ParseDuration(jitter)
	gap, _ := jobtype.ParseDuration(e.every)
	if len(e.cron) > 0 {
		var expressions []crontab.Expression
		for _, text := range e.cron {
			if expression, err := crontab.Parse(text); err == nil {
				expressions = append(expressions, expression)
			}
		}
		gap = jobtype.Duration(crontab.Gap(expressions))
	}
	if err == nil && gap > 0 && wanted >= gap {
		e.jitter = (gap / 2).String()
		e.note("RandomizedDelaySec=%s is not shorter than the interval of %s: jitter is %s", jitter, gap, e.jitter)
	}
}

func isTrue(value string) bool {
	return slices.Contains([]string{"1", "yes", "true", "on"}, strings.ToLower(value))
}

// units of time of systemd, and ours.
var timeUnits = map[string]string{ //nolint:gochecknoglobals // constant table
	"": "s", "s": "s", "sec": "s", "second": "s", "seconds": "s", "m": "m", "min": "m", "minute": "m", "minutes": "m",
	"h": "h", "hr": "h", "hour": "h", "hours": "h", "d": "d", "day": "d", "days": "d",
}

// span translates a time span such as "1h 30min". A week is 7 days.
func span(text string) (string, bool) {
	var out strings.Builder
	rest := strings.ReplaceAll(text, " ", "")
	for rest != "" {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		word := rest[digits:]
		end := strings.IndexAny(word, "0123456789")
		if end < 0 {
			end = len(word)
		}
		unit, known := timeUnits[word[:end]]
		switch {
		case digits == 0:
			return "", false
		case slices.Contains([]string{"w", "week", "weeks"}, word[:end]):
			weeks := 0
			if _, err := fmt.Sscanf(rest[:digits], "%d", &weeks); err != nil {
				return "", false
			}
			fmt.Fprintf(&out, "%dd", 7*weeks)
		case !known:
			return "", false
		default:
			out.WriteString(rest[:digits] + unit)
		}
		rest = word[end:]
	}
	return out.String(), out.Len() > 0
}
