package workflows

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/admission"
	"github.com/roundsman/roundsman/internal/dispatch"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/workflows/recorder"
)

const (
	// repeatPause is how long an answer is waited for before asking again: the
	// request may have been lost with an admission that was terminated.
	repeatPause = time.Minute
	// fencesPerJob is how many attempts a job has on average before the group
	// needs more fences.
	fencesPerJob = 1 << 12
	// laneFences are for the jobs of a group that need no claims.
	laneFences = 1 << 20

	itemLane   = "lane"
	itemStart  = "start"
	itemClaims = "claims"
	itemFences = "fences"
)

// admissionLink is a workflow's side of admission: it says what is to be said in
// as few signals as possible, one after the other so that they keep their order,
// again while there is no answer, and creates admission if it is missing. A
// workflow that never asks for anything pays nothing.
type admissionLink struct {
	ctx  workflow.Context
	base contract.AdmissionRequest
	// next is what the next signal says; dirty: it says something.
	next  contract.AdmissionRequest
	dirty bool
	// waiting are the items without an answer, held those that were granted.
	waiting []contract.AdmissionItem
	held    []contract.AdmissionHeld
	// sending is the signal on its way and sent what it says; ensuring is the
	// activity that sends it instead because nobody was there.
	sending, ensuring workflow.Future
	sent              contract.AdmissionRequest
	repeatAt          time.Time
	// lost are endings that could not be delivered yet.
	lost []contract.AdmissionEndings
	// recent are the last endings that were said.
	recent []contract.AdmissionEndings
	// spoke: it has asked for something, which must be given back.
	spoke bool
	// run is the id of the workflow run, as far as it was noticed.
	run string
}

func newAdmissionLink(ctx workflow.Context, base contract.AdmissionRequest) *admissionLink {
	info := workflow.GetInfo(ctx)
	base.Holder = contract.AdmissionHolder{WorkflowID: info.WorkflowExecution.ID, FirstRunID: info.FirstRunID}
	return &admissionLink{ctx: ctx, base: base}
}

// ask asks for an item; the answer comes as a signal.
func (l *admissionLink) ask(item contract.AdmissionItem) {
	l.waiting = append(l.waiting, item)
	l.next.Items = append(l.next.Items, item)
	l.dirty, l.spoke = true, true
}

// giveUp gives an item back, granted or not.
func (l *admissionLink) giveUp(id string) {
	l.forget(id)
	l.next.Items = slices.DeleteFunc(l.next.Items, func(item contract.AdmissionItem) bool { return item.ID == id })
	l.next.Held = slices.DeleteFunc(l.next.Held, func(held contract.AdmissionHeld) bool { return held.ID == id })
	l.next.Release = append(l.next.Release, id)
	l.dirty = true
}

// knows reports whether an item is held or waited for.
func (l *admissionLink) knows(id string) bool {
	return slices.ContainsFunc(l.waiting, func(item contract.AdmissionItem) bool { return item.ID == id }) ||
		slices.ContainsFunc(l.held, func(held contract.AdmissionHeld) bool { return held.ID == id })
}

func (l *admissionLink) forget(id string) {
	l.waiting = slices.DeleteFunc(l.waiting, func(item contract.AdmissionItem) bool { return item.ID == id })
	l.held = slices.DeleteFunc(l.held, func(held contract.AdmissionHeld) bool { return held.ID == id })
}

// granted moves an item from waiting to held; false if it was not waited for.
// Keys are not kept: whoever holds them knows them.
func (l *admissionLink) granted(grant contract.AdmissionGrant) (contract.AdmissionItem, bool) {
	at := slices.IndexFunc(l.waiting, func(item contract.AdmissionItem) bool { return item.ID == grant.ID })
	if at < 0 {
		return contract.AdmissionItem{}, false
	}
	item := l.waiting[at]
	l.waiting = slices.Delete(l.waiting, at, at+1)
	kept := item
	kept.Keys, kept.Fences = nil, grant.Fences
	l.held = append(l.held, contract.AdmissionHeld{AdmissionItem: kept, Fence: grant.Fence, Since: workflow.Now(l.ctx)})
	return item, true
}

