package workflows

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/admission"
	"github.com/roundsman/roundsman/workflows/entity"
	"github.com/roundsman/roundsman/workflows/recorder"
)

// maxUndelivered is how many answers are on their way at once. The server refuses
// a workflow task that would make it more than 2,000.
const maxUndelivered = 500

// Admission is the one of a namespace. It lives for ever, as a chain of runs,
// and decides by internal/admission who may do what when.
//
// Whoever needs it creates it. One that starts without the state of a run before
// (it is the first, or that one was terminated), and one that was reset, asks
// all running groups what they hold before it grants anything.
//
// It fails only on a bug.
func Admission(ctx workflow.Context, in contract.AdmissionInput) error {
	a, err := newAdmissionRun(ctx, in)
	if err != nil {
		return err
	}
	for {
		a.checkReset()
		if a.isFull() {
			return a.continueAsNew()
		}
		a.attend()
		a.awaitLull()
		a.send()
		a.trail.Flush()
		workflow.SetCurrentDetails(ctx, a.details())
		if err := a.wait(); err != nil {
			return err
		}
		a.collect()
	}
}

// admissionRun is admission between its core and Temporal.
type admissionRun struct {
	ctx      workflow.Context
	core     *admission.Desk
	requests workflow.ReceiveChannel
	// outbox are answers not sent yet, one per holder, in the order of deciding.
	outbox []*contract.AdmissionAnswer
	sent   []sentAnswer
	tasks  entity.Tasks
	watch  workflow.Future
	asking workflow.Future
	// asked: this recovery knows whom to wait for.
	asked bool
	trail *recorder.Recorder
	// run is the id of the workflow run, as far as it was noticed.
	run     string
	touched bool
	// taken counts the requests of this run, lastTaken is when the last one came;
	// see [admissionLull]. lullTimer runs while the run would like to end.
	taken     int
	lastTaken time.Time
	lullTimer workflow.Future
	// inherited says where the durable part of the state comes from.
	inherited contract.Inherited
}

// sentAnswer is an answer that the server has not confirmed yet.
type sentAnswer struct {
	*contract.AdmissionAnswer

	future workflow.Future
}

func newAdmissionRun(ctx workflow.Context, in contract.AdmissionInput) (*admissionRun, error) {
	a := &admissionRun{ctx: ctx, requests: workflow.GetSignalChannel(ctx, contract.SignalAdmissionRequest), trail: entityTrail(ctx), lastTaken: workflow.Now(ctx)}
	a.trail.Restore(in.Audit)
	if len(in.State) == 0 {
		a.begin(in)
	} else {
		core, err := unpackAdmission(in.State)
		if err != nil {
			return nil, temporal.NewNonRetryableApplicationError("admission cannot go on after continue-as-new", "BadState", err)
		}
		a.core, a.inherited = core, in.Inherited
	}
	for i := range in.Undelivered {
		a.outbox = append(a.outbox, &in.Undelivered[i])
	}
	return a, a.listen()
}

// step tells the core one event and puts its decisions into the outbox.
func (a *admissionRun) step(event admission.Event) {
	for _, decision := range a.core.Next(workflow.Now(a.ctx), event) {
		switch d := decision.(type) {
		case admission.Granted:
			answer := a.answerFor(d.Holder)
			answer.Granted = append(answer.Granted, grantOf(d))
		case admission.Refused:
			answer := a.answerFor(d.Holder)
			answer.Refused = append(answer.Refused, contract.AdmissionRefusal{ID: d.ID, Code: string(d.Code), Reason: d.Reason})
		case admission.Lost:
			answer := a.answerFor(d.Holder)
			answer.Lost = append(answer.Lost, contract.AdmissionRefusal{ID: d.ID, Reason: d.Reason})
		case admission.KeyStopped:
			answer := a.answerFor(d.Holder)
			answer.Stopped = append(answer.Stopped, contract.AdmissionStop{AdmissionHold: wireHold(d.HeldBack)})
		case admission.TypeStopped:
			answer := a.answerFor(d.Holder)
			answer.Stopped = append(answer.Stopped, contract.AdmissionStop{AdmissionHold: wireHold(d.HeldBack)})
		}
	}
	a.auditDisabled()
}

