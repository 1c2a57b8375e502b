package group

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/source"
	"github.com/roundsman/roundsman/jobtype"
)

// detections lists where these commands detect, by attempt.
func detections(commands []source.Command) map[int]string {
	found := map[int]string{}
	for _, c := range commands {
		if start, ok := c.(StartDetection); ok {
			found[start.Attempt] = start.ID
		}
	}
	return found
}

func everywhere(t *testing.T, policy jobtype.Policy, workers ...contract.WorkerView) *script {
	t.Helper()
	s := open(t, Config{DetectEvery: true, Policy: policy}, workers...)
	s.begin()
	return s
}

func (s *script) missed() map[string]contract.Code {
	codes := map[string]contract.Code{}
	for _, m := range s.g.missedWorkers(1000) {
		codes[m.Worker] = m.Code
	}
	return codes
}

func TestDetectionOnEveryWorker(t *testing.T) {
	t.Parallel()
	s := everywhere(t, jobtype.Policy{GlobalExecutionConcurrency: 9, PerWorkerExecutionConcurrency: 9}, node("a", 2), node("b", 2), offline("c"), node("d", 2))
	require.Equal(t, map[int]string{1: "a", 2: "b", 3: "d"}, detections(s.last))
	s.step(DetectionEnded{Attempt: 1, Explanations: []string{"two of three"}, Emitted: 2, Proposals: []jobtype.Proposal{{DedupeKey: "x"}, {DedupeKey: "y", Node: "d"}}})
	require.Empty(t, started(s.last), "the others detect")
	assert.Equal(t, map[string]contract.Code{"c": contract.CodeUnreachable}, s.missed())
	status := s.g.Status(s.now)
	assert.Equal(t, []int{4, 2}, []int{status.Targets, status.Detecting})

	s.ran(run.WorkersChanged{Workers: []contract.WorkerView{node("a", 2), node("b", 2), offline("c"), node("d", 2), node("e", 2)}})
	require.Equal(t, map[int]string{4: "e"}, detections(s.last), "it joined meanwhile")
	page := Page{Attempt: 3, Proposals: []jobtype.Proposal{{DedupeKey: "half"}}}
	require.NoError(t, s.g.CheckPage(page))
	s.g.TakePage(s.now, page)
	s.step(DetectionEnded{Attempt: 3, Failure: contract.FailurePermanent, Message: "no disk"})
	s.roll()
	s.step(DetectionEnded{Attempt: 4, Emitted: 1, Proposals: []jobtype.Proposal{{DedupeKey: "x"}}})
	s.step(DetectionEnded{Attempt: 2})
	assert.Equal(t, []string{"1@a", "2@d", "3@e"}, started(s.last), "each where it was found, but for the one that names its node")
	jobs := s.jobs()
	assert.Equal(t, []string{"a/x", "y", "e/x"}, []string{jobs[0].DedupeKey, jobs[1].DedupeKey, jobs[2].DedupeKey})
	for job := range 3 {
		s.end(job+1, FailureNone)
	}
	result := s.g.Result(s.now)
	assert.Equal(t, contract.OutcomePartial, result.Outcome)
	assert.Equal(t, "2 of 5 workers missed: c: WORKER_UNREACHABLE: it is OFFLINE, and 1 more", result.Reason)
	assert.Equal(t, contract.GroupCounts{Detected: 3, Accepted: 3, Completed: 3, Workers: 5, MissedWorkers: 2}, result.Counts)
	assert.Equal(t, []contract.MissedWorker{
		{Worker: "c", Code: contract.CodeUnreachable, Detail: "it is OFFLINE"}, {Worker: "d", Code: contract.CodeDetectionFailed, Detail: "no disk", Attempts: 1},
	}, result.Missed)
	assert.Empty(t, result.Detector, "none is the one to ask again")
	assert.Equal(t, []string{"a: two of three"}, result.Explanations, "each with its worker, over a continue-as-new")
}

