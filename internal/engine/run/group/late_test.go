package group

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/instant"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/source"
	"github.com/roundsman/roundsman/jobtype"
)

// TestAWorkerThatComesBackDetectsInTheSameRun: it was OFFLINE at the tick. The jobs of the other worker run meanwhile,
// and late findings get a claim of their own.
func TestAWorkerThatComesBackDetectsInTheSameRun(t *testing.T) {
	t.Parallel()
	s := open(t, Config{DetectEvery: true, Claims: true, Policy: jobtype.Policy{GlobalExecutionConcurrency: 9}}, node("a", 2), offline("b"), offline("c"))
	s.begin()
	s.step(DetectionEnded{Attempt: 1, Emitted: 1, Proposals: []jobtype.Proposal{{DedupeKey: "x"}}})
	s.step(KeysClaimed{Fence: 1, Fences: 9})
	require.Equal(t, []string{"1@a"}, started(s.last))
	assert.Equal(t, 2, s.g.Counts().MissedWorkers)

	s.wait(20 * time.Second)
	s.ran(run.WorkersChanged{Workers: []contract.WorkerView{node("a", 2), node("b", 2), offline("c")}})
	require.Equal(t, map[int]string{2: "b"}, detections(s.last))
	require.NoError(t, s.g.CheckPage(Page{Attempt: 2}))
	s.g.TakePage(s.now, Page{Attempt: 2, Proposals: []jobtype.Proposal{{DedupeKey: "x"}, {DedupeKey: "y"}}})
	s.end(1, FailureNone)
	require.Equal(t, PhaseRunning, s.g.Phase(), "the detection runs")
	s.step(DetectionEnded{Attempt: 2, Pages: 1, Emitted: 2})
	require.Contains(t, s.last, ClaimKeys{Late: 1})
	s.roll()
	assert.True(t, s.g.ClaimingLate())
	claims := s.g.Claims(true)
	require.Len(t, claims, 2)
	assert.Equal(t, []string{"b/x", "b/y"}, []string{claims[0].Key, claims[1].Key})
	s.step(KeysClaimed{Fence: 10, Fences: 9, Active: []Active{{Job: claims[0].Job, Key: claims[0].Key, By: "another"}}})
	assert.Equal(t, []string{"2@b"}, started(s.last))
	s.end(2, FailureNone)
	result := s.g.Result(s.now)
	assert.Equal(t, contract.OutcomePartial, result.Outcome)
	assert.Equal(t, "1 of 3 workers missed: c: WORKER_UNREACHABLE: it is OFFLINE", result.Reason)
	assert.Equal(t, contract.GroupCounts{Detected: 3, Accepted: 2, Completed: 2, AlreadyActive: 1, Workers: 3, MissedWorkers: 1}, result.Counts)
}

// TestAnUnreachableWorkerHoldsTheRunForItsPatience: the run waits detection_timeout for a worker
// that was alive when the run began, and not at all for one that was OFFLINE.
func TestAnUnreachableWorkerHoldsTheRunForItsPatience(t *testing.T) {
	t.Parallel()
	lost := node("b", 2)
	lost.State, lost.Fresh = contract.WorkerUnreachable, false
	s := everywhere(t, jobtype.Policy{DetectionTimeout: seconds(20)}, node("a", 2), lost, offline("c"))
	s.step(DetectionEnded{Attempt: 1})
	require.Equal(t, PhaseRunning, s.g.Phase())
	wait := s.g.Wait(s.now)
	assert.Equal(t, contract.CodeUnreachable, wait.Code)
	assert.Equal(t, s.now.Add(20*time.Second), wait.Until)
	assert.Equal(t, wait.Until, s.g.NextWake())
	s.wait(20 * time.Second)
	require.Equal(t, PhaseEnded, s.g.Phase())
	assert.Len(t, s.g.Result(s.now).Missed, 2)
}