func (a *admissionRun) answerFor(holder admission.Holder) *contract.AdmissionAnswer {
	wire := wireHolder(holder)
	for _, answer := range a.outbox {
		if answer.Holder == wire {
			return answer
		}
	}
	answer := &contract.AdmissionAnswer{Holder: wire}
	a.outbox = append(a.outbox, answer)
	return answer
}

// checkReset notices that an operator has reset the workflow. Everything since
// the point of reset is forgotten then, grants too, and the fences of that time
// must not be given again. A side effect is what tells: during the replay of the
// history before the reset it says what it said then.
func (a *admissionRun) checkReset() {
	var run string
	info := workflow.GetInfo(a.ctx)
	value := workflow.MutableSideEffect(a.ctx, "run", func(workflow.Context) any {
		return info.WorkflowExecution.RunID
	}, func(x, y any) bool { return x == y })
	if err := value.Get(&run); err != nil || run == a.run {
		return
	}
	if a.run != "" {
		workflow.GetLogger(a.ctx).Warn("Admission was reset and asks running groups what they hold.")
		a.asking, a.asked = nil, false
		a.step(admission.Recover{FenceFloor: admission.FenceFloor(workflow.Now(a.ctx))})
	}
	a.run = run
}

// attend keeps the two activities going: one that watches for holders that end,
// while there are any, and one that asks around, while that is needed.
func (a *admissionRun) attend() {
	if a.watch == nil && len(a.core.Watched()) > 0 {
		a.watch = callWatchHolders(a.ctx)
	}
	if recovering, _ := a.core.Recovering(); recovering && a.asking == nil && !a.asked {
		a.asking = callAskHolders(a.ctx)
	}
}

// send tells what was decided, in order, as far as the server takes it: the rest
// goes when something has been delivered.
func (a *admissionRun) send() {
	n := 0
	for ; n < len(a.outbox) && len(a.sent) < maxUndelivered && a.tasks.Fits(a.ctx, answerBytes(a.outbox[n])); n++ {
		answer := a.outbox[n]
		future := workflow.SignalExternalWorkflow(a.ctx, answer.Holder.WorkflowID, "", contract.SignalAdmissionAnswer, *answer)
		a.sent = append(a.sent, sentAnswer{answer, future})
	}
	a.outbox = slices.Delete(a.outbox, 0, n)
}

// answerBytes estimates what an answer weighs.
func answerBytes(answer *contract.AdmissionAnswer) int {
	const perEntry, perIndex, perKey = 128, 6, 192
	size := perEntry * (1 + len(answer.Granted) + len(answer.Refused) + len(answer.Lost) + len(answer.Stopped))
	for _, grant := range answer.Granted {
		size += len(grant.HeldBack) * perKey
		for _, taken := range grant.Taken {
			size += perEntry + len(taken.Indexes)*perIndex
		}
	}
	return size
}

// wait blocks until there is something to do.
func (a *admissionRun) wait() error {
	next := entity.Earlier(a.core.NextDeadline(), a.trail.Wake())
	if next.IsZero() {
		return workflow.Await(a.ctx, a.woken)
	}
	_, err := workflow.AwaitWithTimeout(a.ctx, max(next.Sub(workflow.Now(a.ctx)), time.Millisecond), a.woken)
	return err
}

func (a *admissionRun) woken() bool {
	if a.touched || a.lullOver() || a.trail.Ready() || a.requests.Len() > 0 || a.watch != nil && a.watch.IsReady() || a.asking != nil && a.asking.IsReady() {
		return true
	}
	for i := range a.sent {
		if a.sent[i].future.IsReady() {
			return true
		}
	}
	return false
}