func TestLostDetectionIsRepeatedOnItsWorker(t *testing.T) {
	t.Parallel()
	s := everywhere(t, jobtype.Policy{}, node("a", 1), node("b", 1))
	s.step(DetectionEnded{Attempt: 2})
	attempt := 1
	for range 2 {
		s.step(DetectionEnded{Attempt: attempt, Failure: FailureWorkerLost, Message: "no beat"})
		require.Empty(t, detections(s.last), "it is suspect")
		s.ran(run.WorkerProbed{ID: "a", Instance: node("a", 1).Instance, Alive: true})
		again := detections(s.last)
		require.Equal(t, []string{"a"}, slices.Collect(maps.Values(again)))
		attempt = slices.Collect(maps.Keys(again))[0]
	}
	s.step(DetectionEnded{Attempt: attempt, Failure: FailureWorkerLost, Message: "no beat"})
	assert.Equal(t, PhaseEnded, s.g.Phase())
	assert.Equal(t, []contract.MissedWorker{{Worker: "a", Code: contract.CodeWorkerLost, Detail: "no beat", Attempts: 3}}, s.g.Result(s.now).Missed)
}

// A worker that is alive and takes no detection is busy, not lost: the group waits for it until
// detection_timeout has passed since the last detection of another.
func TestADetectionThatWasNotTakenIsRepeatedOnItsWorker(t *testing.T) {
	t.Parallel()
	s := everywhere(t, jobtype.Policy{DetectionTimeout: seconds(600)}, node("a", 1), node("b", 1))
	s.step(DetectionEnded{Attempt: 2})
	for n := range 5 {
		s.step(DetectionEnded{Attempt: s.g.detect.Open[0].Attempt, Failure: FailureNotTaken, Message: "not in time"})
		s.ran(run.WorkerProbed{ID: "a", Instance: node("a", 1).Instance, Alive: true})
		require.False(t, s.g.detect.running(), "it has a pause")
		s.wait(detectPauseMost)
		require.True(t, s.g.detect.running(), n)
	}
	s.step(DetectionEnded{Attempt: s.g.detect.Open[0].Attempt})
	assert.Equal(t, contract.OutcomeCompleted, s.g.Result(s.now).Outcome)
}

// A worker without a free detect slot is tried again, and delays the others for at most detection_timeout.
func TestBusyWorkerDoesNotHoldUpTheOthers(t *testing.T) {
	t.Parallel()
	s := everywhere(t, jobtype.Policy{DetectionTimeout: seconds(20)}, node("a", 1), node("b", 1))
	s.step(DetectionEnded{Attempt: 2, Emitted: 1, Proposals: []jobtype.Proposal{{DedupeKey: "x"}}})
	begun := s.now
	s.step(DetectionEnded{Attempt: 1, Failure: FailureAtCapacity})
	for s.g.Phase() == PhaseDetecting {
		if wait := s.g.Wait(s.now); !s.g.detect.running() {
			require.Equal(t, contract.CodeSlots, wait.Code)
			require.Equal(t, "a", wait.Object)
		}
		s.now = s.g.NextWake()
		s.step(run.Tick{})
		for attempt := range detections(s.last) {
			s.step(DetectionEnded{Attempt: attempt, Failure: FailureAtCapacity})
		}
	}
	assert.Equal(t, seconds(20).Std(), s.now.Sub(begun))
	assert.Equal(t, []string{"1@b"}, started(s.last))
	s.end(1, FailureNone)
	result := s.g.Result(s.now)
	assert.Equal(t, contract.OutcomePartial, result.Outcome)
	assert.Equal(t, contract.CodeSlots, result.Missed[0].Code)
	assert.Equal(t, 4, result.Missed[0].Attempts, "after 2, 4 and 8 seconds")
}

func TestEveryWorkerIsMissed(t *testing.T) {
	t.Parallel()
	s := everywhere(t, jobtype.Policy{}, node("a", 1), node("b", 1))
	s.step(DetectionEnded{Attempt: 1, Failure: contract.FailurePermanent, Message: "no"})
	s.step(DetectionEnded{Attempt: 2, Failure: FailureUnsupported, Message: "no such handler"})
	result := s.g.Result(s.now)
	assert.Equal(t, contract.OutcomeFailed, result.Outcome)
	assert.Equal(t, "2 of 2 workers missed: a: DETECTION_FAILED: no, and 1 more", result.Reason)
}