// reassert says everything: admission has forgotten it. keys are those of the
// claims.
func (l *admissionLink) reassert(keys []byte) {
	endings := again(l.recent, l.lost, l.sent.Endings, l.next.Endings)
	l.next = contract.AdmissionRequest{Reassert: true, Items: slices.Clone(l.waiting), Held: slices.Clone(l.held), Endings: endings}
	l.lost = nil
	for i := range l.next.Held {
		if strings.HasPrefix(l.next.Held[i].ID, itemClaims) {
			l.next.Held[i].Keys = keys
		}
	}
	l.dirty = true
}

// repeat asks again for what has no answer.
func (l *admissionLink) repeat() {
	if l.repeatAt.IsZero() || workflow.Now(l.ctx).Before(l.repeatAt) || !l.repeats() || l.dirty {
		return
	}
	l.next.Items, l.dirty = slices.Clone(l.waiting), true
	l.next.Endings, l.lost = again(l.lost, l.next.Endings), nil
}

// flush sends what there is to say, unless something is on its way.
func (l *admissionLink) flush() {
	if !l.dirty || !l.idle() {
		return
	}
	l.sent = l.next
	l.sent.Holder, l.sent.JobType, l.sent.Grace, l.sent.DeclaredAt = l.base.Holder, l.base.JobType, l.base.Grace, l.base.DeclaredAt
	l.sent.Budget = l.base.Budget
	l.next, l.dirty = contract.AdmissionRequest{}, false
	l.repeatAt = workflow.Now(l.ctx).Add(repeatPause)
	l.sending = workflow.SignalExternalWorkflow(l.ctx, contract.AdmissionWorkflowID, "", contract.SignalAdmissionRequest, l.sent)
}

func (l *admissionLink) idle() bool { return l.sending == nil && l.ensuring == nil }

// ready reports whether something was delivered, or was not.
func (l *admissionLink) ready() bool {
	return l.sending != nil && l.sending.IsReady() || l.ensuring != nil && l.ensuring.IsReady()
}

// collect looks at what became of the signal. If nobody took it, admission is
// started with it; a release is not worth that.
func (l *admissionLink) collect() {
	if l.sending != nil && l.sending.IsReady() {
		err := l.sending.Get(l.ctx, nil)
		l.sending = nil
		var unknown *temporal.UnknownExternalWorkflowExecutionError
		switch {
		case errors.As(err, &unknown) && (!l.sent.ReleaseAll || hasFailures(l.sent)):
			l.sent.Endings = again(l.recent, l.sent.Endings)
			l.ensuring = callEnsureAdmission(l.ctx, contract.EnsureAdmissionInput{Request: &l.sent})
		case err != nil && (!l.sent.ReleaseAll || hasFailures(l.sent)):
			l.unsent()
			workflow.GetLogger(l.ctx).Warn("Admission was not reached; the request is repeated.", "error", err)
		}
	}
	if l.ensuring != nil && l.ensuring.IsReady() {
		if err := l.ensuring.Get(l.ctx, nil); err != nil {
			l.unsent()
			workflow.GetLogger(l.ctx).Error("Admission cannot be started; the request is repeated.", "error", err)
		}
		l.ensuring = nil
	}
}

// unsent keeps what was not delivered for the next message, or the next repeat:
// nobody else knows what was given back.
func (l *admissionLink) unsent() {
	l.lost = append(l.lost, l.sent.Endings...)
	if !l.next.Reassert {
		l.next.Release = append(slices.Clone(l.sent.Release), l.next.Release...)
	}
}

// settle waits until everything said was delivered.
func (l *admissionLink) settle() error {
	for l.dirty || !l.idle() {
		l.flush()
		if err := workflow.Await(l.ctx, l.ready); err != nil {
			return err
		}
		l.collect()
	}
	return nil
}

