package run

import (
	"errors"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/admission"
	"github.com/roundsman/roundsman/jobtype"
)

const (
	// repeatFirst is the wait for an answer before the request is repeated: it may have been
	// lost with a terminated admission.
	repeatFirst = time.Minute
	// repeatMost is the longest pause between repeats: a new admission requests an assertion
	// anyway.
	repeatMost = 6 * time.Hour
)

// ClaimsPrefix is the prefix of the ids of claims. The link does not store their keys; the group
// does.
const ClaimsPrefix = "claims"

// ChunkPrefix is the prefix of the ids of claims of a part of a group, and of the group's backlog.
const ChunkPrefix = "backlog"

// Link is a run's connection to admission. It sends as few signals as possible, one after the
// other to keep their order. It repeats them while there is no answer, and starts admission if
// it is missing. A run without requests sends nothing.
type Link struct {
	ctx  workflow.Context
	base contract.AdmissionRequest
	// next is the content of the next signal; dirty means that it is not empty.
	next  contract.AdmissionRequest
	dirty bool
	// waiting are the items without an answer, held the granted ones.
	waiting register[contract.AdmissionItem]
	held    register[contract.AdmissionHeld]
	// sending is the signal or, with calling, the call in transit, and sent its content.
	// ensuring is the activity that sends it again after nothing received it.
	sending, ensuring workflow.Future
	calling           bool
	// calls means that the run may call admission; atOnce, that the next request is a call.
	calls, atOnce bool
	answers       []contract.AdmissionAnswer
	sent          contract.AdmissionRequest
	repeat        backoff
	lost          []contract.AdmissionEndings
	released      []string
	// results are the last ones released with their keys.
	results []contract.KeyResult
	recent  []contract.AdmissionEndings
	// open is the time of the report in next that later ends of tasks may join; zero without
	// one.
	open time.Time
	// used means that the run has requested something, which it must release.
	used bool
	// run is the id of the workflow run at the last check.
	run string
}

func newLink(ctx workflow.Context, base contract.AdmissionRequest, calls bool) *Link {
	info := workflow.GetInfo(ctx)
	base.Holder = contract.AdmissionHolder{WorkflowID: info.WorkflowExecution.ID, FirstRunID: info.FirstRunID}
	return &Link{ctx: ctx, base: base, calls: calls, repeat: backoff{first: repeatFirst, most: repeatMost}}
}

// DeclaredAt is the time at which the declared sizes of pools were read.
func (l *Link) DeclaredAt() time.Time { return l.base.DeclaredAt }

// Request requests an item. The answer is a signal, at any later time.
func (l *Link) Request(item contract.AdmissionItem) {
	l.waiting.put(item.ID, item)
	l.next.Items = append(l.next.Items, item)
	l.dirty, l.used = true, true
	l.repeat.stop()
}

// RequestTurn requests an item without which the run cannot begin, by a call if possible.
func (l *Link) RequestTurn(item contract.AdmissionItem) {
	l.Request(item)
	l.atOnce = l.calls
}

// Release releases an item, granted or not.
func (l *Link) Release(id string) {
	l.Forget(id)
	l.next.Items = slices.DeleteFunc(l.next.Items, func(item contract.AdmissionItem) bool { return item.ID == id })
	// An assertion in the same signal would be accepted.
	l.next.Held = slices.DeleteFunc(l.next.Held, func(held contract.AdmissionHeld) bool { return held.ID == id })
	l.next.Release = append(l.next.Release, id)
	l.dirty = true
}

// ReleaseKey releases an item and stores its task's result for others with its key. Both are in
// one message, so that no other task repeats the work in between.
func (l *Link) ReleaseKey(id string, result contract.KeyResult) {
	l.Release(id)
	result.ID = id
	l.next.Results = append(l.next.Results, result)
}

// ReleaseUnasked releases an item that a call of a lost workflow task may have requested.
func (l *Link) ReleaseUnasked(id string) {
	if l.calls {
		l.Release(id)
		l.atOnce = true
	}
}

// RequestKeys requests dedupe keys by their hashes.
func (l *Link) RequestKeys(id string, hashes []uint64) {
	l.Request(contract.AdmissionItem{ID: id, Keys: admission.PackKeys(hashes), Fences: int64(len(hashes)) * FencesPerItem})
}

// ReleaseKnown releases an item if it is held or requested.
func (l *Link) ReleaseKnown(id string) {
	if l.Knows(id) {
		l.Release(id)
	}
}

// Knows reports whether an item is held or requested.
func (l *Link) Knows(id string) bool { return l.waiting.has(id) || l.held.has(id) }

// Forget drops an item that admission has given to another, or will not grant.
func (l *Link) Forget(id string) {
	l.waiting.remove(id)
	l.held.remove(id)
}