func TestDetectionOnEveryWorkerNeedsOne(t *testing.T) {
	t.Parallel()
	s := everywhere(t, jobtype.Policy{}, offline("a"))
	assert.Equal(t, contract.CodeNoWorker, s.g.Wait(s.now).Code)
	s.wait(2 * time.Hour)
	assert.Equal(t, contract.OutcomeSkipped, s.g.Result(s.now).Outcome)

	s = open(t, Config{DetectEvery: true}, node("a", 1))
	s.step(run.Tick{})
	s.step(Prepared{Workers: s.workers, Incomplete: true})
	assert.Empty(t, detections(s.last), "a registry that was just rebuilt may lack workers")
	assert.Equal(t, contract.CodeFleetRecovering, s.g.Wait(s.now).Code)
	s.ran(run.WorkersChanged{Workers: s.workers})
	assert.NotEmpty(t, detections(s.all))
}

func TestLabelsChooseTheWorkers(t *testing.T) {
	t.Parallel()
	a, b := node("a", 1), node("b", 1)
	b.Labels = map[string]string{"role": "storage"}
	for _, cfg := range []Config{{DetectEvery: true}, {EachWorker: true}} {
		cfg.Labels = map[string]string{"role": "storage"}
		s := open(t, cfg, a, b)
		s.begin()
		if cfg.DetectEvery {
			assert.Equal(t, map[int]string{1: "b"}, detections(s.last))
		} else {
			assert.Equal(t, []string{"1@b"}, started(s.last))
		}
	}
}

func TestOneJobForEachWorker(t *testing.T) {
	t.Parallel()
	drained := node("c", 1)
	drained.State = contract.WorkerDraining
	s := open(t, Config{EachWorker: true, Policy: jobtype.Policy{GlobalExecutionConcurrency: 5}}, node("a", 1), node("b", 1), drained)
	s.begin()
	require.Equal(t, []string{"1@a", "2@b"}, started(s.last))
	assert.Equal(t, "b", s.jobs()[1].DedupeKey)
	s.end(1, FailureNone)
	s.roll()
	s.end(2, FailureNone)
	result := s.g.Result(s.now)
	assert.Equal(t, contract.OutcomePartial, result.Outcome)
	assert.Equal(t, []contract.MissedWorker{{Worker: "c", Code: contract.CodeCordoned, Detail: "it is DRAINING"}}, result.Missed)
	assert.Equal(t, contract.GroupCounts{Detected: 2, Accepted: 2, Completed: 2, Workers: 3, MissedWorkers: 1}, result.Counts)
}

// A DAG for each worker runs its tasks there.
func TestDAGOnEachWorker(t *testing.T) {
	t.Parallel()
	s := open(t, Config{EachWorker: true, DAG: "rounds", Policy: jobtype.Policy{GlobalExecutionConcurrency: 5}}, node("a", 1), node("b", 1))
	s.begin()
	require.Equal(t, []string{"1@", "2@"}, started(s.last))
	var nodes []string
	for _, c := range s.last {
		if start, ok := c.(StartJob); ok {
			nodes = append(nodes, start.Proposal.Node)
		}
	}
	assert.Equal(t, []string{"a", "b"}, nodes)
}

func fleetOf(n int) []contract.WorkerView {
	workers := make([]contract.WorkerView, n)
	for i := range workers {
		workers[i] = node(fmt.Sprintf("w%04d", i), 1)
	}
	return workers
}

func TestThousandWorkersDetect(t *testing.T) {
	t.Parallel()
	s := everywhere(t, jobtype.Policy{MaxJobsPerDetection: 5000, GlobalExecutionConcurrency: 1}, fleetOf(1000)...)
	open, largest := detections(s.last), 0
	for s.g.Phase() == PhaseDetecting {
		require.NotEmpty(t, open)
		require.LessOrEqual(t, len(open), maxDetections)
		attempt := slices.Min(slices.Collect(maps.Keys(open)))
		delete(open, attempt)
		s.step(DetectionEnded{Attempt: attempt, Emitted: 1, Proposals: []jobtype.Proposal{{DedupeKey: "x"}}})
		maps.Copy(open, detections(s.last))
		if attempt%100 == 0 {
			data, err := s.g.Snapshot()
			require.NoError(t, err)
			largest = max(largest, len(data))
		}
	}
	assert.Equal(t, 1000, s.g.Counts().Accepted)
	assert.Equal(t, 1000, s.g.Counts().Workers)
	assert.Less(t, largest, 128<<10)
}

