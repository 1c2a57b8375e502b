package inspect

import (
	"cmp"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	list "github.com/roundsman/roundsman/internal/cli/jobtypes"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/cli/workers"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/starter/explainer"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

const needRows = 20

func (c *commands) printNeeds(needs []explain.Need, now time.Time) {
	if len(needs) == 0 {
		return
	}
	listed := ui.NewTable("NEEDS A PERSON", "CODE", "SINCE", "REMEDY", "WHY")
	for _, need := range needs[:min(len(needs), needRows)] {
		listed.Add(ui.Text(cmp.Or(need.Of, need.Name)), ui.Cell{Text: string(need.Code), Paint: ui.Odd}, ui.Text(ui.Ago(need.Since, now)),
			ui.Text(c.Env.Own.Text(need.Remedy)), ui.Cause(need.Detail))
	}
	c.PrintTable(listed, "")
	if more := len(needs) - needRows; more > 0 {
		c.Print("and %d more: `roundsman status -o json`", more)
	}
	c.Print("")
}

func withoutNeeds(s status) status {
	needed := func(kind, name string) bool {
		return slices.ContainsFunc(s.Needs, func(n explain.Need) bool { return n.Kind == kind && n.Name == name })
	}
	s.Stopped = slices.DeleteFunc(slices.Clone(s.Stopped), func(t jobtypes.JobType) bool {
		return t.Fault == "" && !t.DisabledByConfig && needed(explainer.KindJobType, t.Name)
	})
	s.Workers = slices.DeleteFunc(slices.Clone(s.Workers), func(w contract.WorkerDetail) bool { return needed(explainer.KindWorker, w.Registration.ID) })
	s.Untold = slices.DeleteFunc(slices.Clone(s.Untold), func(r contract.ReceiverView) bool { return needed(explainer.KindReceiver, r.Name) })
	return s
}

func (c *commands) printUnwell(found status, now time.Time) {
	if len(found.Stopped) > 0 {
		c.Print("")
		stopped := ui.NewTable("STOPPED", "STATE", "BY")
		for _, known := range found.Stopped {
			stopped.Add(ui.Text(known.Name), list.State(known), ui.Text(known.PausedBy))
		}
		c.PrintTable(stopped, "")
	}
	if len(found.Workers) > 0 {
		c.Print("")
		unwell := ui.NewTable("WORKER", "STATE", "SINCE", "REASON")
		for _, worker := range found.Workers {
			since, why := worker.Since, worker.Cause.Reason
			if worker.Trouble != nil {
				since, why = worker.Trouble.Since, worker.Trouble.Reason
			}
			unwell.Add(ui.Text(worker.Registration.ID), workers.State(worker), ui.Text(ui.Ago(since, now)), ui.Cell{Text: why, Cause: true})
		}
		c.PrintTable(unwell, "")
	}
	if len(found.Untold) > 0 {
		c.Print("")
		untold := ui.NewTable("NOT TOLD", "FAILING SINCE", "WAITING", "ERROR")
		for _, r := range found.Untold {
			untold.Add(ui.Text(r.Name), ui.Text(ui.Ago(r.FailingSince, now)), ui.Textf("%d", r.Waiting), ui.Cell{Text: r.Error, Paint: ui.Bad, Cause: true})
		}
		c.PrintTable(untold, "")
	}
}
