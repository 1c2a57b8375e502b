package admission

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/admission"
	"github.com/roundsman/roundsman/internal/lib/pack"
	"github.com/roundsman/roundsman/workflows/entity"
)

// Workflow is [contract.AdmissionWorkflow]. It fails only on a bug. state is a separate argument because JSON would
// make its bytes a third longer.
func Workflow(ctx workflow.Context, in contract.AdmissionInput, state []byte) error {
	a, err := newRun(ctx, in, state)
	if err != nil {
		return err
	}
	for {
		a.takeReset()
		if a.loop.Full(entity.DefaultLimits(), a.outbox.empty()) {
			return a.continueAsNew()
		}
		a.attend()
		a.outbox.send(a.loop)
		a.loop.Flush()
		a.describe()
		if err := a.loop.Wait(a.core.NextDeadline(), a.woken); err != nil {
			return err
		}
		a.collect()
	}
}

type run struct {
	loop     *entity.Loop
	ctx      workflow.Context
	core     *admission.Core
	requests workflow.ReceiveChannel
	outbox   outbox
	watch    workflow.Future
	asking   *question
	// previous: see [contract.AdmissionInput]. newer are later runs whose state was inherited before.
	previous, newer []string
	// inherited is the origin of the durable part of the state.
	inherited contract.Inherited
}

type question struct {
	contract.AskHoldersInput
	future workflow.Future
}

func newRun(ctx workflow.Context, in contract.AdmissionInput, state []byte) (*run, error) {
	loop := entity.New(ctx, entity.Options{Name: contract.AdmissionWorkflowID, Audit: in.Audit, Continued: len(state) > 0, Passed: in.Inherited.Passed})
	a := &run{loop: loop, ctx: loop.Context(), requests: workflow.GetSignalChannel(ctx, contract.SignalAdmissionRequest)}
	if len(state) == 0 {
		a.begin(in)
	} else {
		core, err := unpackState(state)
		if err != nil {
			return nil, temporal.NewNonRetryableApplicationError("admission cannot continue", "BadState", err)
		}
		a.core, a.inherited = core, in.Inherited
	}
	a.previous = in.Previous
	switch late := in.LateSince; {
	case len(a.previous) > 0:
		a.askPrevious()
	case !late.IsZero() && !a.core.Asking(): // After a recovery, late ones are queried anyway.
		a.ask(contract.AskHoldersInput{LateSince: late})
	}
	a.outbox.restore(in.Undelivered)
	for _, holder := range in.Unanswered {
		a.step(admission.Repeated(holder))
	}
	return a, a.listen()
}

// begin creates the core of a run that continues no other, from the durable data of an earlier admission if readable.
func (a *run) begin(in contract.AdmissionInput) {
	a.inherited = in.Inherited
	durable := a.durableOf(&a.inherited)
	a.core = admission.New(a.loop.Now(), durable)
}

func (a *run) durableOf(inherited *contract.Inherited) admission.Durable {
	var durable admission.Durable
	if len(inherited.Data) > 0 {
		if err := pack.OpenJSON(inherited.Data, maxUnpacked, &durable); err != nil {
			durable, inherited.Fault = admission.Durable{}, "the state of the previous admission cannot be read: "+err.Error()
		}
	}
	inherited.Data, inherited.Passed = nil, nil
	if inherited.Fault != "" {
		workflow.GetLogger(a.ctx).Error("Operators' pool sizes, outcomes and fences are lost with the admission before.", "fault", inherited.Fault)
		a.auditLoss(inherited.Fault)
	}
	return durable
}

func (a *run) step(event admission.Event) {
	for _, decision := range a.core.Next(a.loop.Now(), event) {
		a.outbox.take(decision)
	}
	a.auditDisabled()
}

// takeReset starts a recovery after a reset. The grants that the reset undid are lost; their fences must not be granted again.
func (a *run) takeReset() {
	before, reset := a.loop.WasReset()
	if !reset {
		return
	}
	a.step(admission.Recover{})
	a.previous, a.newer = append([]string{before}, a.previous...), nil
	a.askPrevious()
}

func (a *run) askPrevious() {
	a.ask(contract.AskHoldersInput{Previous: a.previous[0], Known: slices.Concat(a.newer, a.previous)})
}

func (a *run) ask(in contract.AskHoldersInput) {
	a.asking = &question{in, callAskHolders(a.ctx, in)}
}

func (a *run) attend() {
	if a.watch == nil && !a.core.Idle() {
		a.watch = callWatchHolders(a.ctx)
	}
	switch {
	case a.asking != nil || !a.core.Asking() || a.loop.Now().Before(a.core.ListAt()):
	case len(a.previous) > 0:
		a.askPrevious()
	default:
		a.ask(contract.AskHoldersInput{})
	}
}

