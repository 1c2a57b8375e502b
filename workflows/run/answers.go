package run

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	engine "github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/workflows/recorder"
)

const (
	// FencesPerItem is how many attempts an item has on average before the run needs
	// more fences.
	FencesPerItem = 1 << 12
	// FencesOfRun are for the items of a run that need no claims.
	FencesOfRun = 1 << 20

	fencesPrefix = "fences"
	// maxRenewal is how long a workflow that was reset waits for admission's answer
	// about what it holds, before it continues with what it knows.
	maxRenewal = time.Minute
)

// Acquire requests what an item needs. sizes are those of the pools that the run
// declares.
func (r *Runner) Acquire(d engine.Decision, name string, priority jobtype.Priority, sizes map[string]int) {
	item := contract.AdmissionItem{ID: contract.AskID(name, d.Ask), Priority: priority.Rank(), Fences: FencesPerItem, For: name}
	for _, pool := range slices.Sorted(maps.Keys(d.Needs.Pools)) {
		item.Pools = append(item.Pools, contract.AdmissionAmount{Pool: pool, N: d.Needs.Pools[pool], Size: sizes[pool]})
	}
	for _, object := range d.Needs.Exclusive {
		item.Objects = append(item.Objects, contract.AdmissionObject{Name: object})
	}
	for _, object := range d.Needs.Shared {
		item.Objects = append(item.Objects, contract.AdmissionObject{Name: object, Shared: true})
	}
	item.Budget = d.Needs.Budget
	r.Admission.SetGrace(jobtype.Duration(d.HeartbeatTimeout))
	r.Admission.Request(item)
}

// askOf is the item and the number of a request; 0: the request is not an item's.
func askOf(id string) (name string, ask int) {
	name, ask, _ = contract.ItemOfAsk(id)
	return name, ask
}

func (r *Runner) moreFences() {
	r.fenceAsks++
	r.Admission.Request(contract.AdmissionItem{ID: fmt.Sprintf("%s-%d", fencesPrefix, r.fenceAsks), Fences: FencesOfRun})
}

// AnswerKind says what an [Answer] is.
type AnswerKind uint8

// The kinds of answer.
const (
	// Granted: the item is the run's.
	Granted AnswerKind = iota + 1
	// Renewed: it has new fences, because the run was reset.
	Renewed
	// Refused: the item will never be granted.
	Refused
	// Lost: another holder has it.
	Lost
	// Stopped: Stop must not start any more.
	Stopped
	// Waiting: the item cannot be granted yet.
	Waiting
)

// Answer is one answer of admission.
type Answer struct {
	Kind AnswerKind
	// ID is the requested item. Name and Ask are set if that was for an item of the
	// run.
	ID, Name string
	Ask      int
	// Code and Reason are set for Refused and Lost.
	Code, Reason string
	Grant        contract.AdmissionGrant
	Stop         contract.AdmissionStop
}

// Event is the engine's event for an answer to a request of an item, by the item's
// number; nil if it is none.
func (a Answer) Event(item int) engine.Event {
	switch a.Kind {
	case Granted:
		return engine.Granted{Item: item, Ask: a.Ask, Fence: a.Grant.Fence, Fences: a.Grant.Fences, Result: a.Grant.Result}
	case Renewed:
		return engine.Renewed{Item: item, Ask: a.Ask, Fence: a.Grant.Fence, Fences: a.Grant.Fences}
	case Refused:
		return engine.Refused{Item: item, Ask: a.Ask, Reason: a.itemReason()}
	case Lost:
		return engine.Revoked{Item: item, Ask: a.Ask, Reason: a.Reason}
	case Waiting:
		return engine.Waits{Item: item, Ask: a.Ask}
	case Stopped:
	}
	return nil
}

// itemReason is the error of the item. That of one that is held back begins with the code.
func (a Answer) itemReason() string {
	if a.Code == contract.HoldRetryBudget || a.Code == contract.HoldMarkedDone {
		return a.Code + ": " + a.Reason
	}
	return a.Reason
}

// MoreFences reports whether the answer is about fences for the run as a whole.
func (a Answer) MoreFences() bool { return strings.HasPrefix(a.ID, fencesPrefix) }