// close gives everything back and says the last endings. A workflow that has
// ended cannot send any more, so the delivery is waited for.
func (l *admissionLink) close(last ...contract.AdmissionEndings) error {
	if !l.spoke {
		return nil
	}
	l.waiting, l.held = nil, nil
	last = again(l.lost, l.next.Endings, last)
	l.next, l.dirty = contract.AdmissionRequest{ReleaseAll: true, Endings: l.worthSaying(last)}, true
	return l.settle()
}

// state is what travels when the workflow continues as new.
func (l *admissionLink) state() *contract.AdmissionLinkState {
	if !l.spoke {
		return nil
	}
	return &contract.AdmissionLinkState{Waiting: l.waiting, Held: l.held, DeclaredAt: l.base.DeclaredAt, Told: l.recent, Untold: l.lost}
}

func (l *admissionLink) restore(state *contract.AdmissionLinkState) {
	if state != nil {
		l.waiting, l.held, l.base.DeclaredAt, l.spoke = state.Waiting, state.Held, state.DeclaredAt, true
		l.repeatAt = workflow.Now(l.ctx).Add(repeatPause)
		l.recent, l.lost = state.Told, state.Untold
	}
}

// carryOutAdmission does what the core decides about admission.
func (r *groupRun) carryOutAdmission(decision dispatch.Decision) {
	switch d := decision.(type) {
	case dispatch.ClaimKeys:
		keys, jobs := r.core.DedupeKeys()
		r.claims = claimedBy{keys, jobs}
		r.link.ask(contract.AdmissionItem{ID: r.turnID(itemClaims), Keys: r.hashes(keys), Fences: int64(len(keys)) * fencesPerJob})
	case dispatch.Acquire:
		r.link.ask(r.needs(d))
	case dispatch.GiveUp:
		r.link.giveUp(askID(d.Job, d.Ask))
	case dispatch.MoreFences:
		r.link.forget(itemFences)
		r.fenceAsks++
		r.link.ask(contract.AdmissionItem{ID: fmt.Sprintf("%s-%d", itemFences, r.fenceAsks), Fences: laneFences})
	case dispatch.ReportEndings:
		r.link.report(r.endings(d.Report))
	case dispatch.Withdraw:
		r.withdraw(d)
	}
}

func (r *groupRun) hashes(keys []string) []byte {
	hashes := make([]uint64, len(keys))
	for i, key := range keys {
		hashes[i] = contract.DedupeHash(r.in.Spec.Name, key)
	}
	return admission.PackKeys(hashes)
}

func askID(job, ask int) string { return fmt.Sprintf("%s.%d", contract.JobID(job), ask) }

func (r *groupRun) needs(d dispatch.Acquire) contract.AdmissionItem {
	item := contract.AdmissionItem{
		ID: askID(d.Job, d.Ask), Priority: d.Proposal.Priority.Rank(), Fences: fencesPerJob, For: contract.JobID(d.Job),
	}
	for _, pool := range slices.Sorted(maps.Keys(d.Proposal.Resources)) {
		item.Pools = append(item.Pools, contract.AdmissionAmount{Pool: pool, N: d.Proposal.Resources[pool], Size: r.in.Spec.Resources[pool]})
	}
	for _, object := range d.Proposal.Exclusive {
		item.Objects = append(item.Objects, contract.AdmissionObject{Name: object})
	}
	for _, object := range d.Proposal.Shared {
		item.Objects = append(item.Objects, contract.AdmissionObject{Name: object, Shared: true})
	}
	return item
}

// collectAdmission tells the core what admission says.
func (r *groupRun) collectAdmission() {
	r.link.collect()
	r.awaitRenewal()
	for {
		var answer contract.AdmissionAnswer
		if !r.messages.admission.ReceiveAsync(&answer) {
			break
		}
		if answer.Holder != r.link.base.Holder {
			continue // It is for a workflow that had this id before.
		}
		r.takeAnswer(answer)
	}
	for r.messages.reassert.ReceiveAsync(nil) {
		r.link.reassert(r.claimedKeys())
	}
	r.link.repeat()
}

func (r *groupRun) claimedKeys() []byte {
	if r.core == nil {
		return nil
	}
	keys, _ := r.core.DedupeKeys()
	return r.hashes(keys)
}

