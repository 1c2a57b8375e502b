package recorder

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/audit"
)

const (
	// RunPace is the aggregation time for a run's decisions: a shorter run records once.
	RunPace = 5 * time.Minute
	// EntityPace is the same of a workflow that serves all.
	EntityPace = 10 * time.Second
	// longestPace bounds the pace, which doubles for repeated decisions: a worker refused every second must not fill the log.
	longestPace = time.Hour
	// perRecord is how many entries one activity takes, 2 KiB each at most.
	perRecord = 200
	// maxTravel bounds the carried entries: 2 KiB each, with the aggregates an eighth of the limit of a payload.
	maxTravel = 40
)

// Recorder is the sender of one workflow's audit entries.
type Recorder struct {
	ctx workflow.Context
	// base has the common fields of all entries: the job type, and the run if the workflow is one.
	base    contract.AuditEntry
	pace    time.Duration
	pending []pending
	// received counts the signals of each name, to find one again in the history.
	received   map[string]int
	aggregates []contract.AuditEntry
	flushAt    time.Time
	wait       time.Duration
	reported   map[string]bool
	count      int
	sending    workflow.Future
	sent       int
	// fresh: there are notes since Flush, perhaps by an update's handler during a wait.
	fresh bool
}

type pending struct {
	contract.AuditEntry
	sender
}

// sender is the message that caused an entry, or its place in the history if an earlier run computed it.
type sender struct {
	signal, update  string
	number          int
	canceled, reset bool
	found           *contract.AuditOrigin
}

// New returns a recorder whose entries share base. ctx must outlive a cancellation of the workflow.
func New(ctx workflow.Context, pace time.Duration, base contract.AuditEntry) *Recorder {
	return &Recorder{ctx: ctx, pace: pace, wait: pace, base: base, received: map[string]int{}}
}

// Object is the object of all entries; empty if the workflow serves several.
func (r *Recorder) Object() string { return r.base.Object }

// SetJobType sets the job type of later entries.
func (r *Recorder) SetJobType(name string) { r.base.JobType = name }

// Ignored counts a signal without an effect, which has no entry.
func (r *Recorder) Ignored(name string) { r.received[name]++ }

// Signaled notes an operator's signal. It or [Recorder.Ignored] must be called for every signal of that name, in the
// order of receipt.
func (r *Recorder) Signaled(name string, entry contract.AuditEntry) {
	r.received[name]++
	r.operator(entry, sender{signal: name, number: r.received[name]})
}

// Updated notes an operator's update; ctx is the context of its handler.
func (r *Recorder) Updated(ctx workflow.Context, entry contract.AuditEntry) {
	r.operator(entry, sender{update: workflow.GetCurrentUpdateInfo(ctx).ID})
}

// Canceled notes that somebody canceled the workflow.
func (r *Recorder) Canceled(entry contract.AuditEntry) { r.operator(entry, sender{canceled: true}) }

// Reset notes that somebody reset the workflow.
func (r *Recorder) Reset(entry contract.AuditEntry) { r.operator(entry, sender{reset: true}) }

func (r *Recorder) operator(entry contract.AuditEntry, by sender) {
	entry.Kind, entry.At = contract.AuditOperator, workflow.Now(r.ctx)
	r.add(entry, by)
}

// Add notes an entry without a message. An entry with an id is recorded once.
func (r *Recorder) Add(entry contract.AuditEntry) { r.add(entry, sender{}) }

func (r *Recorder) add(entry contract.AuditEntry, by sender) {
	entry.JobType = cmp.Or(entry.JobType, r.base.JobType)
	entry.Object = cmp.Or(entry.Object, r.base.Object)
	r.count++
	r.fresh = true
	info := workflow.GetInfo(r.ctx)
	entry.ID = cmp.Or(entry.ID, fmt.Sprintf("%s|%s|%d|%d", info.WorkflowExecution.ID, info.FirstRunID, r.count, workflow.Now(r.ctx).UnixNano()))
	r.pending = append(r.pending, pending{audit.Bounded(entry), by})
}

// Flush sends due entries, unless others are being sent.
func (r *Recorder) Flush() {
	if len(r.aggregates) > 0 && !workflow.Now(r.ctx).Before(r.flushAt) {
		r.flushAggregates()
	}
	r.fresh = false
	if r.sending != nil || len(r.pending) == 0 {
		return
	}
	r.sent = min(len(r.pending), perRecord)
	r.sending = callRecordAudit(r.ctx, contract.RecordAuditInput{Entries: r.entries(r.sent), Origins: r.origins(r.sent)})
}

