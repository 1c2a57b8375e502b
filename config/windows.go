package config

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/roundsman/roundsman/internal/engine/window"
	"github.com/roundsman/roundsman/internal/lib/yamlread"
	"github.com/roundsman/roundsman/jobtype"
)

const (
	// maxWindows bounds the entries of one list. A longer list is a mistake.
	maxWindows   = 100
	maxNoteBytes = 200
)

// Entries get a time zone and expanded days, so the stored form depends on no other setting.
func (t *timetable) calendar(n *yamlread.Node, path, timezone string) jobtype.Calendar {
	var calendar jobtype.Calendar
	timezone = cmp.Or(timezone, "UTC")
	for i, item := range t.entries(n.Get("windows"), path+".windows", `{days: [mon-fri], from: "22:00", to: "06:00"}`) {
		at := fmt.Sprintf("%s.windows[%d]", path, i)
		w := jobtype.Window{Timezone: timezone}
		if t.object(item, at, "days", "holidays", "from", "to", "timezone") && t.times(item, at, &w.Days, &w.From, &w.To, &w.Timezone) {
			t.windowFaults(item, at, window.CheckWindow(w, time.LoadLocation))
			w.Days, _ = window.Days(w.Days)
			calendar.Windows = append(calendar.Windows, w)
		}
	}
	for i, item := range t.entries(n.Get("blackouts"), path+".blackouts", `{from: 2026-12-24T12:00, to: 2026-12-27T06:00}`) {
		at := fmt.Sprintf("%s.blackouts[%d]", path, i)
		b := jobtype.Blackout{Timezone: timezone}
		if !t.object(item, at, "days", "holidays", "from", "to", "timezone", "note") {
			continue
		}
		if item.Get("holidays") != nil && item.Get("from") == nil && item.Get("to") == nil {
			b.From, b.To = "00:00", "24:00" // Whole days.
		}
		t.text(item.Get("note"), at+".note", &b.Note)
		if len(b.Note) > maxNoteBytes {
			t.fault(item.Get("note").Place(), at+".note", "has %d bytes, the limit is %d", len(b.Note), maxNoteBytes)
		}
		if t.times(item, at, &b.Days, &b.From, &b.To, &b.Timezone) {
			t.windowFaults(item, at, window.CheckBlackout(b, time.LoadLocation))
			b.Days, _ = window.Days(b.Days)
			calendar.Blackouts = append(calendar.Blackouts, b)
		}
	}
	return calendar
}

func (t *timetable) entries(n *yamlread.Node, path, example string) []*yamlread.Node {
	if n == nil {
		return nil
	}
	if n.Kind != yamlread.List {
		t.fault(n.Place(), path, "is %s, but must be a list: write `- %s`", n.Kind, example)
		return nil
	}
	if len(n.Items) > maxWindows {
		t.fault(n.Place(), path, "holds %d entries, the limit is %d", len(n.Items), maxWindows)
		return nil
	}
	return n.Items
}

func (t *timetable) times(n *yamlread.Node, path string, days *[]string, from, to, timezone *string) bool {
	before := len(t.faults)
	written := n.Get("days")
	for _, item := range t.texts(written, path+".days") {
		*days = append(*days, item.Literal)
	}
	*days = append(*days, t.holidays(n.Get("holidays"), path+".holidays")...)
	if written != nil && written.Kind == yamlread.List && len(written.Items) == 0 {
		t.fault(written.Place(), path+".days", "names no day: leave it out for every day")
	}
	for key, into := range map[string]*string{"from": from, "to": to} {
		if n.Get(key) == nil && *into == "" {
			t.fault(n.Place(), path+"."+key, "is missing: write a time of day like \"22:00\"")
		}
		if n.Get(key) != nil {
			t.text(n.Get(key), path+"."+key, into)
		}
	}
	t.text(n.Get("timezone"), path+".timezone", timezone)
	return len(t.faults) == before
}

