package notify_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/notify"
	"github.com/roundsman/roundsman/jobtype"
)

var start = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func after(d time.Duration) time.Time { return start.Add(d) }

func on(to string, events ...contract.NotifyEvent) contract.NotifyRule {
	return contract.NotifyRule{On: events, To: []string{to}}
}

type watch struct {
	t     *testing.T
	state notify.State
	rules notify.Rules
}

func watching(t *testing.T, global []contract.NotifyRule, types ...notify.TypeRules) *watch {
	t.Helper()
	w := &watch{t: t, rules: notify.Rules{Global: global, Types: types}}
	w.state.Begin(start)
	return w
}

func (w *watch) look(at time.Duration, facts notify.Facts) []string {
	w.t.Helper()
	encoded, err := json.Marshal(w.state)
	require.NoError(w.t, err)
	w.state = notify.State{}
	require.NoError(w.t, json.Unmarshal(encoded, &w.state))
	facts.Now, facts.Rules = after(at), w.rules
	told := []string{}
	for _, notice := range w.state.Watch(facts) {
		told = append(told, fmt.Sprintf("%s %v", notice.ID, notice.To))
	}
	return told
}

func (w *watch) ended(at time.Duration, runs ...notify.Ended) []string {
	w.t.Helper()
	return w.look(at, notify.Facts{Ended: runs})
}

func run(name, id string, outcome contract.Outcome, end time.Duration) notify.Ended {
	return notify.Ended{JobType: name, Run: "group/" + name + "-" + id, RunID: id, Outcome: outcome, End: after(end)}
}

// The counts of a run decide later whether it has warnings.
func TestACompletedRunMayHaveWarnings(t *testing.T) {
	t.Parallel()
	w := watching(t, []contract.NotifyRule{on("ops", contract.NotifyWarning)})
	assert.Equal(t, []string{"warning/group/scrub-1/1 [ops]"}, w.ended(2*time.Second, run("scrub", "1", contract.OutcomeCompleted, time.Second), run("scrub", "2", contract.OutcomeFailed, time.Second)))
	assert.Empty(t, watching(t, []contract.NotifyRule{on("ops", contract.NotifyFailed)}).ended(2*time.Second, run("scrub", "1", contract.OutcomeCompleted, time.Second)))
}

func TestEachEventIsToldOnceToEachReceiver(t *testing.T) {
	t.Parallel()
	w := watching(t, []contract.NotifyRule{on("ops", contract.NotifyFailed), on("chat", contract.NotifyFailed, contract.NotifyRecovered)},
		notify.TypeRules{Name: "scrub", Rules: []contract.NotifyRule{on("ops", contract.NotifyFailed, contract.NotifyPartial)}})
	failed, partial := run("scrub", "1", contract.OutcomeFailed, time.Second), run("scrub", "2", contract.OutcomePartial, 2*time.Second)
	assert.Equal(t, []string{"failed/group/scrub-1/1 [ops chat]"}, w.ended(2*time.Second, failed), "ops once, although two rules name it")
	assert.Empty(t, w.ended(7*time.Second, failed), "the list has it again")
	assert.Equal(t, []string{"partial/group/scrub-2/2 [ops]"}, w.ended(8*time.Second, partial, failed))
	assert.Equal(t, []string{"recovered/group/scrub-3/3 [chat]"}, w.ended(9*time.Second, run("scrub", "3", contract.OutcomeCompleted, 8*time.Second), failed))
	assert.Empty(t, w.ended(10*time.Second, run("scrub", "4", contract.OutcomeCompleted, 9*time.Second)), "only the first that completes is a recovery")
	assert.Empty(t, w.ended(11*time.Second, run("other", "5", contract.OutcomePartial, 9*time.Second)), "no rule of that type")
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	for outcome, want := range map[contract.Outcome]int{
		contract.OutcomeFailed: 1, contract.OutcomeTimeout: 1, "": 1,
		contract.OutcomePartial: 0, contract.OutcomeCompleted: 0, contract.OutcomeCanceled: 0, contract.OutcomeSkipped: 0,
	} {
		w := watching(t, []contract.NotifyRule{on("ops", contract.NotifyFailed)})
		assert.Len(t, w.ended(2*time.Second, run("a", "1", outcome, time.Second)), want, "outcome %q", outcome)
	}
}

func TestRecoveryComesThroughSkippedAndCanceledRuns(t *testing.T) {
	t.Parallel()
	w := watching(t, []contract.NotifyRule{on("ops", contract.NotifyRecovered)})
	assert.Empty(t, w.ended(9*time.Second,
		run("a", "3", contract.OutcomeCanceled, 3*time.Second), run("a", "2", contract.OutcomeSkipped, 2*time.Second), run("a", "1", contract.OutcomeFailed, time.Second)))
	assert.Equal(t, []string{"recovered/group/a-4/4 [ops]"}, w.ended(10*time.Second, run("a", "4", contract.OutcomeCompleted, 9*time.Second)))
}

