package config

import (
	"slices"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/after"
	"github.com/roundsman/roundsman/internal/lib/suggest"
	"github.com/roundsman/roundsman/internal/lib/yamlread"
	"github.com/roundsman/roundsman/jobtype"
)

// Bounds of the rules about past successes.
const (
	minAge = jobtype.Duration(1e9)
	maxAge = maxEvery
)

func (l *loader) successes(e entry, read *JobType) {
	if n, path := e.node.Get("run_if_not_succeeded_for"), e.path+".run_if_not_succeeded_for"; n != nil {
		l.age(n, path, &read.RunIfNotSucceededFor)
		if read.RunIfNotSucceededFor > 0 && read.RunIfNotSucceededFor == read.Interval {
			l.warn(n.Place(), path, "equals the interval: a run succeeds after its tick, so every second tick is skipped; write less, or a shorter schedule")
		}
	}
	n, path := e.node.Get("after"), e.path+".after"
	if n == nil {
		return
	}
	if n.Kind != yamlread.Object || len(n.Fields) == 0 {
		l.fault(n.Place(), path, "must be an object of job types, like {pg_dump: {succeeded_within: 24h}}")
		return
	}
	read.After = map[string]contract.AfterRule{}
	for _, f := range n.Fields {
		at, rule := join(path, f.Key), contract.AfterRule{}
		if !l.object(f.Value, at, "succeeded_within") {
			continue
		}
		if within := f.Value.Get("succeeded_within"); within == nil {
			l.fault(f.At, at, "has no maximum age of the success: write {succeeded_within: 24h}")
		} else {
			l.age(within, at+".succeeded_within", &rule.SucceededWithin)
		}
		read.After[f.Key] = rule
	}
}

func (r *reader) age(n *yamlread.Node, path string, into *jobtype.Duration) {
	before := len(r.faults)
	if r.duration(n, path, into); len(r.faults) == before && (*into < minAge || *into > maxAge) {
		r.fault(n.Place(), path, "%s is out of range: use %s to %s", *into, minAge, maxAge)
	}
}

// chains checks the job types that others wait for: each exists, and none waits for itself.
func (l *loader) chains(section *yamlread.Node, types map[string]JobType) {
	needs := map[string][]string{}
	for _, name := range sortedKeys(types) {
		for _, other := range sortedKeys(types[name].After) {
			place, path := section.Follow([]string{name, "after", other}).Place(), join(join("job_types", name), "after."+other)
			awaited, known := types[other]
			switch {
			case !known:
				l.fault(place, path, "there is no job type %q%s", other, suggest.Clause(other, sortedKeys(types)))
				continue
			case !awaited.Enabled && types[name].Enabled:
				l.warn(place, path, "%s is disabled: without a success within succeeded_within no run begins", other)
			}
			needs[name] = append(needs[name], other)
		}
	}
	if cycle := after.Cycle(needs); cycle != nil {
		l.fault(section.Follow([]string{cycle[0], "after", cycle[1]}).Place(), join(join("job_types", cycle[0]), "after"), "the job types wait for each other: %s", after.Text(cycle))
	}
}

func (c *Config) awaitedBy(name string) []string {
	return slices.DeleteFunc(sortedKeys(c.JobTypes), func(other string) bool {
		_, waits := c.JobTypes[other].After[name]
		return !waits
	})
}
