package dagrun_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/dagrun"
	"github.com/roundsman/roundsman/jobtype"
)

const scheduler = "version: 1\nname: d\nhold_on_failure: 1h\n%RECOVERY%tasks:\n" +
	"  - {id: a, node: w1, command: [x]}\n" +
	"  - {id: b, node: w2, command: [x]}\n" +
	"  - {id: c, needs: [a], noop: true}\n" +
	"  - {id: d, needs: [b], command: [x]}\n" +
	"  - {id: nap, sleep: 1h}\n" +
	"  - {id: tidy, needs: [a, b], trigger_rule: always, node: w2, command: [x]}\n"

func TestRecoveryFailEndsTheWholeRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		cfg  dagrun.Config
	}{
		"its own":       {text: "recovery: fail\n"},
		"that above it": {text: "recovery: resume\n", cfg: dagrun.Config{Recovery: jobtype.RecoveryFail}},
	} {
		p := start(t, strings.Replace(scheduler, "%RECOVERY%", c.text, 1), c.cfg)
		p.workers(worker("w1", 1), worker("w2", 1))
		require.Contains(t, p.running, "b", name)
		p.ended("a", run.Ending{Failure: contract.FailureWorkerLost, Message: "no beat"})
		p.pass(run.Grace)
		assert.Equal(t, "failed", p.state("a"), name)
		assert.True(t, p.asked["b"], name)
		assert.Equal(t, "canceled canceled canceled", p.state("c")+" "+p.state("d")+" "+p.state("nap"), name)
		p.ended("b", run.Ending{Failure: contract.FailureCanceled})
		require.Contains(t, p.running, "tidy", "what cleans up still runs: "+name)
		p.ended("tidy", run.Ending{Failure: contract.FailureWorkerLost, Message: "no beat", Gone: true})
		require.NotNil(t, p.end, "the run is not held: "+name)
		assert.Equal(t, dag.OutcomeFailed, p.end.Outcome)
		assert.Equal(t, "WORKER_LOST: task a was lost with worker w1: no beat (recovery is fail)", p.end.Reason)
		assert.True(t, p.g.LostWorker())
		assert.Equal(t, "failed", p.state("tidy"), "it is not tried again")
	}
}

func TestRecoveryResumePlacesTheTaskAgain(t *testing.T) {
	t.Parallel()
	p := start(t, one+"{id: a, job_type: j}\n", dagrun.Config{JobTypes: map[string]dagrun.JobType{"j": {
		Handler: "h", Policy: jobtype.Policy{Recovery: jobtype.RecoveryFail}.WithDefaults(),
	}}})
	p.workers(worker("w1", 1), worker("w2", 1))
	p.ended("a", run.Ending{Failure: contract.FailureWorkerLost, Message: "no beat"})
	p.pass(run.Grace)
	require.Contains(t, p.running, "a", "the recovery of a job type is that of its groups")
	p.ended("a", run.Ending{})
	assert.Equal(t, dag.OutcomeCompleted, p.end.Outcome)
	assert.False(t, p.g.LostWorker())
}

// A run that lost a worker may continue as new while its tasks clean up.
func TestRecoveryFailTravels(t *testing.T) {
	t.Parallel()
	p := start(t, "version: 1\nname: d\nrecovery: fail\ntasks:\n  - {id: a, command: [x]}\n  - {id: nap, needs: [a], trigger_rule: always, sleep: 1h}\n", dagrun.Config{})
	p.workers(worker("w1", 1))
	p.ended("a", run.Ending{Failure: contract.FailureWorkerLost, Message: "no beat", Gone: true})
	require.Nil(t, p.end)
	p.roll(dagrun.Config{})
	p.pass(time.Hour)
	require.NotNil(t, p.end)
	assert.Equal(t, dag.OutcomeFailed, p.end.Outcome)
	assert.True(t, p.g.LostWorker())
}
