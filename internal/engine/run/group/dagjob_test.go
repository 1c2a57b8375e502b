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

// graph is a proposal that is a DAG.
func graph(p jobtype.Proposal) jobtype.Proposal {
	p.DAG = "version: 1"
	return p
}

func TestDAGTakesNoWorker(t *testing.T) {
	t.Parallel()
	s := play(t, jobtype.Policy{GlobalExecutionConcurrency: 3}, []Worker{node("a", 1)},
		jobtype.Proposal{}, jobtype.Proposal{Priority: jobtype.PriorityLow}, graph(jobtype.Proposal{}), graph(jobtype.Proposal{Node: "b"}), graph(jobtype.Proposal{Labels: map[string]string{"disk": "ssd"}}))
	assert.Equal(t, []string{"1@a", "3@", "4@"}, started(s.last), "the pinned one too: its tasks are")
	views := s.jobs()
	assert.Equal(t, WaitGlobalLimit, views[4].Wait.Code)
	assert.Equal(t, []string{"5@"}, started(s.end(4, FailureNone)), "before job 2, for which there is no slot")
	s.ran(run.WorkersChanged{Workers: []Worker{offline("a")}})
	views = s.jobs()
	assert.Equal(t, []string{"running", "running"}, []string{views[2].State, views[4].State}, "no worker of theirs is gone")
	s.end(3, FailureNone)
	s.end(5, FailureNone)
	s.end(1, FailureNone)
	assert.Equal(t, map[string]int{"a": 1}, s.g.ByWorker())
	assert.Equal(t, 4, s.g.Counts().Completed)
}

func TestDAGNeedsNoWorkerToBeThere(t *testing.T) {
	t.Parallel()
	for _, routing := range []jobtype.Routing{jobtype.RoutingWorker, jobtype.RoutingShared} {
		s := play(t, jobtype.Policy{Routing: routing, RetryLimit: 1, RetryBackoff: seconds(5)}, []Worker{node("a", 1)}, graph(jobtype.Proposal{}), graph(jobtype.Proposal{}))
		s.ran(run.WorkersChanged{})
		assert.Equal(t, []string{"2@"}, started(s.end(1, FailureFailed)), "the other one")
		views := s.jobs()
		assert.Equal(t, WaitBackoff, views[0].Wait.Code)
		s.end(2, FailureNone)
		assert.Equal(t, []string{"1@"}, started(s.wait(5*time.Second)))
	}
}

// A DAG that is canceled cancels and awaits its own tasks, and cleans up.
func TestCanceledDAGIsAwaited(t *testing.T) {
	t.Parallel()
	s := play(t, jobtype.Policy{}, []Worker{node("a", 1)}, graph(jobtype.Proposal{}))
	s.step(source.CancelItem{Item: 1, Reason: "enough"})
	require.Len(t, decided(s.last, run.Cancel), 1)
	s.wait(time.Hour / 4)
	assert.NotEqual(t, PhaseEnded, s.g.Phase())
	s.end(1, FailureCanceled)
	assert.Equal(t, 1, s.g.Counts().Canceled)
}
