package config

import (
	"reflect"
	"strings"
	"time"
	_ "time/tzdata" // Nodes may lack a time zone database; names must mean the same everywhere.

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/window"
	"github.com/roundsman/roundsman/internal/lib/crontab"
	"github.com/roundsman/roundsman/internal/lib/yamlread"
	"github.com/roundsman/roundsman/jobtype"
)

// Bounds of a schedule. A Temporal Schedule counts in whole seconds.
const (
	minEvery = jobtype.Duration(time.Second)
	maxEvery = jobtype.Duration(365 * 24 * time.Hour)
	maxCrons = 50
)

// The interval is `every`, or the smallest gap between two ticks of cron; 0 if a fault hides it.
func (t *timetable) schedule(e entry) (spec contract.ScheduleSpec, interval jobtype.Duration) {
	n, path := e.node.Get("schedule"), e.path+".schedule"
	spec.Every = e.defaultInterval()
	if n == nil && spec.Every == 0 {
		t.fault(e.blame(), path, "is missing%s: write `schedule: {every: 1h}` or `schedule: {cron: \"0 2 * * *\"}`", e.noInterval())
		return spec, 0
	}
	if n != nil && !t.object(n, path, "every", "offset", "spread", "cron", "days", "holidays", "except_holidays", "timezone", "jitter", "first_run") {
		return spec, 0
	}
	every, cron := n.Get("every"), n.Get("cron")
	switch {
	case every != nil && cron != nil:
		t.fault(cron.Place(), path+".cron", "is written together with every: use one of them, or two job types")
	case every == nil && cron == nil && spec.Every == 0:
		t.fault(n.Place(), path, "says neither every nor cron%s: write `every: 1h` or `cron: \"0 2 * * *\"`", e.noInterval())
	case cron == nil:
		interval = t.every(n, path, &spec)
		t.spread(e, n.Get("spread"), &spec)
	default:
		spec.Every = 0
		interval = t.cron(e, n, path, &spec)
	}
	t.jitter(n, path, &spec, interval)
	t.firstRun(n.Get("first_run"), path+".first_run", &spec)
	return spec, interval
}

// An interval begins at once. A calendar states the time of day for work, so it begins at its first tick.
func (t *timetable) firstRun(written *yamlread.Node, path string, spec *contract.ScheduleSpec) {
	spec.FirstRun = contract.FirstRunScheduled
	if len(spec.Cron) == 0 {
		spec.FirstRun = contract.FirstRunNow
	}
	if written == nil {
		return
	}
	how := ""
	t.text(written, path, &how)
	spec.FirstRun = contract.FirstRun(how)
	if written.Kind == yamlread.Text && spec.FirstRun != contract.FirstRunNow && spec.FirstRun != contract.FirstRunScheduled {
		t.fault(written.Place(), path, "%q is none of the ways: use %s or %s", how, contract.FirstRunNow, contract.FirstRunScheduled)
	}
}

// defaultInterval returns the interval of the handler's descriptor, or 0 without a usable one.
func (e entry) defaultInterval() jobtype.Duration {
	if e.handler == nil {
		return 0
	}
	every := e.handler.descriptor.DefaultInterval
	if every < minEvery || every > maxEvery || every.Std()%time.Second != 0 {
		return 0
	}
	return every
}

func (e entry) noInterval() string {
	if e.handler != nil {
		return ", and handler " + e.handler.descriptor.Name + " has no default interval"
	}
	return ""
}

// fromHandler lists the settings of the job type that are defaults of its handler.
func (e entry) fromHandler() []string {
	if e.handler == nil {
		return nil
	}
	var paths []string
	defaults := reflect.ValueOf(e.handler.descriptor.DefaultPolicy)
	for _, s := range policySettings() {
		if !defaults.Field(s.index).IsZero() && e.node.Get("policy").Get(s.key) == nil {
			paths = append(paths, "policy."+s.key)
		}
	}
	schedule := e.node.Get("schedule")
	if e.defaultInterval() > 0 && schedule.Get("every") == nil && schedule.Get("cron") == nil {
		paths = append(paths, contract.PathEvery)
	}
	return paths
}

const (
	spreadByName = "name"
	spreadNone   = "none"
)

// A thousand job types due in the same second would skip most of their runs.
func (t *timetable) spread(e entry, written *yamlread.Node, spec *contract.ScheduleSpec) {
	path, how := e.path+".schedule.spread", spreadByName
	t.text(written, path, &how)
	switch offset := e.node.Get("schedule").Get("offset"); {
	case how != spreadByName && how != spreadNone:
		t.fault(written.Place(), path, "%q is none of the ways: use %s or %s", how, spreadByName, spreadNone)
	case written != nil && how == spreadByName && offset != nil:
		t.fault(written.Place(), path, "is written together with offset: use one of them")
	case how == spreadByName && offset == nil && spec.Every > 0:
		spec.Offset = contract.SpreadOffset(e.name, spec.Every)
	}
}

