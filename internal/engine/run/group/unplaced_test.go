package group

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/source"
	"github.com/roundsman/roundsman/jobtype"
)

// inLane plays a group with the lane whose one job is for a worker that does not exist.
func inLane(t *testing.T) *script {
	t.Helper()
	s := open(t, Config{Turn: true, Lane: "disks", MaxWait: time.Hour, Policy: jobtype.Policy{MaxRuntime: jobtype.Duration(2 * time.Hour), ExecutionTimeout: jobtype.Duration(time.Hour)}}, node("a", 1))
	s.begin()
	s.step(TurnGranted{})
	s.detected(jobtype.Proposal{DedupeKey: "k", Node: "b"})
	return s
}

// A group that can place none of its jobs gives its lane back, and takes it again when a worker comes.
func TestAGroupThatPlacesNothingLeavesItsLane(t *testing.T) {
	t.Parallel()
	s := inLane(t)
	_, left := find[LeaveTurn](s.wait(leaveAfter - time.Second))
	require.False(t, left, "a worker that is started again is back before")
	_, left = find[LeaveTurn](s.wait(time.Second))
	require.True(t, left)
	s.step(Prepared{Workers: s.workers})
	s.roll()
	wait := s.g.Wait(s.now)
	assert.Equal(t, contract.CodeNoWorker, wait.Code)
	assert.Equal(t, "worker b is not registered; the lane is not held", wait.Detail)
	s.g.cfg.Lane = ""
	assert.Equal(t, "worker b is not registered", s.g.Wait(s.now).Detail, "without a lane nothing is said about one")
	s.g.cfg.Lane = "disks"
	s.ran(run.WorkersChanged{Workers: nodes(node("a", 4))})
	_, asks := find[TakeTurn](s.last)
	require.False(t, asks, "another worker is of no use")
	s.workers = append(s.workers, node("b", 1))
	s.ran(run.WorkersChanged{Workers: nodes(node("a", 1), node("b", 1))})
	turn, asks := find[TakeTurn](s.last)
	require.True(t, asks)
	assert.Equal(t, 1, turn.Turn)
	s.step(TurnGranted{})
	s.prepared()
	start, starts := find[StartJob](s.last)
	require.True(t, starts)
	assert.Equal(t, "b", start.Worker)
}

// A group whose worker never comes ends after an interval, with this reason.
func TestAGroupThatLeftItsLaneEnds(t *testing.T) {
	t.Parallel()
	s := inLane(t)
	s.wait(leaveAfter)
	s.step(Prepared{Workers: s.workers})
	s.wait(time.Hour)
	outcome, reason := s.outcome()
	assert.Equal(t, contract.OutcomeTimeout, outcome)
	assert.Contains(t, reason, "NO_WORKER")
	assert.Equal(t, 1, s.g.Counts().NotStarted)
}

// A busy worker is a reason to wait in the lane.
func TestABusyWorkerKeepsTheLane(t *testing.T) {
	t.Parallel()
	s := open(t, Config{Turn: true, Lane: "disks", MaxWait: time.Hour}, node("a", 1))
	s.begin()
	s.step(TurnGranted{})
	s.detected(jobtype.Proposal{DedupeKey: "k"}, jobtype.Proposal{DedupeKey: "elsewhere", Node: "b"})
	_, left := find[LeaveTurn](s.wait(5 * time.Minute))
	assert.False(t, left, "one of its jobs runs")
}

// leftLane is inLane after the lane is given back.
func leftLane(t *testing.T) *script {
	t.Helper()
	s := inLane(t)
	s.wait(leaveAfter)
	s.step(Prepared{Workers: s.workers})
	return s
}

// A request of an operator to a group without its lane has its effect at once, or in its next turn.
func TestAGroupThatLeftItsLaneObeys(t *testing.T) {
	t.Parallel()
	t.Run("its last job is canceled", func(t *testing.T) {
		t.Parallel()
		s := leftLane(t)
		s.step(source.CancelItem{Item: 1})
		s.outcome()
		assert.Equal(t, 1, s.g.Counts().Canceled)
	})
	t.Run("its last job expires", func(t *testing.T) {
		t.Parallel()
		s := leftLane(t)
		s.step(source.CancelItem{Force: true, Item: 1})
		s.outcome()
		assert.Empty(t, s.g.jobs.Sorted())
	})
	t.Run("it is canceled", func(t *testing.T) {
		t.Parallel()
		s := leftLane(t)
		s.step(source.Canceled{})
		outcome, _ := s.outcome()
		assert.Equal(t, contract.OutcomeCanceled, outcome)
	})
	t.Run("it is canceled while it waits for its lane again", func(t *testing.T) {
		t.Parallel()
		s := leftLane(t)
		s.ran(run.WorkersChanged{Workers: nodes(node("a", 1), node("b", 1))})
		s.step(source.Canceled{})
		outcome, _ := s.outcome()
		assert.Equal(t, contract.OutcomeCanceled, outcome)
	})
	t.Run("it is paused, and its worker comes meanwhile", func(t *testing.T) {
		t.Parallel()
		s := leftLane(t)
		s.step(source.Paused{})
		s.ran(run.WorkersChanged{Workers: nodes(node("a", 1), node("b", 1))})
		s.step(TurnGranted{})
		s.workers = append(s.workers, node("b", 1))
		s.prepared()
		s.roll()
		_, starts := find[StartJob](s.step(source.Resumed{}))
		assert.True(t, starts)
	})
	t.Run("its worker comes and goes", func(t *testing.T) {
		t.Parallel()
		s := leftLane(t)
		s.ran(run.WorkersChanged{Workers: nodes(node("a", 1), node("b", 1))})
		s.ran(run.WorkersChanged{Workers: nodes(node("a", 1))})
		_, gone := find[LeaveTurn](s.step(TurnGranted{}))
		assert.True(t, gone, "it does not keep the lane for a worker that has gone again")
		s.ran(run.WorkersChanged{Workers: nodes(node("a", 1), node("b", 1))})
		turn, asks := find[TakeTurn](s.last)
		assert.True(t, asks)
		assert.Equal(t, 2, turn.Turn)
	})
}
