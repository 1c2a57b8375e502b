package workflows

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/audit"
	"github.com/roundsman/roundsman/internal/placement"
	"github.com/roundsman/roundsman/jobtype"
)

// What kinds of decision the scheduler's entries tell of: those of package
// placement, and something that changes what can be done.
const (
	auditRefused = string(placement.Refused)
	auditDelayed = string(placement.Delayed)
	auditEnded   = string(placement.Ended)
	auditNoticed = "noticed"
)

const (
	// runPace and entityPace are how long decisions are gathered before they are
	// recorded: a run that ends within that records once.
	runPace    = 5 * time.Minute
	entityPace = 10 * time.Second
	// longestPace is how long it is for what happens again and again: the pace
	// doubles each time, so that a worker that is refused every second does not
	// fill the log.
	longestPace = time.Hour
	// maxTallies bounds the entries that are gathered, perRecord those that one
	// activity takes: 2 KiB each at most.
	maxTallies = 50
	perRecord  = 200
)

// auditTrail is a workflow's side of the audit log. What operators do is recorded
// at once; what the workflow refuses or delays is added up by its code and
// recorded when enough time has passed, or at the end. A workflow that has
// nothing to tell pays nothing.
//
// An entry is in the workflow's own history, with the message or the result that
// caused it, before it is sent, and is sent by an activity that is repeated until
// the log has it.
type auditTrail struct {
	ctx workflow.Context
	// base has what all entries of the workflow share: the job type, and the run
	// for a workflow that is one.
	base contract.AuditEntry
	pace time.Duration
	// entries are those to send, senders the messages they come from.
	entries []contract.AuditEntry
	senders []sender
	// received counts the signals of each name, to find one again in the history.
	received map[string]int
	tallies  []contract.AuditEntry
	flushAt  time.Time
	// wait is how long decisions are gathered now, told what was recorded last.
	wait  time.Duration
	told  map[string]bool
	count int
	// sending takes the first sent entries to the log.
	sending workflow.Future
	sent    int
	// fresh: something was noted since flush, perhaps by an update's handler while
	// the workflow waits.
	fresh bool
}

// sender is the message that an entry comes from: the number of a signal, the id
// of an update, or a cancellation; or where it is found, if that was worked out
// by the run before.
type sender struct {
	signal, update string
	number         int
	canceled       bool
	found          *contract.AuditOrigin
}

func newAuditTrail(ctx workflow.Context, pace time.Duration, base contract.AuditEntry) *auditTrail {
	return &auditTrail{ctx: ctx, pace: pace, wait: pace, base: base, received: map[string]int{}}
}

// signaled notes what an operator did by a signal. It must be called for every
// signal of that name, in the order in which they were received.
func (t *auditTrail) signaled(name string, entry contract.AuditEntry) {
	t.received[name]++
	t.operator(entry, sender{signal: name, number: t.received[name]})
}

// updated notes what an operator did by an update; ctx is its handler's.
func (t *auditTrail) updated(ctx workflow.Context, entry contract.AuditEntry) {
	t.operator(entry, sender{update: workflow.GetCurrentUpdateInfo(ctx).ID})
}

// canceled notes that somebody canceled the workflow.
func (t *auditTrail) canceled(entry contract.AuditEntry) { t.operator(entry, sender{canceled: true}) }

func (t *auditTrail) operator(entry contract.AuditEntry, by sender) {
	entry.Kind, entry.At = contract.AuditOperator, workflow.Now(t.ctx)
	t.add(entry, by)
}

// add numbers an entry and queues it.
func (t *auditTrail) add(entry contract.AuditEntry, by sender) {
	if entry.JobType == "" {
		entry.JobType = t.base.JobType
	}
	if entry.Object == "" {
		entry.Object = t.base.Object
	}
	t.count++
	t.fresh = true
	info := workflow.GetInfo(t.ctx)
	entry.ID = fmt.Sprintf("%s|%s|%d|%d", info.WorkflowExecution.ID, info.FirstRunID, t.count, workflow.Now(t.ctx).UnixNano())
	t.entries, t.senders = append(t.entries, contract.AuditEntry(audit.Entry(entry).Bounded())), append(t.senders, by)
}

// decision is something that the workflow refused, delayed or did again.
type decision struct {
	action, code string
	// object is what it was about: a job, a worker. jobType is set where the
	// workflow serves several.
	object, jobType, detail string
	// n is how many it were; 0: one. waited is how long the longest was delayed.
	n      int
	waited time.Duration
}

// key tells whether something is told again. Entries of a run are about the run.
func (t *auditTrail) key(action, code, object string) string {
	return action + " " + code + " " + cmp.Or(t.base.Object, object)
}

// decided adds a decision to those of its code. Of a workflow that is a run, the
// entry is about the run and names the first objects in its detail; of one that
// serves all, there is an entry for each object, as long as those are few.
func (t *auditTrail) decided(d decision) {
	now := workflow.Now(t.ctx)
	t.fresh = true
	if len(t.tallies) == 0 {
		t.flushAt = now.Add(t.wait)
	}
	if news := now.Add(t.pace); !t.told[t.key(d.action, d.code, d.object)] && t.flushAt.After(news) {
		t.flushAt = news
	}
	tally := t.tally(d)
	if tally == nil {
		t.tallies = append(t.tallies, contract.AuditEntry{
			Kind: contract.AuditScheduler, Action: d.action, Code: d.code, JobType: d.jobType, Object: d.object, Since: now,
		})
		tally = &t.tallies[len(t.tallies)-1]
		if t.base.Object != "" {
			tally.Object = t.base.Object
		}
	}
	tally.At, tally.Longest = now, max(tally.Longest, jobtype.Duration(d.waited))
	tally.Count += max(d.n, 1)
	text := d.detail
	if d.object != tally.Object && d.object != "" {
		text = strings.TrimSuffix(d.object+": "+d.detail, ": ")
	}
	tally.Detail = extended(tally.Detail, text)
}