// collect takes in whatever has happened.
func (a *admissionRun) collect() {
	a.touched = false
	if a.lullOver() {
		a.lullTimer = nil
	}
	a.trail.Collect()
	a.collectRequests()
	a.collectSent()
	if a.watch != nil && a.watch.IsReady() {
		a.collectWatch()
	}
	if a.asking != nil && a.asking.IsReady() {
		a.collectAsked()
	}
	a.step(admission.Tick{})
}

// collectRequests takes in all requests that have come. One that cannot be
// decoded is logged and dropped by the SDK.
func (a *admissionRun) collectRequests() {
	for {
		var in contract.AdmissionRequest
		if !a.requests.ReceiveAsync(&in) {
			return
		}
		a.taken, a.lastTaken = a.taken+1, workflow.Now(a.ctx)
		asked, err := askedOf(in)
		if err != nil || in.Holder.WorkflowID == "" {
			workflow.GetLogger(a.ctx).Error("A request is ignored.", "holder", in.Holder.WorkflowID, "error", err)
			continue
		}
		a.step(asked)
	}
}

// collectSent finds out who is not there any more.
func (a *admissionRun) collectSent() {
	pending := a.sent[:0]
	var gone []contract.AdmissionHolder
	for _, sent := range a.sent {
		if !sent.future.IsReady() {
			pending = append(pending, sent)
			continue
		}
		err := sent.future.Get(a.ctx, nil)
		var unknown *temporal.UnknownExternalWorkflowExecutionError
		switch {
		case errors.As(err, &unknown):
			gone = append(gone, sent.Holder)
		case err != nil:
			workflow.GetLogger(a.ctx).Error("An answer was not delivered; the holder will ask again.", "holder", sent.Holder.WorkflowID, "error", err)
		}
	}
	clear(a.sent[len(pending):])
	a.sent = pending
	for _, holder := range gone {
		a.step(admission.Closed{Holder: coreHolder(holder)})
	}
}

func (a *admissionRun) collectWatch() {
	var result contract.WatchHoldersResult
	err := a.watch.Get(a.ctx, &result)
	a.watch = nil
	if err != nil {
		workflow.GetLogger(a.ctx).Error("The watch for holders that end is started again.", "error", err)
	}
	for _, holder := range result.Closed {
		a.step(admission.Closed{Holder: coreHolder(holder)})
	}
}

func (a *admissionRun) collectAsked() {
	var result contract.AskHoldersResult
	err := a.asking.Get(a.ctx, &result)
	a.asking, a.asked = nil, true
	if err != nil {
		workflow.GetLogger(a.ctx).Error("Nobody could be asked what is held; it goes on after the limit.", "error", err)
		return
	}
	a.auditRecovery(result.WorkflowIDs, "admission was started anew or reset")
	a.step(admission.Expected{IDs: result.WorkflowIDs, Final: true})
}

// continueAsNew hands everything to the next run. Handlers never wait, so none
// is unfinished; requests that came with this very task are taken first. The
// server forgets signals that a run has sent and that were not delivered when it
// ended, so the next run says again what nobody has confirmed: an answer that
// comes twice changes nothing.
func (a *admissionRun) continueAsNew() error {
	if err := workflow.Await(a.ctx, func() bool { return workflow.AllHandlersFinished(a.ctx) }); err != nil {
		return err
	}
	a.collectRequests()
	a.collectSent()
	state, err := packAdmission(a.core)
	if err != nil {
		return fmt.Errorf("continue as new: %w", err)
	}
	return workflow.NewContinueAsNewError(a.ctx, contract.AdmissionWorkflow, contract.AdmissionInput{State: state, Inherited: a.inherited, Undelivered: a.undelivered(), Audit: a.trail.State()})
}

// undelivered are the answers that nobody has confirmed, oldest first.
func (a *admissionRun) undelivered() []contract.AdmissionAnswer {
	var list []contract.AdmissionAnswer
	for _, sent := range a.sent {
		list = append(list, *sent.AdmissionAnswer)
	}
	for _, answer := range a.outbox {
		list = append(list, *answer)
	}
	return list
}
