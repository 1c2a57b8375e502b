package explain_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/engine/explain"
)

// An open run of a job type refuses a retry of its failed jobs with a reason. An open run of a DAG accepts the retry.
func TestAnOpenRunSaysWhenItsFailedJobsCanBeRetried(t *testing.T) {
	t.Parallel()
	facts := explain.RunStandingFacts{Open: true, Running: 2, Failed: 1}
	for _, paused := range []bool{false, true} {
		facts.Paused = paused
		standing := explain.RunStandingOf(facts)
		assert.NotContains(t, standing.Operations, explain.MayRetryRun)
		require.Len(t, standing.Refused, 1)
		assert.Equal(t, explain.MayRetryRun, standing.Refused[0].Operation)
		assert.Contains(t, standing.Refused[0].Why, "when the run has ended")
	}
	facts.Failed = 0
	assert.Empty(t, explain.RunStandingOf(facts).Refused)
	facts.Failed, facts.DAG = 1, true
	assert.Empty(t, explain.RunStandingOf(facts).Refused)
	facts.DAG, facts.Open = false, false
	assert.Empty(t, explain.RunStandingOf(facts).Refused)
}

// The facts accumulate: each line adds a graver one.
func TestTheGravestStateOfAnOpenRunCounts(t *testing.T) {
	t.Parallel()
	facts := explain.RunStandingFacts{Open: true, DAG: true, Running: 2}
	open := []string{"pause-run", "add-tasks", "cancel-run"}
	failed, held := []string{"retry-run", "pause-run", "add-tasks", "cancel-run"}, []string{"retry-run", "release-run", "pause-run", "add-tasks", "cancel-run"}
	for _, row := range []struct {
		add    func()
		wanted explain.RunStanding
	}{
		{func() {}, explain.RunStanding{State: "running", Role: "running", Operations: open}},
		{func() { facts.Failed = 1 }, explain.RunStanding{State: "running", Role: "partial", Cause: "1 item failed", Operations: failed}},
		{
			func() { facts.Waiting = "POOL_FULL(db)" },
			explain.RunStanding{State: "running", Role: "partial", Cause: "POOL_FULL(db); 1 item failed", Operations: failed},
		},
		{func() { facts.Running = 0 }, explain.RunStanding{State: "waiting", Role: "waiting", Cause: "POOL_FULL(db); 1 item failed", Operations: failed}},
		{func() { facts.Phase, facts.Waiting = "held", "" }, explain.RunStanding{State: "held", Role: "person", Cause: "1 item failed", Operations: held}},
		{
			func() { facts.Paused, facts.PausedBy, facts.Failed = true, "ann", 0 },
			explain.RunStanding{State: "paused", Role: "paused", Cause: "by ann", Operations: []string{"release-run", "resume-run", "add-tasks", "cancel-run"}},
		},
		{
			func() { facts.Frozen = true },
			explain.RunStanding{State: "paused", Role: "paused", Cause: "its workflow is paused in Temporal itself", Operations: []string{"release-run", "resume-run", "add-tasks", "cancel-run"}},
		},
	} {
		row.add()
		row.wanted.Open = true
		assert.Equal(t, row.wanted, explain.RunStandingOf(facts))
	}
}

func TestAGroupWhoseJobsAllWaitDoesNotRun(t *testing.T) {
	t.Parallel()
	facts := explain.RunStandingFacts{Open: true, Wait: &contract.WaitReason{Code: "RESOURCES_PENDING", Items: 2, Detail: "its resources: 1 of pool db"}}
	standing := explain.RunStandingOf(facts)
	assert.Equal(t, []string{"waiting", "waiting", "2 jobs wait: its resources: 1 of pool db"}, []string{standing.State, string(standing.Role), standing.Cause})
	facts.Wait.Items = 1
	assert.Equal(t, "1 job waits: its resources: 1 of pool db", explain.RunStandingOf(facts).Cause)
	facts.Waiting = "it waits for its turn in lane disk"
	assert.Equal(t, facts.Waiting, explain.RunStandingOf(facts).Cause)
	facts.Waiting, facts.Running = "", 1
	assert.Equal(t, "running", explain.RunStandingOf(facts).State)
	facts.Running = 0
	for _, code := range []contract.Code{contract.CodeStarting, contract.CodeDetecting} {
		facts.Wait.Code = string(code)
		assert.Equal(t, "running", explain.RunStandingOf(facts).State)
	}
}

