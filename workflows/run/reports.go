package run

import (
	"slices"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	engine "github.com/roundsman/roundsman/internal/engine/run"
)

// reports are the undelivered reports about workers. The server may deliver two signals of one workflow task in any
// order, so a report waits for the delivery of an earlier one about the same worker.
type reports struct {
	ctx  workflow.Context
	list []report
}

type report struct {
	in contract.WorkerTroubleInput
	// sending is nil while the report waits.
	sending workflow.Future
}

func (p report) delivered() bool { return p.sending != nil && p.sending.IsReady() }

// An absent registry misses the report; the engine repeats a trouble that is not in its view.
func (r *reports) add(d engine.Decision) {
	r.list = append(r.list, report{in: contract.WorkerTroubleInput{
		Incarnation: contract.Incarnation{ID: d.Worker, Instance: d.Instance}, Code: d.Trouble, Detail: d.Reason,
		Run: workflow.GetInfo(r.ctx).WorkflowExecution.ID,
	}})
	r.send()
}

func (r *reports) send() {
	for i := range r.list {
		p := &r.list[i]
		if p.sending == nil && !slices.ContainsFunc(r.list[:i], func(earlier report) bool { return earlier.in.ID == p.in.ID }) {
			p.sending = workflow.SignalExternalWorkflow(r.ctx, contract.FleetWorkflowID, "", contract.SignalWorkerTrouble, p.in)
		}
	}
}

// ready reports whether collect has something to do.
func (r *reports) ready() bool { return slices.ContainsFunc(r.list, report.delivered) }

func (r *reports) collect() {
	r.list = slices.DeleteFunc(r.list, report.delivered)
	r.send()
}

// idle reports whether all are delivered: the server drops those of an ended run.
func (r *reports) idle() bool {
	return !slices.ContainsFunc(r.list, func(p report) bool { return !p.delivered() })
}

func (r *reports) settle() error {
	for ; len(r.list) > 0; r.collect() {
		if err := workflow.Await(r.ctx, r.ready); err != nil {
			return err
		}
	}
	return nil
}