func (r *groupRun) takeAnswer(answer contract.AdmissionAnswer) {
	for _, grant := range answer.Granted {
		if item, waited := r.link.granted(grant); waited {
			r.takeGrant(item, grant)
		} else if r.link.renewed(grant) {
			r.takeRenewal(grant)
		}
	}
	for _, refusal := range answer.Refused {
		r.link.forget(refusal.ID)
		admissionRefused(r.trail, refusal)
		r.takeRefusal(refusal)
	}
	r.takeStops(answer.Stopped)
	for _, lost := range answer.Lost {
		r.link.forget(lost.ID)
		job, ask, ok := jobOfAsk(lost.ID)
		switch {
		case r.core == nil:
			r.lane.refused = &lost
		case r.away != nil && !ok:
			r.askTurnAgain()
		case ok:
			r.step(dispatch.AdmissionLost{Job: job, Ask: ask, Reason: lost.String()})
		default:
			r.trail.Decided(recorder.Decision{Action: recorder.Ended, Code: "GRANT_LOST", Detail: lost.ID + ": " + lost.String()})
			r.step(dispatch.GroupCanceled{Reason: lost.ID + " was lost: " + lost.String()})
		}
	}
}

func (r *groupRun) takeGrant(item contract.AdmissionItem, grant contract.AdmissionGrant) {
	job, ask, isJob := jobOfAsk(item.ID)
	switch {
	case item.ID == r.turnID(itemLane), item.ID == r.turnID(itemStart):
		r.lane.granted, r.lane.grant = true, grant
	case r.core == nil:
	case item.ID == r.turnID(itemClaims):
		r.step(r.claimed(grant))
	case isJob:
		r.step(dispatch.Admitted{Job: job, Ask: ask, Fence: grant.Fence, Fences: grant.Fences})
	default:
		r.link.forget(item.ID)
		r.link.giveUp(item.ID)
		r.step(dispatch.FencesGranted{Fence: grant.Fence, Fences: grant.Fences})
	}
}

func (r *groupRun) claimed(grant contract.AdmissionGrant) dispatch.KeysClaimed {
	keys, jobs := r.claims.keys, r.claims.jobs
	event := dispatch.KeysClaimed{Fence: grant.Fence, Fences: grant.Fences}
	type active struct {
		job     int
		by, key string
	}
	var list []active
	for _, taken := range grant.Taken {
		for _, index := range taken.Indexes {
			if index >= 0 && index < len(jobs) {
				list = append(list, active{jobs[index], taken.By, keys[index]})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b active) int { return a.job - b.job })
	for _, one := range list {
		event.Active, event.By, event.Keys = append(event.Active, one.job), append(event.By, one.by), append(event.Keys, one.key)
	}
	event.HeldBack = heldBackOf(grant.HeldBack, r.claims)
	return event
}

func (r *groupRun) takeRefusal(refusal contract.AdmissionRefusal) {
	job, ask, isJob := jobOfAsk(refusal.ID)
	switch {
	case refusal.ID == r.turnID(itemLane), refusal.ID == r.turnID(itemStart):
		r.lane.refused = &refusal
	case r.core == nil:
	case refusal.ID == r.turnID(itemClaims):
		r.step(dispatch.ClaimsRefused{Reason: refusal.String()})
	case isJob:
		r.step(dispatch.NotAdmitted{Job: job, Ask: ask, Reason: refusal.String()})
	}
}

// jobOfAsk is the inverse of askID.
func jobOfAsk(id string) (job, ask int, ok bool) {
	name, n, found := cutLast(id, ".")
	if !found {
		return 0, 0, false
	}
	job, ok = contract.JobNumber(name)
	if _, err := fmt.Sscanf(n, "%d", &ask); err != nil || !ok {
		return 0, 0, false
	}
	return job, ask, true
}

// patience is how long the group waits for its lane: until it is due again.
func (r *groupRun) patience() time.Duration {
	for _, limit := range []jobtype.Duration{r.in.Spec.Interval, r.in.Spec.Policy.CatchupWindow} {
		if limit > 0 {
			return limit.Std()
		}
	}
	return defaultPatience
}