// SetGrace raises the time for which the run's items stay taken after its end: the longest
// heartbeat timeout of any of its attempts.
func (l *Link) SetGrace(timeout jobtype.Duration) {
	if timeout > l.base.Grace {
		l.base.Grace = timeout
		l.dirty = l.dirty || l.used
	}
}

// SetBudget sets the job type's retry budget, and whether endings are reported at the run's end.
func (l *Link) SetBudget(budget *contract.RetryBudget, reports bool) {
	l.base.Budget = budget
	l.used = l.used || reports
}

// granted moves an item from waiting to held; false if it was not waiting.
func (l *Link) granted(grant contract.AdmissionGrant) bool {
	item, waited := l.waiting.get(grant.ID)
	if !waited {
		return false
	}
	l.waiting.remove(grant.ID)
	item.Keys, item.Fences = nil, grant.Fences
	l.held.put(item.ID, contract.AdmissionHeld{AdmissionItem: item, Fence: grant.Fence, Since: workflow.Now(l.ctx)})
	return true
}

// renewed sets new fences of a held item; false if it is not held.
func (l *Link) renewed(grant contract.AdmissionGrant) bool {
	held, known := l.held.get(grant.ID)
	if !known || grant.Fence <= held.Fence {
		return false
	}
	held.Fence, held.Fences = grant.Fence, grant.Fences
	l.held.put(held.ID, held)
	return true
}

// Keys returns the keys of a claim that is held, by its id; nil for all else. Later claims of a run add to the keys of
// the first.
type Keys func(id string) []byte

// reassert sends everything to an admission that has lost it. keys returns what names the keys of the
// claims; it may be nil.
func (l *Link) reassert(keys func() Keys) {
	endings := once(l.recent, l.lost, l.sent.Endings, l.next.Endings)
	l.open = time.Time{}
	l.next = contract.AdmissionRequest{
		Reassert: true, Reset: l.next.Reset, Items: l.waiting.all(), Held: l.held.all(), Endings: endings,
		Results: slices.Concat(l.results, l.next.Results),
	}
	l.lost, l.released = nil, nil
	if keys != nil {
		of := keys()
		for i := range l.next.Held {
			l.next.Held[i].Keys = of(l.next.Held[i].ID)
		}
	}
	l.dirty = true
}

func (l *Link) repeats() bool { return l.waiting.len()+len(l.lost)+len(l.released) > 0 }

// wake returns the time of the next repeat; zero for none.
func (l *Link) wake() time.Time {
	if !l.repeats() || !l.idle() {
		return time.Time{}
	}
	return l.repeat.at
}

func (l *Link) sendAgain() {
	now := workflow.Now(l.ctx)
	if !l.repeat.due(now) || !l.repeats() || l.dirty || !l.idle() {
		return
	}
	l.repeat.next(now)
	l.next.Items, l.dirty = l.waiting.all(), true
	l.next.Endings, l.lost = once(l.lost, l.next.Endings), nil
	if len(l.released) > 0 {
		l.next.Results = slices.Concat(l.results, l.next.Results)
	}
	l.next.Release, l.released = append(l.released, l.next.Release...), nil
}

// flush sends the next request, unless one is in transit.
func (l *Link) flush() {
	if !l.dirty || !l.idle() {
		return
	}
	l.sent = l.next
	l.sent.Holder, l.sent.JobType, l.sent.Grace, l.sent.DeclaredAt = l.base.Holder, l.base.JobType, l.base.Grace, l.base.DeclaredAt
	l.sent.Budget = l.base.Budget
	l.next, l.dirty, l.open = contract.AdmissionRequest{}, false, time.Time{}
	l.postpone()
	l.results = newest(append(l.results, l.sent.Results...))
	if now := workflow.Now(l.ctx); l.repeat.at.IsZero() || l.repeat.due(now) {
		l.repeat.restart(now)
	}
	if l.calling, l.atOnce = l.atOnce, false; l.calling {
		l.sending = callAdmission(l.ctx, l.sent)
		return
	}
	l.sending = workflow.SignalExternalWorkflow(l.ctx, contract.AdmissionWorkflowID, "", contract.SignalAdmissionRequest, l.sent)
}

// maxResultBytes bounds the results of one message, and the results repeated to a new admission,
// which may not have read them.
const maxResultBytes = 128 << 10