func (t *timetable) every(n *yamlread.Node, path string, spec *contract.ScheduleSpec) jobtype.Duration {
	before := len(t.faults)
	t.wholeSeconds(n.Get("every"), path+".every", &spec.Every)
	if len(t.faults) == before && (spec.Every < minEvery || spec.Every > maxEvery) {
		t.fault(n.Get("every").Place(), path+".every", "%s is out of range: use %s to %s", spec.Every, minEvery, maxEvery)
	}
	t.wholeSeconds(n.Get("offset"), path+".offset", &spec.Offset)
	if len(t.faults) == before && (spec.Offset < 0 || spec.Offset >= spec.Every) {
		t.fault(n.Follow([]string{"offset"}).Place(), path+".offset", "%s must be shorter than every, %s", spec.Offset, spec.Every)
	}
	for _, key := range []string{"days", "holidays", "except_holidays"} {
		if written := n.Get(key); written != nil {
			t.fault(written.Place(), path+"."+key, "has no meaning for every: write the time of day as cron")
		}
	}
	if zone := n.Get("timezone"); zone != nil {
		t.fault(zone.Place(), path+".timezone", "has no meaning for every: intervals count from 1970-01-01 UTC; use cron or offset")
	}
	if len(t.faults) > before {
		return 0
	}
	return spec.Every
}

// wholeSeconds refuses fractions, which the server would drop silently.
func (t *timetable) wholeSeconds(n *yamlread.Node, path string, into *jobtype.Duration) {
	if n == nil {
		return
	}
	t.duration(n, path, into)
	if into.Std()%time.Second != 0 {
		t.fault(n.Place(), path, "%s is not a whole number of seconds", *into)
	}
}

func (t *timetable) cron(e entry, n *yamlread.Node, path string, spec *contract.ScheduleSpec) jobtype.Duration {
	before := len(t.faults)
	var expressions []crontab.Expression
	for _, written := range t.texts(n.Get("cron"), path+".cron") {
		text := written.Literal
		expression, err := crontab.Parse(text)
		if err != nil {
			t.fault(written.Place(), path+".cron", "%s", err)
			continue
		}
		expressions = append(expressions, expression)
		if expression.Either() {
			fields := strings.Fields(text)
			t.warn(written.Place(), path+".cron", "%q is due on each day %s of the month or %s: cron joins both by \"or\"", text, fields[2], fields[4])
		}
		spec.Cron = append(spec.Cron, expression.String())
	}
	if count := len(expressions); len(t.faults) == before && (count == 0 || count > maxCrons) {
		t.fault(n.Get("cron").Place(), path+".cron", "holds %d expressions: write 1 to %d", count, maxCrons)
	}
	t.timezone(n, path, spec)
	t.scheduleDays(n, path, expressions, spec)
	if offset := n.Get("offset"); offset != nil {
		t.fault(offset.Place(), path+".offset", "has no meaning for cron: write the minute into the expression")
	}
	if spread := n.Get("spread"); spread != nil {
		t.fault(spread.Place(), path+".spread", "has no meaning for cron: the expression sets the time, and jitter makes it later")
	}
	if len(t.faults) > before || !t.spend(e, stepsOfCron*len(expressions)) {
		return 0
	}
	gap := crontab.Gap(expressions)
	if rare := time.Duration(window.Rarest(spec.Days)) * 24 * time.Hour; len(spec.Days) > 0 && gap >= 24*time.Hour {
		gap = max(gap, rare)
	}
	return jobtype.Duration(gap)
}

func (t *timetable) timezone(n *yamlread.Node, path string, spec *contract.ScheduleSpec) {
	spec.Timezone = "UTC"
	written := n.Get("timezone")
	if written == nil {
		return
	}
	t.text(written, path+".timezone", &spec.Timezone)
	if spec.Timezone == "Local" || spec.Timezone == "" {
		t.fault(written.Place(), path+".timezone", "%q means another zone on every machine: name one, like Europe/Berlin", spec.Timezone)
		return
	}
	if _, err := time.LoadLocation(spec.Timezone); err != nil {
		t.fault(written.Place(), path+".timezone", "there is no time zone %q: use an IANA name like Europe/Berlin or UTC", spec.Timezone)
	}
}

// The server caps the jitter at the time until the next tick, so a longer one is a fault.
func (t *timetable) jitter(n *yamlread.Node, path string, spec *contract.ScheduleSpec, interval jobtype.Duration) {
	written := n.Get("jitter")
	if written == nil {
		return
	}
	before := len(t.faults)
	t.duration(written, path+".jitter", &spec.Jitter)
	if len(t.faults) == before && (spec.Jitter < 0 || interval > 0 && spec.Jitter >= interval) {
		t.fault(written.Place(), path+".jitter", "%s must be shorter than the interval, %s", spec.Jitter, interval)
	}
}