func (r *Recorder) entries(n int) []contract.AuditEntry {
	list := make([]contract.AuditEntry, n)
	for i, p := range r.pending[:n] {
		list[i] = p.AuditEntry
	}
	return list
}

// origins locates the messages of the first n entries. A signal is located by the number of later ones.
func (r *Recorder) origins(n int) []contract.AuditOrigin {
	var list []contract.AuditOrigin
	info := workflow.GetInfo(r.ctx)
	for i, p := range r.pending[:n] {
		if p.sender == (sender{}) {
			continue
		}
		if p.found != nil {
			found := *p.found
			found.Entry = i
			list = append(list, found)
			continue
		}
		origin := contract.AuditOrigin{
			Entry: i, WorkflowID: info.WorkflowExecution.ID, RunID: info.WorkflowExecution.RunID, EventID: int64(info.GetCurrentHistoryLength()),
			Signal: p.signal, UpdateID: p.update, Cancel: p.canceled, Reset: p.reset,
		}
		if p.signal != "" {
			origin.Back = r.received[p.signal] - p.number
		}
		list = append(list, origin)
	}
	return list
}

// Wake is when Flush must be called at the latest; zero: whenever.
func (r *Recorder) Wake() time.Time {
	if r.sending != nil {
		return time.Time{}
	}
	return r.flushAt
}

// Ready reports whether there are deliveries, failed deliveries or new entries.
func (r *Recorder) Ready() bool { return r.fresh || r.delivered() }

func (r *Recorder) delivered() bool { return r.sending != nil && r.sending.IsReady() }

// Idle reports whether only decisions that may wait are unsent. Runs continue as new only then.
func (r *Recorder) Idle() bool { return r.sending == nil && len(r.pending) == 0 }

// Collect drops only entries that the server refuses for good.
func (r *Recorder) Collect() {
	if !r.delivered() {
		return
	}
	if err := r.sending.Get(r.ctx, nil); err != nil {
		workflow.GetLogger(r.ctx).Error("Entries of the audit log are lost.", "entries", r.sent, "error", err)
	}
	r.pending, r.sending, r.sent = r.pending[r.sent:], nil, 0
}

// Hurry makes the next Flush send everything: the workflow ends.
func (r *Recorder) Hurry() {
	if len(r.aggregates) > 0 {
		r.flushAt = workflow.Now(r.ctx)
	}
}

// Settle waits until everything is recorded.
func (r *Recorder) Settle() error {
	for r.Hurry(); !r.Idle() || len(r.aggregates) > 0; r.Collect() {
		r.Flush()
		if err := workflow.Await(r.ctx, r.delivered); err != nil {
			return err
		}
	}
	return nil
}

// State returns at most maxTravel entries and maxAggregates. It drops decisions before operators' entries, the oldest first.
func (r *Recorder) State() *contract.AuditTrailState {
	if r.count == 0 && len(r.aggregates) == 0 {
		return nil
	}
	r.trim()
	return &contract.AuditTrailState{
		Count: r.count, Entries: r.entries(len(r.pending)), Origins: r.origins(len(r.pending)), Tallies: r.aggregates, FlushAt: r.flushAt,
	}
}

func (r *Recorder) trim() {
	for _, kind := range []string{contract.AuditScheduler, contract.AuditOperator} {
		over := len(r.pending) - maxTravel
		if over <= 0 {
			return
		}
		workflow.GetLogger(r.ctx).Error("Entries of the audit log are lost: too many wait for it.", "over", over)
		r.pending = slices.DeleteFunc(r.pending, func(p pending) bool {
			drop := over > 0 && p.Kind == kind
			if drop {
				over--
			}
			return drop
		})
	}
}

// Restore is the inverse of [Recorder.State]; nil: nothing travels.
func (r *Recorder) Restore(state *contract.AuditTrailState) {
	if state == nil {
		return
	}
	r.count, r.aggregates, r.flushAt = state.Count, state.Tallies, state.FlushAt
	r.pending = make([]pending, len(state.Entries))
	for i, entry := range state.Entries {
		r.pending[i].AuditEntry = entry
	}
	for _, origin := range state.Origins {
		r.pending[origin.Entry].found = &origin
	}
}