// WasReset reports once that an operator has reset the workflow. Whatever was in the
// inbox is dropped, and what is believed to be held or requested is sent again. keys
// returns those of the claims; it is called only if they are sent.
//
// Admission knows the holder as before, since a reset keeps the first run of the
// chain; but everything after the point of reset is forgotten here, and the server
// delivers the answers of that time once more. A grant among them may have been
// given back since, and belong to another. A resource that is another's by now is answered as
// lost, all else is granted again with new fences. The run waits for that: what it
// starts before could be next to another, with fences that it has used up in the
// time that it has forgotten.
func (r *Runner) WasReset(keys func() []byte) bool {
	l := r.Admission
	// A run that is asked what it holds must know that it forgot.
	l.used = l.used || r.inbox.reassert.Len() > 0
	if !l.noticeReset() {
		return false
	}
	l.answers = nil
	for r.inbox.admission.ReceiveAsync(&contract.AdmissionAnswer{}) {
	}
	workflow.GetLogger(r.ctx).Warn("The workflow was reset; it sends again what it holds.")
	l.reassert(keys)
	l.next.Reset = true
	if l.held.len() == 0 {
		return true
	}
	deadline := workflow.Now(r.ctx).Add(maxRenewal)
	for workflow.Now(r.ctx).Before(deadline) && r.inbox.admission.Len() == 0 {
		l.flush()
		if _, err := workflow.AwaitWithTimeout(r.ctx, deadline.Sub(workflow.Now(r.ctx)), r.renewalReady); err != nil {
			break
		}
		l.collect()
	}
	return true
}

func (r *Runner) renewalReady() bool { return r.inbox.admission.Len() > 0 || r.Admission.ready() }

// Answers returns the answers of admission. keys returns those of the claims; it is called
// only for an admission that has forgotten them.
func (r *Runner) Answers(keys func() []byte) []Answer {
	l := r.Admission
	l.collect()
	var list []Answer
	for {
		var answer contract.AdmissionAnswer
		if len(l.answers) > 0 {
			answer, l.answers = l.answers[0], l.answers[1:]
		} else if !r.inbox.admission.ReceiveAsync(&answer) {
			break
		}
		// Another holder's is for a workflow that had this id before.
		if answer.Holder == l.base.Holder {
			list = r.take(list, answer)
		}
	}
	for r.inbox.reassert.ReceiveAsync(nil) {
		l.reassert(keys)
	}
	l.sendAgain()
	return list
}

func (r *Runner) take(list []Answer, answer contract.AdmissionAnswer) []Answer {
	r.Admission.repeat.pause = 0 // Admission is there.
	for _, grant := range answer.Granted {
		name, ask := askOf(grant.ID)
		one := Answer{Kind: Granted, ID: grant.ID, Name: name, Ask: ask, Grant: grant}
		switch {
		case r.Admission.granted(grant):
			if one.MoreFences() {
				r.Admission.Release(grant.ID)
			}
		case r.Admission.renewed(grant):
			one.Kind = Renewed
		default:
			continue
		}
		list = append(list, one)
	}
	for _, refusal := range answer.Refused {
		r.noteRefusal(refusal)
		list = append(list, r.taken(Refused, refusal))
	}
	for _, stop := range answer.Stopped {
		list = append(list, Answer{Kind: Stopped, Stop: stop})
	}
	for _, lost := range answer.Lost {
		list = append(list, r.taken(Lost, lost))
	}
	for _, id := range answer.Waiting {
		if name, ask := askOf(id); ask > 0 && r.Admission.waiting.has(id) {
			list = append(list, Answer{Kind: Waiting, ID: id, Name: name, Ask: ask})
		}
	}
	return list
}

func (r *Runner) taken(kind AnswerKind, refusal contract.AdmissionRefusal) Answer {
	r.Admission.Forget(refusal.ID)
	name, ask := askOf(refusal.ID)
	return Answer{Kind: kind, ID: refusal.ID, Name: name, Ask: ask, Code: refusal.Code, Reason: refusal.String()}
}

// noteRefusal records that admission will never grant something. A turn is recorded
// by the run that is skipped.
func (r *Runner) noteRefusal(refusal contract.AdmissionRefusal) {
	if name, ask := askOf(refusal.ID); ask > 0 || strings.HasPrefix(refusal.ID, ClaimsPrefix) {
		r.Audit.Decided(recorder.Decision{
			Action: recorder.Refused, Code: cmp.Or(refusal.Code, "NOT_ADMITTED"), Object: cmp.Or(name, refusal.ID), Detail: refusal.String(),
		})
	}
}

// noticeReset reports whether the id of the run is not the one that it was when
// it was looked at last, or when the run began. A side effect is what tells: during
// the replay of the history before the reset it has the value of then. A workflow
// that requests nothing does not pay for it.
func (l *Link) noticeReset() bool {
	if !l.used {
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
	before := cmp.Or(l.run, info.OriginalRunID)
	l.run = run
	// A test environment knows no original run.
	return before != "" && before != run
}
