package dagrun_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/dagrun"
)

func nest(t *testing.T, task string) *play {
	t.Helper()
	return begin(t, compileFiles(t, one+task, map[string]string{"sub.yaml": subDAG}), dagrun.Config{})
}

// A second cancel is for the tasks with the rule always, in any sub-DAG.
func TestSecondCancelInsistsOnTheEndOfSubDAGs(t *testing.T) {
	t.Parallel()
	p := nest(t, "{id: a, dag: sub.yaml}\n  - {id: b, dag: sub.yaml, trigger_rule: always}\n")
	p.do(p.g.CancelRun(p.now, "enough"))
	assert.True(t, p.asked["a"])
	assert.False(t, p.asked["b"], "it is to run always")
	assert.Empty(t, p.insisted)
	p.do(p.g.CancelRun(p.now, "now"))
	assert.True(t, p.asked["b"])
	assert.Equal(t, []string{"a", "b"}, p.insisted)
	p.do(p.g.CancelRun(p.now, "now!"))
	assert.Len(t, p.insisted, 2, "once is enough")
	for _, id := range []string{"a", "b"} {
		p.ended(id, run.Ending{Failure: contract.FailureCanceled})
	}
	assert.Equal(t, dag.OutcomeCanceled, p.end.Outcome)
}

func TestSubDAGWhoseIDIsTakenIsTriedAgain(t *testing.T) {
	t.Parallel()
	taken := run.Ending{Failure: contract.FailureNotTaken, Message: "taken"}
	p := nest(t, "{id: a, dag: sub.yaml}\n")
	p.ended("a", taken)
	assert.Equal(t, "the next attempt: taken", p.view("a").Waiting)
	p.do(p.g.Pause(p.now, "ann", "n"))
	p.pass(time.Minute)
	assert.Empty(t, p.running, "a paused run starts no sub-DAG")
	p.roll(dagrun.Config{})
	p.do(p.g.Resume(p.now))
	require.Contains(t, p.running, "a")
	p.ended("a", run.Ending{})
	assert.Equal(t, dag.OutcomeCompleted, p.end.Outcome)

	q := nest(t, "{id: a, dag: sub.yaml}\n")
	tries := 0
	for began := q.now; q.end == nil; tries++ {
		q.ended("a", taken)
		q.pass(2 * time.Second)
		require.LessOrEqual(t, q.now.Sub(began), 3*time.Minute)
	}
	assert.Equal(t, "taken: cancel it, or wait for its end, and retry (it was waited for 2 min)", q.view("a").Error)
	assert.Equal(t, tries, q.view("a").Attempts)
}

func TestRetriedSubDAGWaitsForTheEndOfAPause(t *testing.T) {
	t.Parallel()
	p := nest(t, "{id: a, dag: sub.yaml, retries: {limit: 1, backoff: 3s}}\n")
	p.ended("a", run.Ending{Failure: contract.FailureFailed, Message: "m"})
	p.do(p.g.Pause(p.now, "ann", "n"))
	p.pass(time.Minute)
	assert.Empty(t, p.running)
	assert.Equal(t, contract.CodePaused, p.waits("a")[0].Code)
	p.do(p.g.Resume(p.now))
	assert.Contains(t, p.running, "a")
}

func TestWhatNameOfATaskWasMeant(t *testing.T) {
	t.Parallel()
	p := start(t, one+"{id: upgrade, for_each: [a, b, c, d], noop: true}\n", dagrun.Config{})
	refused := func(id string) string {
		return p.g.Check(dagrun.Request{Kind: dagrun.Skip, Tasks: []string{id}}).Error()
	}
	assert.Equal(t, `there is no task "upgrade" in this run: it fans out to 4; name those: upgrade.a, upgrade.b, upgrade.c, …`, refused("upgrade"))
	assert.Contains(t, refused("upgrad.b"), `did you mean "upgrade.b"?`)
	assert.Equal(t, "there is no task \"entirely-else\" in this run; `roundsman show` lists them", refused("entirely-else"))
}