func TestTheStateOfAnEndedRun(t *testing.T) {
	t.Parallel()
	none, retry := []string{}, []string{"retry-run"}
	for _, row := range []struct {
		facts       explain.RunStandingFacts
		state, role string
		cause       string
		operations  []string
	}{
		{explain.RunStandingFacts{Outcome: "completed"}, "completed", "done", "", none},
		{explain.RunStandingFacts{Outcome: "completed", Warnings: 2}, "completed", "done", "2 items with a warning", none},
		{explain.RunStandingFacts{Outcome: "partial", Reason: "2 of 4 failed"}, "partial", "partial", "2 of 4 failed", retry},
		{explain.RunStandingFacts{Outcome: "failed"}, "failed", "failed", "", retry},
		{explain.RunStandingFacts{Outcome: "timeout"}, "timeout", "timeout", "", retry},
		{explain.RunStandingFacts{Outcome: "canceled"}, "canceled", "canceled", "", retry},
		{explain.RunStandingFacts{Outcome: "skipped"}, "skipped", "skipped", "", none},
		{explain.RunStandingFacts{Status: "TimedOut"}, "timeout", "timeout", "", retry},
		{explain.RunStandingFacts{Status: "Terminated", Failure: "by ann"}, "terminated", "failed", "by ann", retry},
	} {
		assert.Equal(t, explain.RunStanding{State: row.state, Role: explain.Role(row.role), Cause: row.cause, Quoted: row.facts.Failure != "", Operations: row.operations}, explain.RunStandingOf(row.facts))
	}
	coded := explain.RunStandingOf(explain.RunStandingFacts{Outcome: "skipped", Code: contract.CodeNoWorker, Reason: "NO_WORKER: no label"})
	assert.Equal(t, []string{"no label", "NO_WORKER", "NO_WORKER: no label"}, []string{coded.Cause, string(coded.Code), coded.Line()})
	stuck := explain.RunStandingOf(explain.RunStandingFacts{Open: true, Code: contract.CodeWorkflowStuck, Waiting: "WORKFLOW_STUCK: the page is lost"})
	assert.Equal(t, []string{"the page is lost", "WORKFLOW_STUCK"}, []string{stuck.Cause, string(stuck.Code)})
	assert.Equal(t, retry, explain.RunStandingOf(explain.RunStandingFacts{DAG: true, Outcome: "skipped"}).Operations)
	assert.Empty(t, explain.RunStandingOf(explain.RunStandingFacts{DAG: true, Outcome: contract.OutcomeCompleted}).Operations)
	assert.Empty(t, explain.RunStandingOf(explain.RunStandingFacts{DryRun: true, Outcome: "failed"}).Operations)
}

func TestTheStandingOfAnItem(t *testing.T) {
	t.Parallel()
	job := func(state string) explain.ItemStanding {
		return explain.ItemStandingOf(explain.ItemStandingFacts{Open: true, Job: true, Kind: "job", State: state})
	}
	task := func(kind, state string) explain.ItemStanding {
		return explain.ItemStandingOf(explain.ItemStandingFacts{Open: true, Kind: kind, State: state})
	}
	stop := []string{"cancel-item"}
	for _, state := range []string{"pending", "assigned", "recalling", "held"} {
		assert.Equal(t, stop, job(state).Operations, state)
		assert.Equal(t, state, job(state).State)
		assert.False(t, job(state).Ended)
	}
	assert.Equal(t, []string{"cancel-item", "expire-item"}, job("running").Operations)
	for _, state := range []string{"completed", "warning", "failed", "canceled", "stale", "expired", "not_started"} {
		assert.Equal(t, []string{}, job(state).Operations, state)
		assert.True(t, job(state).Ended)
	}
	for state, want := range map[dag.State][]string{
		dag.Pending: {"skip-item", "cancel-item"}, dag.Ready: {"skip-item", "cancel-item"}, dag.Running: stop, dag.Completed: {"rerun-item"},
		dag.Failed: {"rerun-item", "skip-item"}, dag.UpstreamFailed: {"skip-item"}, dag.Skipped: {}, dag.Canceled: {"rerun-item", "skip-item"},
	} {
		one := task("command", state.String())
		assert.Equal(t, explain.ItemStanding{State: state.String(), Role: one.Role, Ended: state.Terminal(), OnWorker: true, Operations: want}, one, state)
		assert.NotEqual(t, explain.RoleUnknown, one.Role, state)
	}
	assert.Equal(t, explain.ItemStanding{State: "needs_approval", Role: explain.RolePerson, Operations: []string{"approve-item", "reject-item", "cancel-item"}}, task("approval", "running"))
	assert.Equal(t, "waiting", task("sleep", "running").State)
	assert.Equal(t, explain.RolePlan, task("sleep", "running").Role)
	waits := explain.ItemStandingOf(explain.ItemStandingFacts{Open: true, Job: true, Kind: "job", State: "running", Wait: "AWAITING_APPROVAL"})
	assert.Equal(t, []string{"approve-item", "reject-item", "cancel-item", "expire-item"}, waits.Operations)
	assert.Equal(t, "needs_approval", waits.State)
	gate := explain.ItemStandingOf(explain.ItemStandingFacts{Open: true, Job: true, Kind: "job", State: "running", Wait: "RESOURCES_PENDING"})
	assert.Equal(t, explain.RoleWaiting, gate.Role)
	assert.Equal(t, "waiting", gate.State)
	closed := explain.ItemStandingOf(explain.ItemStandingFacts{Kind: "sleep", State: "failed"})
	assert.Equal(t, explain.ItemStanding{State: "failed", Role: explain.RoleFailed, Ended: true, Operations: []string{}}, closed)
}

// Each operation exists in the REST API and has a button in the console.
func TestTheOperationsOfAStandingExist(t *testing.T) {
	t.Parallel()
	read := func(path ...string) string {
		text, err := os.ReadFile(filepath.Join(append([]string{"..", "..", ".."}, path...)...))
		require.NoError(t, err)
		return string(text)
	}
	api, console := read("docs", "openapi.yaml"), read("web", "src", "acts", "runs.ts")+read("web", "src", "acts", "items.ts")
	for _, operation := range []string{
		explain.MayCancelRun, explain.MayPauseRun, explain.MayResumeRun, explain.MayReleaseRun, explain.MayRetryRun, explain.MayAddTasks,
		explain.MayApprove, explain.MayReject, explain.MaySkip, explain.MayRerun, explain.MayCancelItem, explain.MayExpire,
	} {
		assert.Contains(t, api, "operationId: "+operation+"\n")
		assert.Contains(t, console, "'"+operation+"'", "web/src/acts: a button for %s", operation)
	}
}