// TestNothingRecoversThatNeverFailed: without a rule on partial runs, their end is no recovery.
func TestNothingRecoversThatNeverFailed(t *testing.T) {
	t.Parallel()
	rules := []contract.NotifyRule{on("ops", contract.NotifyFailed, contract.NotifyRecovered)}
	w := watching(t, rules)
	assert.Empty(t, w.ended(3*time.Second, run("a", "1", contract.OutcomePartial, time.Second), run("a", "2", contract.OutcomeCompleted, 2*time.Second)))
	told := watching(t, append(rules, on("chat", contract.NotifyPartial)))
	assert.Len(t, told.ended(3*time.Second, run("a", "1", contract.OutcomePartial, time.Second), run("a", "2", contract.OutcomeCompleted, 2*time.Second)), 2)
}

func TestEndsInOneLookAreJudgedInTheirOrder(t *testing.T) {
	t.Parallel()
	w := watching(t, []contract.NotifyRule{on("ops", contract.NotifyFailed, contract.NotifyRecovered)})
	assert.Equal(t, []string{"failed/group/a-1/1 [ops]", "recovered/group/a-2/2 [ops]"},
		w.ended(9*time.Second, run("a", "2", contract.OutcomeCompleted, 2*time.Second), run("a", "1", contract.OutcomeFailed, time.Second)))
}

func TestRunsAreRememberedAsLongAsTheyCanBeListed(t *testing.T) {
	t.Parallel()
	w := watching(t, []contract.NotifyRule{on("ops", contract.NotifyFailed)})
	for i := range 100 {
		w.ended(time.Duration(i)*time.Minute, run("a", fmt.Sprint(i), contract.OutcomeFailed, time.Duration(i)*time.Minute))
	}
	assert.LessOrEqual(t, len(w.state.Seen), 2)
	assert.Equal(t, after(98*time.Minute), w.state.From())
}

func TestDAGsHaveTheGlobalRules(t *testing.T) {
	t.Parallel()
	w := watching(t, []contract.NotifyRule{on("ops", contract.NotifyFailed)}, notify.TypeRules{Name: "nightly", Rules: []contract.NotifyRule{on("chat", contract.NotifyFailed)}})
	assert.Equal(t, []string{"failed/dag/nightly/1/r [ops]"}, w.ended(2*time.Second, notify.Ended{DAG: "nightly", Run: "dag/nightly/1", RunID: "r", Outcome: contract.OutcomeFailed, End: after(time.Second)}))
}

func overdue(d time.Duration) contract.NotifyRule {
	return contract.NotifyRule{NotSucceededFor: jobtype.Duration(d), To: []string{"ops"}}
}

func TestOverdueIsToldOnceForEachSuccess(t *testing.T) {
	t.Parallel()
	w := watching(t, []contract.NotifyRule{on("ops", contract.NotifyRecovered)},
		notify.TypeRules{Name: "a", Rules: []contract.NotifyRule{overdue(time.Hour)}}, notify.TypeRules{Name: "off", Disabled: true, Rules: []contract.NotifyRule{overdue(time.Hour)}})
	assert.Equal(t, []string{"a"}, w.rules.Overdue(), "a disabled one is never overdue")
	assert.Empty(t, w.look(0, notify.Facts{}), "it counts from when it was first seen")
	assert.Empty(t, w.look(59*time.Minute, notify.Facts{}))
	assert.Equal(t, []string{"not_succeeded/a@1h/2026-11-22T12:00:00Z [ops]"}, w.look(60*time.Minute, notify.Facts{}))
	assert.Empty(t, w.look(3*time.Hour, notify.Facts{}))
	assert.Equal(t, []string{"recovered/group/a-1/1 [ops]"}, w.ended(3*time.Hour, run("a", "1", contract.OutcomeCompleted, 3*time.Hour)))
	assert.Equal(t, []string{"not_succeeded/a@1h/2026-11-22T15:00:00Z [ops]"}, w.look(4*time.Hour, notify.Facts{}), "the next success is another one")
}

func TestApprovalsAndLostWorkers(t *testing.T) {
	t.Parallel()
	w := watching(t, []contract.NotifyRule{on("ops", contract.NotifyApproval, contract.NotifyWorkerLost)}, notify.TypeRules{Name: "a", Rules: []contract.NotifyRule{on("boss", contract.NotifyApproval)}})
	wanted := func(runID string, unanswered ...string) notify.Facts {
		return notify.Facts{
			Approvals: &notify.Approvals{Wanted: []notify.Approval{{JobType: "a", DAG: "d", Run: "group/a-1/job", RunID: runID, Task: "ok", Since: start}}, Unanswered: unanswered},
			Lost:      &[]notify.Worker{{ID: "n1", Instance: "i"}},
		}
	}
	silent := func(runs ...string) notify.Facts {
		return notify.Facts{Approvals: &notify.Approvals{Unanswered: runs}, Lost: &[]notify.Worker{}}
	}
	first := "approval/group/a-1/job/ok/2026-11-22T12:00:00Z [ops boss]"
	assert.Equal(t, []string{first, "worker_lost/n1/i [ops]"}, w.look(0, wanted("r")))
	assert.Empty(t, w.look(time.Second, wanted("r")))
	assert.Empty(t, w.look(2*time.Second, notify.Facts{}), "nobody looked: nothing is forgotten")
	assert.Empty(t, w.look(3*time.Second, wanted("r2", "dag/other/1")), "the run has continued as new, another does not answer")
	assert.Empty(t, w.look(4*time.Second, silent("group/a-1/job")), "the worker is back, the run does not answer")
	assert.Equal(t, []string{"worker_lost/n1/i [ops]"}, w.look(5*time.Second, wanted("r2")), "and lost again")
	assert.Empty(t, w.look(6*time.Second, silent()))
	assert.Len(t, w.look(7*time.Second, wanted("r2")), 2)
}