// TestAPausedGroupWithoutJobsKeepsItsLaneForNoWorker: it would start no detection there, and no timer would end it.
func TestAPausedGroupWithoutJobsKeepsItsLaneForNoWorker(t *testing.T) {
	t.Parallel()
	lost := node("b", 2)
	lost.State, lost.Fresh = contract.WorkerUnreachable, false
	for _, jobs := range []int{0, 1} {
		s := everywhere(t, jobtype.Policy{DetectionTimeout: seconds(20)}, node("a", 2), lost)
		s.step(DetectionEnded{Attempt: 1, Emitted: jobs, Proposals: make([]jobtype.Proposal, jobs)})
		require.Equal(t, PhaseRunning, s.g.Phase())
		s.step(source.Paused{By: "ann"})
		if jobs > 0 {
			require.Equal(t, PhaseRunning, s.g.Phase())
			s.end(1, FailureNone)
		}
		assert.Equal(t, PhaseEnded, s.g.Phase(), "%d jobs", jobs)
		assert.Len(t, s.g.Result(s.now).Missed, 1)
	}
}

// TestALateDetectionEndsWithItsRun: a canceled run waits for the end of the detection, and
// counts nothing of it.
func TestALateDetectionEndsWithItsRun(t *testing.T) {
	t.Parallel()
	s := everywhere(t, jobtype.Policy{}, node("a", 2), offline("b"))
	s.step(DetectionEnded{Attempt: 1, Emitted: 1, Proposals: []jobtype.Proposal{{DedupeKey: "x"}}})
	s.ran(run.WorkersChanged{Workers: []contract.WorkerView{node("a", 2), node("b", 2)}})
	s.g.TakePage(s.now, Page{Attempt: 2, Proposals: []jobtype.Proposal{{DedupeKey: "y"}}})
	s.step(source.Canceled{Reason: "enough"})
	require.Contains(t, s.last, CancelDetection{Attempt: 2})
	s.end(1, FailureCanceled)
	require.NotEqual(t, PhaseEnded, s.g.Phase())
	s.step(DetectionEnded{Attempt: 2, Pages: 1, Failure: contract.FailureCanceled})
	result := s.g.Result(s.now)
	assert.Equal(t, contract.OutcomeCanceled, result.Outcome)
	assert.Equal(t, 1, result.Counts.Accepted)
}

// TestACancelWhileABusyWorkerIsAwaited: no detection runs, and another worker has detected.
func TestACancelWhileABusyWorkerIsAwaited(t *testing.T) {
	t.Parallel()
	s := everywhere(t, jobtype.Policy{}, node("a", 2), node("b", 2))
	s.step(DetectionEnded{Attempt: 1, Emitted: 1, Proposals: []jobtype.Proposal{{DedupeKey: "x"}}})
	s.step(DetectionEnded{Attempt: 2, Failure: FailureAtCapacity})
	s.step(source.Canceled{Reason: "enough"})
	assert.Equal(t, contract.OutcomeCanceled, s.g.Result(s.now).Outcome)
	assert.Equal(t, PhaseEnded, s.g.Phase())
}

func claimsAnswer(rt *rapid.T, g *Group, fair bool) Event {
	if !fair && rapid.IntRange(0, 20).Draw(rt, "refuse") == 0 {
		return ClaimsRefused{Code: contract.CodeInvalid, Reason: "full"}
	}
	claimed := KeysClaimed{Fence: 1, Fences: 1}
	for _, claim := range g.Claims(g.ClaimingLate()) {
		if !fair && rapid.IntRange(0, 4).Draw(rt, "active") == 0 {
			claimed.Active = append(claimed.Active, Active{Job: claim.Job, Key: claim.Key, By: "another"})
		}
	}
	return claimed
}

