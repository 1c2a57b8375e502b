package draft

import (
	"fmt"
	"slices"
	"strings"

	"github.com/roundsman/roundsman/internal/lib/crontab"
)

// In a system crontab the sixth field is the user. notes are about lines that are no job.
func fromCrontab(text string, system bool, timezone string) (entries []entry, notes []string) {
	reader := cronReader{timezone: timezone}
	for number, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if problem := reader.read(line, system); problem != "" {
			notes = append(notes, fmt.Sprintf("line %d: %s: %s", number+1, problem, line))
		}
	}
	distinct(reader.entries)
	return reader.entries, notes
}

type cronReader struct {
	timezone, shell, jitter string
	env                     [][2]string
	entries                 []entry
}

// read takes one line. It returns the reason if there is no translation.
func (r *cronReader) read(line string, system bool) (problem string) {
	if name, value, ok := setting(line); ok {
		return r.set(name, value)
	}
	words := 5
	if strings.HasPrefix(line, "@") {
		words = 1
	}
	when, rest := fields(line, words)
	e := entry{from: line, timezone: r.timezone, jitter: r.jitter, dir: "~", env: slices.Clone(r.env)}
	if system {
		e.user, rest = fields(rest, 1)
	}
	if rest == "" {
		return "it has no command"
	}
	expression, err := crontab.Parse(when)
	if err != nil {
		return err.Error()
	}
	if expression.Either() {
		e.note("cron joins the day of the month and the weekday by \"or\"")
	}
	e.cron = []string{when}
	command, input, has := percent(rest)
	if has {
		e.stdin = "data:" + input
	}
	e.line(r.shell, command)
	e.name = nameOf(command)
	r.entries = append(r.entries, e)
	return ""
}

func (r *cronReader) set(name, value string) (problem string) {
	switch name {
	case "SHELL":
		r.shell = value
	case "CRON_TZ", "TZ":
		r.timezone = value
	case "RANDOM_DELAY":
		r.jitter = value + "m"
	case "MAILTO", "MAILFROM":
		if value != "" {
			return "mail is a receiver here, see docs/notifications.md"
		}
	default:
		r.env = append(slices.DeleteFunc(r.env, func(pair [2]string) bool { return pair[0] == name }), [2]string{name, value})
	}
	return ""
}

// setting reads NAME=value, with or without quotes and blanks around the sign.
func setting(line string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(line, "=")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	if !ok || !assignment.MatchString(name+"=") {
		return "", "", false
	}
	if len(value) > 1 && (value[0] == '"' || value[0] == '\'') && value[len(value)-1] == value[0] {
		value = value[1 : len(value)-1]
	}
	return name, value, true
}

func fields(line string, n int) (first, rest string) {
	rest = line
	var words []string
	for range n {
		rest = strings.TrimLeft(rest, " \t")
		end := strings.IndexAny(rest, " \t")
		if end < 0 {
			end = len(rest)
		}
		words, rest = append(words, rest[:end]), rest[end:]
	}
	return strings.Join(words, " "), strings.TrimSpace(rest)
}

// As in cron, the first % begins the standard input, each further one is a line break there, and \% is a %.
func percent(text string) (command, input string, has bool) {
	const escaped = "\x00"
	text = strings.ReplaceAll(text, `\%`, escaped)
	command, input, has = strings.Cut(text, "%")
	input = strings.ReplaceAll(input, "%", "\n")
	restore := func(s string) string { return strings.ReplaceAll(s, escaped, "%") }
	return strings.TrimSpace(restore(command)), restore(input), has
}