func (t *timetable) windowFaults(n *yamlread.Node, path string, err error) {
	for _, one := range joined(err) {
		if fault, ok := errors.AsType[*window.Fault](one); ok {
			t.fault(n.Follow([]string{fault.Key}).Place(), path+"."+fault.Key, "%s", fault.Message)
		}
	}
}

// windowOddities warns of windows without a purpose. It evaluates the fixed year 2024, so the result does not depend
// on the day, and ignores single blackouts.
func (t *timetable) windowOddities(e entry, read JobType, lane jobtype.Calendar) {
	t.policyAndWindows(e, read, lane)
	if read.Calendar.Empty() && lane.Empty() {
		return
	}
	open, known := t.openings(e, read.Calendar, lane)
	if !known {
		return
	}
	key := "windows"
	if e.node.Get(key) == nil {
		key = "blackouts"
	}
	if e.node.Get(key) == nil {
		key = "lane"
	}
	at, path := e.blame(key), e.path+"."+key
	if len(open) == 0 {
		t.fault(at, path, "there is no moment at which jobs may start: its windows and blackouts%s leave none", laneToo(read.Lane))
		return
	}
	longest := time.Duration(0)
	for _, s := range open {
		longest = max(longest, s.Length())
	}
	if shortest := read.Policy.DetectionTimeout.Std(); longest < shortest {
		t.warn(at, path, "no window is longer than %s, and a detection alone may take detection_timeout, %s", jobtype.Duration(longest), jobtype.Duration(shortest))
	}
	if len(read.Schedule.Cron) > 0 && read.Interval > 0 && !t.meets(e, read, open) {
		t.warn(at, path, "no tick of the schedule falls into a window, or so shortly before one that its group would wait for it (%s): it will never run", read.Interval)
	}
}

// policyAndWindows warns of settings that need each other.
func (t *timetable) policyAndWindows(e entry, read JobType, lane jobtype.Calendar) {
	policy, written, path := read.Policy, e.node.Get("policy"), e.path+".policy."
	windows := !read.Calendar.Empty() || !lane.Empty()
	if end := written.Get("on_window_end"); end != nil && !windows {
		t.warn(end.Place(), path+"on_window_end", "has no effect without windows or blackouts")
	}
	drains := policy.OnDeadline == jobtype.DeadlineDrain || windows && policy.OnWindowEnd == jobtype.WindowEndDrain
	if grace := written.Get("drain_grace"); grace != nil && !drains {
		t.warn(grace.Place(), path+"drain_grace", "has no effect under on_deadline cancel: write on_deadline: drain")
	}
}

func laneToo(lane string) string {
	if lane == "" {
		return ""
	}
	return ", and those of lane " + lane + ","
}

func laneSchema() object {
	return closed(object{
		"exclusive": described("boolean", "one group of the lane at a time; default true"),
		"windows":   windowsSchema(),
		"blackouts": blackoutsSchema(),
	})
}

func windowsSchema() object { return entriesSchema(timesSchema("22:00, or 24:00 for to")) }

func blackoutsSchema() object {
	properties := timesSchema("22:00, or a date with a time: 2026-12-24T12:00")
	properties["note"] = described("string", "why, for operators")
	return entriesSchema(properties)
}

func entriesSchema(properties object) object {
	return object{"type": "array", "maxItems": maxWindows, "items": object{
		"type": "object", "additionalProperties": false, "required": []string{"from", "to"}, "properties": properties,
	}}
}

func timesSchema(form string) object {
	return object{
		"days":     object{"description": "mon … sun, spans like mon-fri, first sun, last fri, last, 15 or -1; default every day", "type": []string{"array", "string"}, "items": object{"type": "string"}},
		"from":     described("string", form),
		"to":       described("string", form+"; not after from: on the next day"),
		"timezone": described("string", "IANA name; default the schedule's, else UTC"),
	}
}
