package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/dispatch"
)

// renewalPatience is how long a workflow that was reset waits for admission to
// say what is still its own, before it goes on with what it knows.
const renewalPatience = time.Minute

// sayAnew is for a workflow that an operator has reset. Admission knows the holder
// as before, since a reset keeps the first run of the chain; but everything after
// the point of reset is forgotten here, and the server delivers the answers of that
// time once more. A grant among them may have been given back since, and belong to
// another: what is in the inbox is thrown away, and all that is believed to be held
// or waited for is said anew. What is another's by now is answered as lost, all
// else is granted again with new fences; so is what was answered to the new run
// already and is thrown away too.
func (l *admissionLink) sayAnew(inbox workflow.ReceiveChannel, keys []byte) {
	for inbox.ReceiveAsync(&contract.AdmissionAnswer{}) {
	}
	workflow.GetLogger(l.ctx).Warn("The workflow was reset; it says anew what it holds.")
	l.reassert(keys)
	l.next.Reset = true
}

// noticeReset reports whether the id of the run is not the one that it was when
// it was looked at last, or when the run began. A side effect is what tells: during
// the replay of the history before the reset it says what it said then. A workflow
// that asks for nothing does not pay for it.
func (l *admissionLink) noticeReset() bool {
	if !l.spoke {
		return false
	}
	info := workflow.GetInfo(l.ctx)
	var run string
	value := workflow.MutableSideEffect(l.ctx, "run", func(workflow.Context) any {
		return info.WorkflowExecution.RunID
	}, func(x, y any) bool { return x == y })
	if err := value.Get(&run); err != nil {
		return false
	}
	before := l.run
	if before == "" {
		before = info.OriginalRunID
	}
	l.run = run
	// A test environment knows no original run.
	return before != "" && before != run
}

// renewed takes new fences for what is held; false if it is not.
func (l *admissionLink) renewed(grant contract.AdmissionGrant) bool {
	for i := range l.held {
		if held := &l.held[i]; held.ID == grant.ID && grant.Fence > held.Fence {
			held.Fence, held.Fences = grant.Fence, grant.Fences
			return true
		}
	}
	return false
}

// awaitRenewal holds a group that was reset until it knows what is still its own:
// what it starts before could be beside another, with fences that it has used up
// in the time that it has forgotten.
func (r *groupRun) awaitRenewal() {
	if !r.link.noticeReset() {
		return
	}
	r.link.sayAnew(r.messages.admission, r.claimedKeys())
	if len(r.link.held) == 0 {
		return
	}
	deadline := workflow.Now(r.ctx).Add(renewalPatience)
	for workflow.Now(r.ctx).Before(deadline) && r.messages.admission.Len() == 0 {
		r.link.flush()
		_, err := workflow.AwaitWithTimeout(r.ctx, deadline.Sub(workflow.Now(r.ctx)), func() bool {
			return r.messages.admission.Len() > 0 || r.link.ready()
		})
		if err != nil {
			return
		}
		r.link.collect()
	}
}

// takeRenewal tells the core the fences that replace those of before the reset.
func (r *groupRun) takeRenewal(grant contract.AdmissionGrant) {
	job, ask, isJob := jobOfAsk(grant.ID)
	switch {
	case r.core == nil:
		r.lane.grant = grant
	case isJob:
		r.step(dispatch.Renewed{Job: job, Ask: ask, Fence: grant.Fence, Fences: grant.Fences})
	default:
		r.step(dispatch.FencesGranted{Fence: grant.Fence, Fences: grant.Fences})
	}
}