func (a *run) woken() bool {
	return a.requests.Len() > 0 || a.watch != nil && a.watch.IsReady() || a.asking != nil && a.asking.future.IsReady() || a.outbox.delivered()
}

func (a *run) collect() {
	a.collectRequests()
	a.collectAnswers()
	if a.watch != nil && a.watch.IsReady() {
		a.collectWatch()
	}
	if a.asking != nil && a.asking.future.IsReady() {
		a.collectAsked()
	}
	a.step(admission.Tick{})
}

// The SDK logs and drops requests that it cannot decode.
func (a *run) collectRequests() {
	for {
		var in contract.AdmissionRequest
		if !a.requests.ReceiveAsync(&in) {
			return
		}
		a.loop.Received(1)
		if in.Holder.WorkflowID == "" {
			workflow.GetLogger(a.ctx).Error("A request without a holder is ignored.")
			continue
		}
		a.step(admission.Requested(in))
	}
}

func (a *run) collectAnswers() {
	for _, holder := range a.outbox.collect(a.ctx) {
		a.step(admission.Closed{Holder: holder})
	}
}

func (a *run) collectWatch() {
	var result contract.WatchHoldersResult
	err := a.watch.Get(a.ctx, &result)
	a.watch = nil
	if err != nil {
		workflow.GetLogger(a.ctx).Error("The watch for holders that end is started again.", "error", err)
	}
	for _, holder := range result.Closed {
		a.step(admission.Closed{Holder: holder})
	}
}

// collectAsked applies the list of queried workflows, or requests it again. After the first list it queries those that
// visibility shows late.
func (a *run) collectAsked() {
	asked := a.asking
	a.asking = nil
	var result contract.AskHoldersResult
	if err := asked.future.Get(a.ctx, &result); err != nil {
		workflow.GetLogger(a.ctx).Error("The holders could not be queried; admission continues after the limit.", "error", err)
		a.unlisted(err)
		return
	}
	if asked.Previous != "" && a.inheritMore(asked, result) {
		return
	}
	if asked.LateSince.IsZero() {
		if a.inherited.From != "" || asked.Previous != "" { // The first run of a namespace has nothing to recover.
			a.auditRecovery(result.WorkflowIDs)
		}
		a.step(admission.Expected{IDs: result.WorkflowIDs, Final: true})
		a.ask(contract.AskHoldersInput{LateSince: a.loop.Now().Add(-lateStart)})
	}
}

// unlisted lets the core decide when the holders are queried again.
func (a *run) unlisted(err error) {
	if !a.core.Asking() {
		return
	}
	reason := err.Error()
	if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		reason = failed.Message()
	}
	a.auditUnlisted(reason)
	a.step(admission.Unlisted{Reason: reason})
}

// inheritMore inherits from a run before a reset, and queries the next one if there is one.
func (a *run) inheritMore(asked *question, result contract.AskHoldersResult) (more bool) {
	from := result.Inherited.From
	a.step(admission.Inherited{Durable: a.durableOf(&result.Inherited)})
	if from != "" && from != asked.Previous {
		a.newer = append(a.newer, from)
	} else {
		a.previous = a.previous[1:]
	}
	if len(a.previous) == 0 {
		return false
	}
	a.askPrevious()
	return true
}

// lateStart is the longest delay before visibility shows a workflow that has started.
const lateStart = 10 * time.Minute

// continueAsNew passes the state to the next run. The server drops signals that are undelivered when a run ends, so
// the next run repeats unconfirmed answers. A repeated answer changes nothing.
func (a *run) continueAsNew() error {
	if err := a.loop.Finish(); err != nil {
		return err
	}
	a.collectRequests()
	a.collectAnswers()
	state, err := pack.JSON(a.core.Snapshot())
	if err != nil {
		return fmt.Errorf("continue as new: %w", err)
	}
	in := contract.AdmissionInput{Inherited: a.inherited, Previous: a.previous, Audit: a.loop.Audit.State()}
	in.Inherited.Passed = a.loop.Passed()
	in.Undelivered, in.Unanswered = a.outbox.state()
	if a.asking != nil {
		in.LateSince = a.asking.LateSince
	}
	return workflow.NewContinueAsNewError(a.ctx, contract.AdmissionWorkflow, in, state)
}

func gone(err error) bool {
	var unknown *temporal.UnknownExternalWorkflowExecutionError
	return errors.As(err, &unknown)
}