// postpone moves results beyond the bound, and the items released with them, to the next
// message.
func (l *Link) postpone() {
	size := 0
	at := slices.IndexFunc(l.sent.Results, func(result contract.KeyResult) bool {
		size += len(result.Result) + len(result.Object)
		return size > maxResultBytes
	})
	if at < 0 {
		return
	}
	l.next.Results, l.dirty = slices.Clone(l.sent.Results[at:]), true
	l.next.ReleaseAll, l.sent.ReleaseAll = l.sent.ReleaseAll, false
	later := make(map[string]bool, len(l.next.Results))
	for _, result := range l.next.Results {
		later[result.ID] = true
	}
	l.sent.Results = l.sent.Results[:at:at]
	release := l.sent.Release
	l.sent.Release = nil
	for _, id := range release {
		if later[id] {
			l.next.Release = append(l.next.Release, id)
		} else {
			l.sent.Release = append(l.sent.Release, id)
		}
	}
}

// newest drops the oldest results beyond the bound.
func newest(results []contract.KeyResult) []contract.KeyResult {
	size, first := 0, len(results)
	for ; first > 0 && size <= maxResultBytes; first-- {
		size += len(results[first-1].Result) + len(results[first-1].Object)
	}
	return results[first:]
}

func (l *Link) idle() bool { return l.sending == nil && l.ensuring == nil }

func (l *Link) ready() bool {
	return l.sending != nil && l.sending.IsReady() || l.ensuring != nil && l.ensuring.IsReady()
}

// collect handles the end of a delivery. If nothing received the signal, an activity sends it
// and starts admission if that is missing. A release of everything is not worth a start.
func (l *Link) collect() {
	if l.sending != nil && l.sending.IsReady() {
		missing, err := l.sendingEnded()
		if err != nil && !(missing && l.sent.ReleaseAll && !hasFailures(l.sent) && len(l.sent.Results) == 0) {
			if missing {
				l.sent.Endings = once(l.recent, l.sent.Endings)
			}
			l.ensuring = callEnsureAdmission(l.ctx, contract.EnsureAdmissionInput{Request: &l.sent})
		}
	}
	if l.ensuring != nil && l.ensuring.IsReady() {
		if err := l.ensuring.Get(l.ctx, nil); err != nil {
			l.lost = append(l.lost, l.sent.Endings...)
			l.released = append(l.released, l.sent.Release...)
			workflow.GetLogger(l.ctx).Error("Admission was not reached; the request is repeated.", "error", err)
		}
		l.ensuring = nil
	}
}

var errNoAdmission = errors.New("no admission runs")

func (l *Link) sendingEnded() (missing bool, err error) {
	sending, calling := l.sending, l.calling
	l.sending, l.calling = nil, false
	if !calling {
		err = sending.Get(l.ctx, nil)
		var unknown *temporal.UnknownExternalWorkflowExecutionError
		return errors.As(err, &unknown), err
	}
	var result contract.CallAdmissionResult
	switch err = sending.Get(l.ctx, &result); {
	case err != nil:
		return false, err
	case result.Missing:
		return true, errNoAdmission
	case result.Answer != nil:
		l.answers = append(l.answers, *result.Answer)
	}
	return false, nil
}

func (l *Link) settle() error {
	for l.dirty || !l.idle() {
		l.flush()
		if err := workflow.Await(l.ctx, l.ready); err != nil {
			return err
		}
		l.collect()
	}
	return nil
}

// close releases everything and sends the last endings. It waits for the delivery, because an
// ended workflow cannot send.
func (l *Link) close(last ...contract.AdmissionEndings) error {
	if !l.used {
		return nil
	}
	l.waiting, l.held = register[contract.AdmissionItem]{}, register[contract.AdmissionHeld]{}
	results := l.next.Results
	if len(l.released) > 0 {
		results = slices.Concat(l.results, results)
	}
	l.released = nil
	last = once(l.lost, l.next.Endings, last)
	l.next, l.dirty = contract.AdmissionRequest{ReleaseAll: true, Endings: l.lastEndings(last), Results: results}, true
	l.atOnce = l.calls
	return l.settle()
}

// State returns the state for continue-as-new.
func (l *Link) State() *contract.AdmissionLinkState {
	if !l.used {
		return nil
	}
	return &contract.AdmissionLinkState{
		Waiting: l.waiting.all(), Held: l.held.all(), DeclaredAt: l.base.DeclaredAt, Told: l.recent, Untold: l.lost, Released: l.released, Results: l.results,
	}
}

// Restore is the inverse of [Link.State]; nil means no state.
func (l *Link) Restore(state *contract.AdmissionLinkState) {
	if state == nil {
		return
	}
	for _, item := range state.Waiting {
		l.waiting.put(item.ID, item)
	}
	for _, held := range state.Held {
		l.held.put(held.ID, held)
	}
	l.base.DeclaredAt, l.used = state.DeclaredAt, true
	l.recent, l.lost, l.released, l.results = state.Told, state.Untold, state.Released, state.Results
	l.repeat.restart(workflow.Now(l.ctx))
}
