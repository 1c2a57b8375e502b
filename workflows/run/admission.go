package run

import (
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/admission"
	"github.com/roundsman/roundsman/internal/engine/instant"
	"github.com/roundsman/roundsman/jobtype"
)

const (
	// repeatFirst is the wait for an answer before a repeat: a terminated admission may have lost the request.
	repeatFirst = time.Minute
	// repeatMost is the longest pause between repeats: a new admission requests an assertion anyway.
	repeatMost = 6 * time.Hour
)

// ClaimsPrefix is the prefix of the ids of claims, whose keys the group stores.
const ClaimsPrefix = "claims"

// ChunkPrefix is the prefix of the ids of claims of a part of a group, and of the group's backlog.
const ChunkPrefix = "backlog"

// Link is a run's connection to admission. It sends as few signals as possible, one after the other to keep their
// order, and repeats them until an answer. A run without requests sends nothing.
type Link struct {
	ctx     workflow.Context
	base    contract.AdmissionRequest
	next    contract.AdmissionRequest
	dirty   bool
	waiting register[contract.AdmissionItem]
	held    register[contract.AdmissionHeld]
	transit transit
	// calls means that the run may call admission; atOnce, that the next request is a call.
	calls, atOnce bool
	repeat        backoff
	lost          []contract.AdmissionEndings
	released      []string
	results       []contract.KeyResult
	recent        []contract.AdmissionEndings
	// stamped is the time of the last report.
	stamped time.Time
	// open is the time of the report in next that later ends of tasks may join.
	open time.Time
	// used means that the run has requested something, which it must release.
	used bool
	// run is the id of the workflow run at the last check.
	run string
}

func newLink(ctx workflow.Context, base contract.AdmissionRequest, calls bool) *Link {
	info := workflow.GetInfo(ctx)
	base.Holder = contract.AdmissionHolder{WorkflowID: info.WorkflowExecution.ID, FirstRunID: info.FirstRunID}
	return &Link{ctx: ctx, base: base, transit: transit{ctx: ctx}, calls: calls, repeat: backoff{first: repeatFirst, most: repeatMost}}
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

// ReleaseKey releases an item and stores its task's result, in one message, so that no other task repeats the work in between.
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

// SetGrace raises the time for which items stay taken after the run's end: the longest heartbeat timeout of its attempts.
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

func (l *Link) renewed(grant contract.AdmissionGrant) bool {
	held, known := l.held.get(grant.ID)
	if !known || grant.Fence <= held.Fence {
		return false
	}
	held.Fence, held.Fences = grant.Fence, grant.Fences
	l.held.put(held.ID, held)
	return true
}

// Keys returns the keys of a held claim by its id. Later claims of a run add to the keys of the first.
type Keys func(id string) []byte

// reassert sends everything to an admission that has lost it.
func (l *Link) reassert(keys func() Keys) {
	endings := once(l.recent, l.lost, l.transit.sent.Endings, l.next.Endings)
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

func (l *Link) wake() time.Time {
	if !l.repeats() || !l.transit.idle() {
		return time.Time{}
	}
	return l.repeat.at
}

func (l *Link) sendAgain() {
	now := workflow.Now(l.ctx)
	if !l.repeat.due(now) || !l.repeats() || l.dirty || !l.transit.idle() {
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

func (l *Link) flush() {
	if !l.dirty || !l.transit.idle() {
		return
	}
	l.transit.sent = l.next
	l.transit.sent.Holder, l.transit.sent.JobType, l.transit.sent.Grace, l.transit.sent.DeclaredAt = l.base.Holder, l.base.JobType, l.base.Grace, l.base.DeclaredAt
	l.transit.sent.Budget = l.base.Budget
	l.next, l.dirty, l.open = contract.AdmissionRequest{}, false, time.Time{}
	l.postpone()
	l.results = newest(append(l.results, l.transit.sent.Results...))
	if now := workflow.Now(l.ctx); l.repeat.at.IsZero() || l.repeat.due(now) {
		l.repeat.restart(now)
	}
	l.transit.start(l.atOnce)
	l.atOnce = false
}

// maxResultBytes bounds the results of one message, and those repeated to a new admission.
const maxResultBytes = 128 << 10

func (l *Link) postpone() {
	size := 0
	at := slices.IndexFunc(l.transit.sent.Results, func(result contract.KeyResult) bool {
		size += len(result.Result) + len(result.Object)
		return size > maxResultBytes
	})
	if at < 0 {
		return
	}
	l.next.Results, l.dirty = slices.Clone(l.transit.sent.Results[at:]), true
	l.next.ReleaseAll, l.transit.sent.ReleaseAll = l.transit.sent.ReleaseAll, false
	later := make(map[string]bool, len(l.next.Results))
	for _, result := range l.next.Results {
		later[result.ID] = true
	}
	l.transit.sent.Results = l.transit.sent.Results[:at:at]
	release := l.transit.sent.Release
	l.transit.sent.Release = nil
	for _, id := range release {
		if later[id] {
			l.next.Release = append(l.next.Release, id)
		} else {
			l.transit.sent.Release = append(l.transit.sent.Release, id)
		}
	}
}

func newest(results []contract.KeyResult) []contract.KeyResult {
	size, first := 0, len(results)
	for ; first > 0 && size <= maxResultBytes; first-- {
		size += len(results[first-1].Result) + len(results[first-1].Object)
	}
	return results[first:]
}

func (l *Link) collect() {
	if lost := l.transit.collect(l.recent); lost {
		l.lost = append(l.lost, l.transit.sent.Endings...)
		l.released = append(l.released, l.transit.sent.Release...)
	}
}

func (l *Link) settle() error {
	for l.dirty || !l.transit.idle() {
		l.flush()
		if err := workflow.Await(l.ctx, l.transit.ready); err != nil {
			return err
		}
		l.collect()
	}
	return nil
}

// ReleaseBySignal makes the last release a signal, which the server sends only after it has recorded the end. A call takes
// effect also if the server refuses the task, and a message that the repeated task has may keep the run open.
func (l *Link) ReleaseBySignal() { l.calls = false }

// close waits for the delivery of the last endings, because an ended workflow cannot send.
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
	for i := range last {
		last[i].At = l.stamp()
	}
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
	for _, endings := range slices.Concat(l.recent, l.lost) {
		l.stamped = instant.Later(l.stamped, endings.At)
	}
	l.repeat.restart(workflow.Now(l.ctx))
}