// TestTheStateIsBounded: deleted names are dropped.
func TestTheStateIsBounded(t *testing.T) {
	t.Parallel()
	w := watching(t, []contract.NotifyRule{{NotSucceededFor: jobtype.Duration(time.Hour), To: []string{"ops"}}}, notify.TypeRules{Name: "a"})
	assert.Empty(t, w.ended(0, run("a", "1", contract.OutcomeCompleted, 0)))
	assert.Len(t, w.ended(2*time.Hour), 1)
	require.Len(t, w.state.Overdue, 1)
	for i := range 1100 {
		w.ended(3*time.Hour+time.Duration(i)*time.Minute,
			notify.Ended{DAG: fmt.Sprint("good-", i), RunID: fmt.Sprint("g", i), Outcome: contract.OutcomeCompleted, End: after(time.Duration(i) * time.Minute)},
			notify.Ended{DAG: fmt.Sprint("bad-", i), RunID: fmt.Sprint("b", i), Outcome: contract.OutcomeFailed, End: after(time.Duration(i) * time.Minute)})
	}
	assert.Len(t, w.state.Success, 1)
	assert.LessOrEqual(t, len(w.state.Failing), 1001)
	assert.Contains(t, w.state.Failing, "dag/bad-1099", "the oldest go first")
	w.rules.Types = nil
	w.ended(9000 * time.Hour)
	assert.Empty(t, w.state.Success)
	assert.Empty(t, w.state.Overdue)
}

func TestWants(t *testing.T) {
	t.Parallel()
	rules := notify.Rules{Types: []notify.TypeRules{{Name: "a", Rules: []contract.NotifyRule{on("ops", contract.NotifyApproval)}}}}
	assert.True(t, rules.Wants(contract.NotifyFailed, contract.NotifyApproval))
	assert.False(t, rules.Wants(contract.NotifyFailed, contract.NotifyWorkerLost))
}

func TestALaterRuleIsNotForWhatEndedLongAgo(t *testing.T) {
	t.Parallel()
	w := watching(t, nil)
	w.state.Skip(after(time.Hour))
	assert.Equal(t, after(time.Hour-notify.Overlap), w.state.From())
	w.state.Skip(after(time.Minute))
	assert.Equal(t, after(time.Hour-notify.Overlap), w.state.From(), "a clock that goes back moves nothing")
}

// TestACutListIsContinued: even if it has no new run, and no run is lost beyond the bound of one
// look.
func TestACutListIsContinued(t *testing.T) {
	t.Parallel()
	w := watching(t, []contract.NotifyRule{on("ops", contract.NotifyFailed)})
	w.look(time.Second, notify.Facts{Until: after(time.Hour)})
	assert.Equal(t, after(time.Hour-notify.Overlap), w.state.From())
	var ended []notify.Ended
	for i := range notify.MaxReported + 1 {
		ended = append(ended, run("a", fmt.Sprint(i), contract.OutcomeFailed, time.Hour+time.Duration(i)*time.Millisecond))
	}
	cut := notify.Facts{Ended: ended, Until: after(2 * time.Hour)}
	assert.Len(t, w.look(3*time.Hour, cut), notify.MaxReported)
	assert.True(t, w.state.From().Before(after(2*time.Hour-notify.Overlap)))
	assert.Len(t, w.look(3*time.Hour, cut), 1)
	assert.Equal(t, after(2*time.Hour-notify.Overlap), w.state.From())
}

func TestManyFailuresAreToldInSeveralLooks(t *testing.T) {
	t.Parallel()
	w := watching(t, []contract.NotifyRule{on("ops", contract.NotifyFailed)})
	var ended []notify.Ended
	for i := range 2*notify.MaxReported + 50 {
		ended = append(ended, run("a", fmt.Sprint(i), contract.OutcomeFailed, time.Duration(i)*time.Millisecond))
	}
	told := map[string]bool{}
	for look, want := range []int{notify.MaxReported, notify.MaxReported, 50, 0} {
		found := w.ended(time.Duration(look+1)*time.Second, ended...)
		assert.Len(t, found, want)
		for _, id := range found {
			told[id] = true
		}
	}
	assert.Len(t, told, len(ended))
}
