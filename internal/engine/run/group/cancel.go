package group

import (
	"cmp"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run/source"
)

// CheckCancel returns the state of the job that a request names, and the reason to refuse the request.
func (g *views) CheckCancel(c source.CancelItem) (state string, refused *contract.ItemRefusal) {
	named := cmp.Or(c.Name, c.Key)
	refuse := func(code contract.Code, state string) (string, *contract.ItemRefusal) {
		return state, &contract.ItemRefusal{Code: code, Item: named, State: state}
	}
	switch {
	case c.Item < 1 && c.Key == "":
		return refuse(contract.CodeUnknownItem, "")
	case g.phase == PhaseDetecting && !g.begun:
		return refuse(contract.CodeDetecting, "")
	}
	open := g.jobs.Named(c.Item, g.cfg.JobType, c.Key)
	if len(open) == 0 {
		return g.checkAbsent(c.Item, refuse)
	}
	for _, j := range open {
		view, _ := g.engine.View(j.N)
		if state = string(g.stateOf(j)); j.Canceling == "" && (c.Force || view.Canceling == "") {
			return state, nil
		}
	}
	return refuse(contract.CodeCanceling, state)
}

// checkAbsent is CheckCancel for a number, or 0, without an open job.
func (g *views) checkAbsent(number int, refuse func(contract.Code, string) (string, *contract.ItemRefusal)) (string, *contract.ItemRefusal) {
	switch {
	case g.jobs.Backlog.Has(number) && g.forJobs():
		return string(StatePending), nil
	case !g.begun || number < 1 || number > max(g.jobs.Last, g.jobs.Backlog.Last()):
		return refuse(contract.CodeUnknownItem, "")
	}
	ended := ""
	if found, err := g.Jobs(contract.JobsQueryInput{JobID: contract.JobID(number), Limit: 1}, g.clock.LastTick); err == nil && len(found.Jobs) > 0 {
		ended = found.Jobs[0].State
	}
	return refuse(contract.CodeAlreadyEnded, ended)
}
