package workflows

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag/flow"
	"github.com/roundsman/roundsman/jobtype"
)

// askResources asks admission for what a task needs. Tasks are asked for in the
// order in which they may start, so they all have the priority of a normal job.
func (r *dagRun) askResources(d *flow.Decision) {
	id := r.flow.Run().ID(d.Task)
	item := contract.AdmissionItem{ID: taskAskID(id, d.Ask.Number), Priority: jobtype.PriorityNormal.Rank(), For: id}
	for _, pool := range slices.Sorted(maps.Keys(d.Ask.Resources)) {
		item.Pools = append(item.Pools, contract.AdmissionAmount{Pool: pool, N: d.Ask.Resources[pool], Size: r.in.Resources[pool]})
	}
	r.link.base.Grace = max(r.link.base.Grace, jobtype.Duration(d.Ask.Grace))
	r.link.ask(item)
}

func taskAskID(task string, ask int) string { return task + "." + strconv.Itoa(ask) }

// taskOfAsk is the inverse of taskAskID.
func taskOfAsk(id string) (task string, ask int) {
	task, number, _ := cutLast(id, ".")
	ask, err := strconv.Atoi(number)
	if err != nil {
		return "", 0
	}
	return task, ask
}

// collectAdmission tells the flow what admission says. A run that is asked what
// it holds answers even if that is nothing: it is waited for.
func (r *dagRun) collectAdmission(now time.Time) {
	r.link.collect()
	if r.link.noticeReset() {
		r.link.sayAnew(r.messages.admission, nil)
		r.flow.Renew(now)
	}
	for {
		var answer contract.AdmissionAnswer
		if !r.messages.admission.ReceiveAsync(&answer) {
			break
		}
		// Another holder's is for a workflow that had this id before.
		if answer.Holder == r.link.base.Holder {
			r.takeAnswer(answer, now)
		}
	}
	for r.messages.reassert.ReceiveAsync(nil) {
		r.link.reassert(nil)
	}
	r.link.repeat()
}

func (r *dagRun) takeAnswer(answer contract.AdmissionAnswer, now time.Time) {
	for _, grant := range answer.Granted {
		if item, waited := r.link.granted(grant); waited {
			task, ask := taskOfAsk(item.ID)
			r.carryOutAll(r.flow.Granted(now, task, ask))
		}
	}
	for _, refusal := range answer.Refused {
		r.link.forget(refusal.ID)
		admissionRefused(r.trail, refusal)
		task, ask := taskOfAsk(refusal.ID)
		r.carryOutAll(r.flow.Refused(now, task, ask, refusal.String()))
	}
	for _, lost := range answer.Lost {
		// Only objects, lanes and keys can be given to another meanwhile, and a
		// task has none. Its attempt would not be stopped for a quantity anyway.
		workflow.GetLogger(r.ctx).Error("Resources of a task were lost.", "item", lost.ID, "reason", lost.String())
		r.link.forget(lost.ID)
	}
}
