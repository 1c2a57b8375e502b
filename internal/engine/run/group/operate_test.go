package group

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/source"
	"github.com/roundsman/roundsman/jobtype"
)

func tape(id string, slots int) Worker {
	w := node(id, slots)
	w.Labels = map[string]string{"disk": "tape"}
	return w
}

var onTape = jobtype.Proposal{Labels: map[string]string{"disk": "tape"}, Priority: jobtype.PriorityLow}

func TestAWorkerThatCameWhileTheGroupWasFullIsSeen(t *testing.T) {
	t.Parallel()
	policy := jobtype.Policy{ExecutionTimeout: seconds(60), GlobalExecutionConcurrency: 2}
	s := play(t, policy, []Worker{node("a", 1), node("b", 1)}, onTape, jobtype.Proposal{}, jobtype.Proposal{})
	s.end(2, FailureFailed) // A place is free, but no worker has a tape.
	s.ran(run.WorkersChanged{Workers: []Worker{node("a", 1), node("b", 1)}})
	require.Equal(t, WaitNoWorker, s.job(1).Wait.Code)
	policy.GlobalExecutionConcurrency = 1
	s.step(PolicySet{Policy: policy.WithDefaults()})
	s.wait(10 * time.Second)
	s.ran(run.WorkersChanged{Workers: []Worker{node("a", 1), node("b", 1), tape("c", 1)}})
	assert.Equal(t, WaitGlobalLimit, s.job(1).Wait.Code)
	s.wait(2 * time.Minute)
	require.Equal(t, string(StatePending), s.job(1).State, "%s", s.job(1).Error)
	assert.Equal(t, []string{"1@c"}, started(s.end(3, FailureNone)))
}

func TestWhilePausedNothingWaitsForAWorker(t *testing.T) {
	t.Parallel()
	s := play(t, jobtype.Policy{ExecutionTimeout: seconds(60)}, []Worker{node("a", 1)}, onTape)
	require.Equal(t, WaitNoWorker, s.job(1).Wait.Code)
	s.wait(30 * time.Second)
	s.step(source.Paused{})
	s.wait(time.Hour)
	require.Equal(t, string(StatePending), s.job(1).State, "%s", s.job(1).Error)
	s.step(source.Resumed{})
	assert.Equal(t, s.now, s.job(1).Wait.Since)
	s.wait(59 * time.Second)
	require.Equal(t, string(StatePending), s.job(1).State)
	s.wait(time.Second)
	assert.Equal(t, "NO_WORKER: no online worker has label disk=tape (waited 1 min)", s.job(1).Error)
}
