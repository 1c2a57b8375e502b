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
	// FencesPerItem bounds the average attempts per item before the run needs more fences.
	FencesPerItem = 1 << 12
	// FencesOfRun is for the items of a run that need no claims.
	FencesOfRun = 1 << 20

	fencesPrefix = "fences"
	// maxRenewal bounds the wait of a reset workflow. After it, the workflow continues with the grants it remembers.
	maxRenewal = time.Minute
)

// Acquire requests the needs of an item. sizes are the pool sizes that the run declares.
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

// askOf returns the item and the number of a request; 0 if the request is not for an item.
func askOf(id string) (name string, ask int) {
	name, ask, _ = contract.ItemOfAsk(id)
	return name, ask
}

func (r *Runner) moreFences() {
	r.fenceAsks++
	r.Admission.Request(contract.AdmissionItem{ID: fmt.Sprintf("%s-%d", fencesPrefix, r.fenceAsks), Fences: FencesOfRun})
}

// AnswerKind is the kind of an [Answer].
type AnswerKind uint8

const (
	// Granted grants the item.
	Granted AnswerKind = iota + 1
	// Renewed grants new fences after a reset of the run.
	Renewed
	// Refused means that the item will never be granted.
	Refused
	// Lost means that another holder has the item.
	Lost
	// Stopped means that Stop must not start any more.
	Stopped
	// Waiting means that the item cannot be granted yet.
	Waiting
)

// Answer is one answer of admission.
type Answer struct {
	Kind AnswerKind
	// ID is the requested item. Name and Ask are set for requests of an item of the run.
	ID, Name     string
	Ask          int
	Code, Reason string
	Grant        contract.AdmissionGrant
	Stop         contract.AdmissionStop
}

// Event returns the engine's event for an answer, by the item's number; nil if it needs none.
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

func (a Answer) itemReason() string {
	if a.Code == contract.HoldRetryBudget || a.Code == contract.HoldMarkedDone {
		return a.Code + ": " + a.Reason
	}
	return a.Reason
}

// MoreFences reports whether the answer has fences for the run as a whole.
func (a Answer) MoreFences() bool { return strings.HasPrefix(a.ID, fencesPrefix) }

// WasReset reports once that an operator has reset the workflow. It empties the inbox and sends all held and
// requested items again.
//
// A reset keeps the first run of the chain, so admission keeps the holder. But the server delivers that time's
// answers again, and such a grant may belong to another holder now. Admission answers such a resource as lost, and
// grants all others again with new fences. The run waits for these answers: an earlier start could run next to another holder.
func (r *Runner) WasReset(keys func() Keys) bool {
	l := r.Admission
	// A run that must assert its holdings must first detect the reset.
	l.used = l.used || r.inbox.reassert.Len() > 0
	if !l.noticeReset() {
		return false
	}
	l.transit.answers = nil
	for r.inbox.admission.ReceiveAsync(&contract.AdmissionAnswer{}) {
	}
	workflow.GetLogger(r.ctx).Warn("The workflow was reset; it sends its holdings again.")
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

func (r *Runner) renewalReady() bool {
	return r.inbox.admission.Len() > 0 || r.Admission.transit.ready()
}

// Answers returns the answers of admission. It calls keys only for an admission that has lost them.
func (r *Runner) Answers(keys func() Keys) []Answer {
	l := r.Admission
	l.collect()
	var list []Answer
	for {
		var answer contract.AdmissionAnswer
		if len(l.transit.answers) > 0 {
			answer, l.transit.answers = l.transit.answers[0], l.transit.answers[1:]
		} else if !r.inbox.admission.ReceiveAsync(&answer) {
			break
		}
		// An answer to another holder is for an earlier workflow with this id.
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
		if r.Admission.waiting.has(refusal.ID) { // A call and its repeat are answered twice.
			r.noteRefusal(refusal)
		}
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

// A skipped run itself records the refusal of its turn.
func (r *Runner) noteRefusal(refusal contract.AdmissionRefusal) {
	if name, ask := askOf(refusal.ID); ask > 0 || strings.HasPrefix(refusal.ID, ClaimsPrefix) {
		r.Audit.Decided(recorder.Decision{
			Action: recorder.Refused, Code: cmp.Or(refusal.Code, "NOT_ADMITTED"), Object: cmp.Or(name, refusal.ID), Detail: refusal.String(),
		})
	}
}

// noticeReset compares run IDs through a side effect, which replays the value recorded before the reset. A workflow
// without requests skips this cost.
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
	// A test environment has no original run.
	return before != "" && before != run
}
