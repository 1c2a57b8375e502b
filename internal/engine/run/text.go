package run

import (
	"slices"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
)

func (e *views) missing(c *class) string {
	if c.shared {
		return explain.TextUnshared(c.jobType)
	}
	missing := e.Shortage(explain.Wanted{JobType: c.jobType, Handler: c.handler, Node: c.node, Labels: c.labels})
	if missing == "" { // A worker has just appeared, or matching ones execute nothing.
		return explain.TextUnserved(c.handler, c.labels)
	}
	return missing
}

// Shortage names the missing property without which no worker of the view can serve.
func (e *views) Shortage(wanted explain.Wanted) string {
	workers := e.fleet.sorted()
	if w := e.fleet.byID[wanted.Node]; w != nil {
		workers = []*worker{w}
	}
	var servers []explain.Server
	for _, w := range workers {
		one := explain.Server{ID: w.ID, Labels: w.Labels, JobTypes: w.JobTypes, Capabilities: w.Capabilities}
		if slices.Contains(w.unsupported, wanted.Handler) {
			one.Capabilities = slices.DeleteFunc(slices.Clone(w.Capabilities), func(c contract.Capability) bool { return c.Handler == wanted.Handler })
		}
		switch {
		case !w.online():
			one.Away = string(w.State)
		case !w.Fresh:
			one.Away = explain.Silent
		case w.suspect:
			one.Away = explain.Suspect
		}
		servers = append(servers, one)
	}
	return wanted.Shortage(servers).Text()
}