// TestEveryWorkerModel: with random workers and detections, each worker ends as done or missed. Findings are done where
// they were found, and the counts add up. A restored state is the same group.
func TestEveryWorkerModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		workers := fleetOf(rapid.IntRange(1, 8).Draw(rt, "workers"))
		s := &script{t: t, now: epoch, workers: workers, g: New(Config{
			JobType: "jt", Handler: "h", DetectEvery: true, RollEvents: 1, Claims: rapid.Bool().Draw(rt, "claims"),
			Policy: jobtype.Policy{GlobalExecutionConcurrency: 20, PerWorkerExecutionConcurrency: 20, MaxJobsPerDetection: rapid.IntRange(1, 30).Draw(rt, "max")}.WithDefaults(),
		}, epoch)}
		s.begin()
		open, running, claiming := detections(s.all), map[int]string{}, false
		for n := 0; s.g.Phase() != PhaseEnded && n < 2000; n++ {
			fair := n > 300
			switch action := rapid.IntRange(0, 9).Draw(rt, "action"); {
			case len(open) > 0 && action < 5:
				attempt := rapid.SampledFrom(slices.Sorted(maps.Keys(open))).Draw(rt, "attempt")
				delete(open, attempt)
				end := DetectionEnded{Attempt: attempt}
				if !fair {
					end.Failure = rapid.SampledFrom([]run.Failure{"", "", FailureAtCapacity, FailureDraining, FailureWorkerLost, FailureNotTaken, FailureUnsupported, FailureFailed, contract.FailureCannotStart, contract.FailureNotInstalled}).Draw(rt, "failure")
				}
				for i := range rapid.IntRange(0, 4).Draw(rt, "found") {
					end.Proposals = append(end.Proposals, jobtype.Proposal{DedupeKey: fmt.Sprint(i % 3)})
				}
				if end.Emitted = len(end.Proposals); end.Emitted > 0 && rapid.Bool().Draw(rt, "page") && s.g.CheckPage(Page{Attempt: attempt}) == nil {
					page := Page{Attempt: attempt, Proposals: end.Proposals}
					first := s.g.TakePage(s.now, page)
					require.Equal(rt, first, s.g.TakePage(s.now, page), "a page may come twice")
					end.Pages, end.Proposals = 1, nil
				}
				s.step(end)
			case claiming && action < 7:
				claiming = false
				s.step(claimsAnswer(rt, s.g, fair))
			case action == 9 && !fair && rapid.IntRange(0, 30).Draw(rt, "cancel") == 0:
				s.step(source.Canceled{Reason: "enough"})
			case action < 7 && !fair:
				w := &workers[rapid.IntRange(0, len(workers)-1).Draw(rt, "worker")]
				w.State = rapid.SampledFrom([]contract.WorkerState{contract.WorkerOnline, contract.WorkerOnline, contract.WorkerOffline, contract.WorkerDraining}).Draw(rt, "state")
				w.Fresh = rapid.Bool().Draw(rt, "fresh")
				w.Beat++
				s.ran(run.WorkersChanged{Workers: slices.Clone(workers)})
			case len(running) > 0 && action < 9:
				job := slices.Min(slices.Collect(maps.Keys(running)))
				delete(running, job)
				if view, ok := s.g.engine.View(job); ok {
					s.ran(run.Ended{Item: job, Attempt: view.Attempt})
				}
			default:
				s.now = instant.Later(s.now.Add(time.Second), s.g.NextWake())
				s.step(run.Tick{})
			}
			for _, c := range s.last {
				switch c := c.(type) {
				case StartDetection:
					open[c.Attempt] = c.ID
				case ClaimKeys:
					require.False(rt, claiming, "one claim at a time")
					claiming = true
				case StartJob:
					require.Equal(rt, c.Proposal.Node, c.Worker, "it runs where it was found")
					running[c.Item] = c.Worker
				}
			}
			require.LessOrEqual(rt, len(s.g.detect.Open), len(workers))
			data, err := s.g.Snapshot()
			require.NoError(rt, err)
			restored, err := Restore(data, s.now)
			require.NoError(rt, err)
			require.Equal(rt, s.g.Counts(), restored.Counts())
			require.Equal(rt, s.g.detect.Targets, restored.detect.Targets)
			if rapid.IntRange(0, 9).Draw(rt, "restore") == 0 {
				s.g = restored
			}
		}
		c := s.g.Counts()
		require.Equal(rt, PhaseEnded, s.g.Phase())
		if c.Workers > 0 {
			require.Equal(rt, c.Accepted, c.Completed+c.Canceled+c.NotStarted+c.Failed+c.Stale+c.Expired)
			if s.g.Result(s.now).Outcome != contract.OutcomeCanceled {
				require.Equal(rt, c.Detected, c.Accepted+c.Duplicates+c.Surplus+c.Invalid+c.AlreadyActive)
			}
			done := 0
			for id, target := range s.g.detect.Targets {
				require.NotEqual(rt, target.Done, target.Missed, id)
				if target.Done {
					done++
				}
			}
			require.Equal(rt, c.Workers, done+c.MissedWorkers)
		}
	})
}