func (t *auditTrail) tally(d decision) *contract.AuditEntry {
	var same *contract.AuditEntry
	for i := range t.tallies {
		one := &t.tallies[i]
		if one.Action != d.action || one.Code != d.code {
			continue
		}
		if one.Object == d.object || t.base.Object != "" {
			return one
		}
		same = one
	}
	if len(t.tallies) < maxTallies {
		return nil
	}
	return same
}

// enough is the length from which on details are not extended any more; the
// count goes on.
const enough = 300

func extended(text, more string) string {
	switch {
	case more == "" || strings.Contains(text, more):
		return text
	case text == "":
		return audit.Clip(more, enough)
	case len(text)+len(more) > enough:
		if strings.HasSuffix(text, "…") {
			return text
		}
		return text + "; …"
	}
	return text + "; " + more
}

// flush sends what is to be sent, unless something is on its way.
func (t *auditTrail) flush() {
	if len(t.tallies) > 0 && !workflow.Now(t.ctx).Before(t.flushAt) {
		t.flushTallies()
	}
	t.fresh = false
	if t.sending != nil || len(t.entries) == 0 {
		return
	}
	t.sent = min(len(t.entries), perRecord)
	t.sending = callRecordAudit(t.ctx, contract.RecordAuditInput{Entries: t.entries[:t.sent:t.sent], Origins: t.origins(t.sent)})
}

// flushTallies makes entries of what was gathered. If something is told again, the
// next ones are gathered for longer.
func (t *auditTrail) flushTallies() {
	told := map[string]bool{}
	again := false
	for _, tally := range t.tallies {
		key := t.key(tally.Action, tally.Code, tally.Object)
		told[key], again = true, again || t.told[key]
		t.add(tally, sender{})
	}
	if again {
		t.wait = min(t.wait*2, longestPace)
	} else {
		t.wait = t.pace
	}
	t.told, t.tallies, t.flushAt = told, nil, time.Time{}
}

// origins says where the messages of the first entries are found in this run's history. All signals
// up to now have been received, so the number of those that came after one tells
// which it is.
func (t *auditTrail) origins(n int) []contract.AuditOrigin {
	var list []contract.AuditOrigin
	info := workflow.GetInfo(t.ctx)
	for i, by := range t.senders[:n] {
		if by == (sender{}) {
			continue
		}
		if by.found != nil {
			found := *by.found
			found.Entry = i
			list = append(list, found)
			continue
		}
		origin := contract.AuditOrigin{
			Entry: i, WorkflowID: info.WorkflowExecution.ID, RunID: info.WorkflowExecution.RunID, EventID: int64(info.GetCurrentHistoryLength()),
			Signal: by.signal, UpdateID: by.update, Cancel: by.canceled,
		}
		if by.signal != "" {
			origin.Back = t.received[by.signal] - by.number
		}
		list = append(list, origin)
	}
	return list
}

// wake is when flush must be called at the latest; zero: whenever.
func (t *auditTrail) wake() time.Time {
	if t.sending != nil {
		return time.Time{}
	}
	return t.flushAt
}

// ready reports whether there is something to do: entries were delivered, or were
// not, or there are new ones.
func (t *auditTrail) ready() bool { return t.fresh || t.delivered() }

func (t *auditTrail) delivered() bool { return t.sending != nil && t.sending.IsReady() }

// idle reports whether nothing is to be sent but decisions that may wait. Runs
// continue as new only then, so that what travels with them stays small.
func (t *auditTrail) idle() bool { return t.sending == nil && len(t.entries) == 0 }

// collect looks at what became of the entries. Only what the server refuses for
// good is given up: the workflow goes on without.
func (t *auditTrail) collect() {
	if !t.delivered() {
		return
	}
	if err := t.sending.Get(t.ctx, nil); err != nil {
		workflow.GetLogger(t.ctx).Error("Entries of the audit log are lost.", "entries", t.sent, "error", err)
	}
	t.sending = nil
	t.entries, t.senders = t.entries[t.sent:], t.senders[t.sent:]
}

// hurry makes the next flush send everything: the workflow ends.
func (t *auditTrail) hurry() {
	if len(t.tallies) > 0 {
		t.flushAt = workflow.Now(t.ctx)
	}
}

// settle waits until everything was recorded. A workflow that has ended cannot
// tell any more.
func (t *auditTrail) settle() error {
	for t.hurry(); !t.idle() || len(t.tallies) > 0; t.collect() {
		t.flush()
		if err := workflow.Await(t.ctx, t.delivered); err != nil {
			return err
		}
	}
	return nil
}

// state is what travels when the workflow continues as new.
func (t *auditTrail) state() *contract.AuditTrailState {
	if t.count == 0 && len(t.tallies) == 0 {
		return nil
	}
	return &contract.AuditTrailState{
		Count: t.count, Entries: t.entries, Origins: t.origins(len(t.entries)), Tallies: t.tallies, FlushAt: t.flushAt,
	}
}

func (t *auditTrail) restore(state *contract.AuditTrailState) {
	if state != nil {
		t.count, t.tallies, t.flushAt = state.Count, state.Tallies, state.FlushAt
		t.entries, t.senders = state.Entries, make([]sender, len(state.Entries))
		for _, origin := range state.Origins {
			t.senders[origin.Entry].found = &origin
		}
	}
}