// The server takes 2,000 Updates from one workflow run: after many pages the group
// continues as new between two detections.
func TestManyPagesContinueAsNew(t *testing.T) {
	t.Parallel()
	s := everywhere(t, jobtype.Policy{MaxJobsPerDetection: 5000}, fleetOf(60)...)
	for seq := range maxRunPages {
		require.NoError(t, s.g.CheckPage(Page{Attempt: 1, Seq: seq}))
		s.g.TakePage(s.now, Page{Attempt: 1, Seq: seq, Proposals: []jobtype.Proposal{{DedupeKey: fmt.Sprint(seq)}}})
	}
	s.step(DetectionEnded{Attempt: 1, Pages: maxRunPages, Emitted: maxRunPages})
	require.Empty(t, detections(s.last))
	for attempt := 2; attempt <= 50; attempt++ {
		require.False(t, s.g.ShouldContinueAsNew())
		s.step(DetectionEnded{Attempt: attempt})
	}
	require.True(t, s.g.ShouldContinueAsNew())
	require.Equal(t, PhaseDetecting, s.g.Phase())
	s.roll()
	assert.Len(t, detections(s.last), 10, "the rest")
}

// TestAFailedDetectionIsTriedAgain: a database restarts at the tick. The pauses are 5 s and 10 s,
// each attempt has its own time-out, and the last error ends the group.
func TestAFailedDetectionIsTriedAgain(t *testing.T) {
	t.Parallel()
	refuses := func(s *script, attempt int) {
		s.step(DetectionEnded{Attempt: attempt, Failure: FailureFailed, Message: "connection refused"})
	}
	failed := func(s *script) string {
		outcome, why := s.outcome()
		assert.Equal(t, OutcomeFailed, outcome)
		return why
	}
	one := func(retries int) *script {
		s := open(t, Config{}, node("a", 2))
		s.g.cfg.Policy.DetectionRetries = retries
		s.begin()
		require.Len(t, detections(s.last), 1)
		refuses(s, 1)
		return s
	}
	s := one(2)
	wait := s.g.Wait(s.now)
	assert.Equal(t, contract.CodeBackoff, wait.Code)
	assert.Equal(t, s.now.Add(5*time.Second), wait.Until)
	assert.Contains(t, wait.Detail, "attempt 1 of 3 failed")
	assert.Contains(t, wait.Detail, "connection refused")
	assert.Equal(t, wait.Until, s.g.NextWake())
	s.last = s.wait(5 * time.Second)
	require.Equal(t, map[int]string{2: "a"}, detections(s.last))
	refuses(s, 2)
	s.last = s.wait(10 * time.Second)
	require.Equal(t, map[int]string{3: "a"}, detections(s.last))
	last, ok := s.last[len(s.last)-1].(StartDetection)
	require.True(t, ok)
	assert.Equal(t, 45*time.Second, last.Timeout)
	refuses(s, 3)
	assert.Equal(t, "detection on a: connection refused (attempt 3, the last)", failed(s))

	assert.Equal(t, "detection on a: connection refused", failed(one(0)))
	late := one(2)
	late.wait(5 * time.Second)
	late.step(DetectionEnded{Attempt: 2, Failure: contract.FailurePermanent, Message: "no such table"})
	assert.Equal(t, "detection on a: no such table (attempt 2, the last)", failed(late), "a permanent error is final")
}

// TestAFailedDetectionOnOneOfSeveralIsTriedAgain: the others have detected meanwhile.
func TestAFailedDetectionOnOneOfSeveralIsTriedAgain(t *testing.T) {
	t.Parallel()
	s := everywhere(t, jobtype.Policy{DetectionTimeout: jobtype.Duration(time.Second)}, node("a", 2), node("b", 2))
	s.step(DetectionEnded{Attempt: 1, Failure: FailureFailed, Message: "connection refused"})
	s.step(DetectionEnded{Attempt: 2, Emitted: 1, Proposals: []jobtype.Proposal{{DedupeKey: "x"}}})
	assert.Equal(t, map[string]contract.Code{"a": contract.CodeDetectionFailed}, s.missed())
	s.last = s.wait(5 * time.Second)
	require.Equal(t, map[int]string{3: "a"}, detections(s.last))
	s.step(DetectionEnded{Attempt: 3, Emitted: 1, Proposals: []jobtype.Proposal{{DedupeKey: "x"}}})
	assert.Empty(t, s.missed())
	assert.Zero(t, s.g.Counts().MissedWorkers)
}
