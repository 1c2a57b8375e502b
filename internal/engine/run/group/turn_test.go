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

// TestNoWorkerTakesNoTurn: a job type without a worker must not hold its lane. It
// waits for one, and ends as skipped when it would be due again.
func TestNoWorkerTakesNoTurn(t *testing.T) {
	t.Parallel()
	s := open(t, Config{Turn: true, Lane: "default", MaxWait: time.Minute})
	s.begin()
	_, asked := find[TakeTurn](s.all)
	assert.False(t, asked, "nothing could use the turn")
	require.Len(t, decided(s.all, run.Watch), 1)
	wait := s.g.Wait(s.now)
	assert.Equal(t, contract.CodeNoWorker, wait.Code)
	assert.Equal(t, "h", wait.Object)
	assert.Equal(t, s.now.Add(time.Minute), wait.Until)

	s.wait(time.Minute)
	outcome, reason := s.outcome()
	assert.Equal(t, contract.OutcomeSkipped, outcome)
	assert.Equal(t, "NO_WORKER: no online worker has handler h (waited 60 s)", reason)
	_, asked = find[TakeTurn](s.all)
	assert.False(t, asked)
	notes := s.g.engine.Notes()
	require.Len(t, notes, 1)
	assert.Equal(t, contract.CodeNoWorker, notes[0].Code)
}

func TestTheTurnIsTakenWhenAWorkerComes(t *testing.T) {
	t.Parallel()
	s := open(t, Config{Turn: true, Lane: "default", MaxWait: time.Hour})
	s.begin()
	s.wait(20 * time.Second)
	s.ran(run.WorkersChanged{Workers: nodes(node("a", 1))})
	turn, asked := find[TakeTurn](s.last)
	require.True(t, asked)
	assert.Equal(t, 0, turn.Turn)
	assert.Equal(t, contract.CodeLaneBusy, s.g.Wait(s.now).Code)
	s.step(TurnGranted{Fence: 1000, Fences: 10})
	_, detects := find[StartDetection](s.last)
	assert.True(t, detects)
	assert.Equal(t, s.now, s.g.clock.StartedAt)
}

// TestAWorkerThatLeavesGivesTheTurnBack: between the request and the grant the last
// worker may go.
func TestAWorkerThatLeavesGivesTheTurnBack(t *testing.T) {
	t.Parallel()
	s := open(t, Config{Turn: true, Lane: "default", MaxWait: time.Hour}, node("a", 1))
	s.begin()
	s.ran(run.WorkersChanged{})
	s.step(TurnGranted{Fence: 1000, Fences: 10})
	left, gaveBack := find[LeaveTurn](s.last)
	require.True(t, gaveBack)
	assert.Equal(t, 0, left.Turn)
	assert.Equal(t, contract.CodeNoWorker, s.g.Wait(s.now).Code)
	s.ran(run.WorkersChanged{Workers: nodes(node("a", 1))})
	turn, _ := find[TakeTurn](s.last)
	assert.Equal(t, 1, turn.Turn, "a late answer to the first request must not count")
}

// A lane that is busy for longer than an interval does not skip the group: the next tick
// would begin behind all others.
func TestAGroupKeepsItsPlaceInTheLane(t *testing.T) {
	t.Parallel()
	s := open(t, Config{Turn: true, Lane: "l", MaxWait: time.Minute}, node("a", 1))
	s.begin()
	s.wait(24 * time.Hour)
	require.Equal(t, PhaseWaiting, s.g.Phase())
	assert.True(t, s.g.NextWake().IsZero(), "waiting costs nothing")
	_, gaveBack := find[LeaveTurn](s.all)
	assert.False(t, gaveBack)
	s.step(TurnGranted{})
	s.step(Prepared{Workers: s.workers})
	_, detects := find[StartDetection](s.last)
	assert.True(t, detects)
}

func TestAnOldViewIsLookedUpAgain(t *testing.T) {
	t.Parallel()
	s := open(t, Config{Turn: true, Lane: "l", MaxWait: time.Hour}, node("a", 1))
	s.begin()
	s.wait(10 * time.Second)
	s.step(TurnGranted{})
	_, again := find[Prepare](s.last)
	require.True(t, again)
	s.step(Prepared{Workers: s.workers})
	_, detects := find[StartDetection](s.last)
	assert.True(t, detects)
}

func TestTurnRefused(t *testing.T) {
	t.Parallel()
	s := open(t, Config{Turn: true}, node("a", 1))
	s.begin()
	s.step(TurnRefused{Code: contract.HoldRetryBudget, Reason: "job type jt is disabled"})
	outcome, reason := s.outcome()
	assert.Equal(t, contract.OutcomeSkipped, outcome)
	assert.Equal(t, "RETRY_BUDGET: job type jt is disabled", reason)
}

func TestCanceledBeforeItBegins(t *testing.T) {
	t.Parallel()
	s := open(t, Config{Turn: true, Lane: "l", Submitted: true}, node("a", 1))
	s.step(Submitted{Proposals: []jobtype.Proposal{{DedupeKey: "x"}, {}}})
	s.prepared()
	s.step(source.Canceled{Reason: "enough"})
	outcome, reason := s.outcome()
	assert.Equal(t, contract.OutcomeCanceled, outcome)
	assert.Equal(t, "enough", reason)
	assert.Equal(t, contract.GroupCounts{Detected: 2, Accepted: 2, Canceled: 2}, s.g.Counts())
	_, gaveBack := find[LeaveTurn](s.last)
	assert.True(t, gaveBack)
}

func TestSubmittedWaitsForItsFirstJob(t *testing.T) {
	t.Parallel()
	first := epoch.Add(time.Hour)
	s := open(t, Config{Turn: true, Lane: "l", Submitted: true}, node("a", 1))
	s.step(Submitted{Proposals: []jobtype.Proposal{{NotBefore: first}, {NotBefore: first.Add(time.Hour)}}})
	_, prepares := find[Prepare](s.last)
	assert.False(t, prepares)
	assert.Equal(t, first, s.g.NextWake())
	assert.Equal(t, contract.CodeNotBefore, s.g.Wait(s.now).Code)
	s.wait(time.Hour)
	_, prepares = find[Prepare](s.all)
	assert.True(t, prepares)
}

func TestPrepareFails(t *testing.T) {
	t.Parallel()
	s := open(t, Config{})
	s.step(run.Tick{})
	s.step(PrepareFailed{Reason: "no registry"})
	outcome, reason := s.outcome()
	assert.Equal(t, contract.OutcomeFailed, outcome)
	assert.Equal(t, "the workers could not be looked up: no registry", reason)
}

func open60(from, to int) contract.WindowSpan {
	return contract.WindowSpan{From: epoch.Add(time.Duration(from) * time.Minute), To: epoch.Add(time.Duration(to) * time.Minute)}
}

func TestWindowIsWaitedFor(t *testing.T) {
	t.Parallel()
	s := open(t, Config{Windows: true, MaxWait: time.Hour}, node("a", 1))
	s.step(run.Tick{})
	_, asks := find[AskWindows](s.last)
	require.True(t, asks)
	wait := s.g.Wait(s.now)
	assert.Equal(t, contract.CodeStarting, wait.Code)
	assert.Equal(t, "it looks up its maintenance window", wait.Detail)
	s.step(WindowsKnown{Windows: contract.WindowsResult{Open: []contract.WindowSpan{open60(10, 60)}, Closed: "night only"}})
	wait = s.g.Wait(s.now)
	assert.Equal(t, contract.CodeWindowClosed, wait.Code)
	assert.Equal(t, "night only", wait.Detail)
	s.last = s.wait(10 * time.Minute)
	s.prepared()
	_, detects := find[StartDetection](s.all)
	assert.True(t, detects)

	far := open(t, Config{Windows: true, MaxWait: time.Hour}, node("a", 1))
	far.step(run.Tick{})
	far.step(WindowsKnown{Windows: contract.WindowsResult{Open: []contract.WindowSpan{open60(61, 90)}}})
	outcome, reason := far.outcome()
	assert.Equal(t, contract.OutcomeSkipped, outcome)
	assert.Equal(t, "WINDOW_CLOSED_UNTIL 2026-01-02T04:05:05Z", reason)
	notes := far.g.engine.Notes()
	require.Len(t, notes, 1)
	assert.Equal(t, contract.CodeWindowClosed, notes[0].Code)
	assert.Equal(t, "until 2026-01-02T04:05:05Z", notes[0].Detail)
}

// afterDump is a group that needs a success of dump within the last hour.
func afterDump(windows bool) Config {
	return Config{Windows: windows, MaxWait: 24 * time.Hour, After: map[string]contract.AfterRule{"dump": {SucceededWithin: jobtype.Duration(time.Hour)}}}
}

// TestAGroupStartsUntilItsLookupsHaveAnswers: only then it waits for something. A client that releases a waiting group
// waits for that (starter/jobtypes).
func TestAGroupStartsUntilItsLookupsHaveAnswers(t *testing.T) {
	t.Parallel()
	s := open(t, afterDump(true), node("a", 1))
	starts := func(detail string) {
		t.Helper()
		wait := s.g.Wait(s.now)
		assert.Equal(t, contract.CodeStarting, wait.Code)
		assert.Equal(t, "jt", wait.Object)
		assert.Equal(t, s.now, wait.Since)
		assert.Equal(t, detail, wait.Detail)
		assert.Equal(t, PhaseWaiting, s.g.Phase())
	}
	s.step(run.Tick{})
	_, looks := find[LookSuccesses](s.last)
	require.True(t, looks)
	starts("it looks up the last successes of other job types")
	s.step(Succeeded{contract.SucceededSignal{JobType: "other", At: s.now}})
	starts("it looks up the last successes of other job types")
	s.roll() // The lookup is lost, and made again.
	_, looks = find[LookSuccesses](s.last)
	require.True(t, looks)
	starts("it looks up the last successes of other job types")

	s.step(SuccessesKnown{})
	wait := s.g.Wait(s.now)
	assert.Equal(t, contract.CodeAfter, wait.Code)
	assert.Equal(t, epoch.Add(24*time.Hour-10*time.Second), wait.Until)
	s.last = s.wait(time.Minute)
	_, looks = find[LookSuccesses](s.last)
	require.True(t, looks)
	assert.Equal(t, contract.CodeAfter, s.g.Wait(s.now).Code, "a later lookup is a part of the wait")
	s.step(SuccessesKnown{})

	s.step(Succeeded{contract.SucceededSignal{JobType: "dump", At: s.now}})
	_, asks := find[AskWindows](s.last)
	require.True(t, asks)
	starts("it looks up its maintenance window")
	s.step(WindowsKnown{Windows: contract.WindowsResult{Open: []contract.WindowSpan{open60(60, 120)}, Closed: "night only"}})
	assert.Equal(t, contract.CodeWindowClosed, s.g.Wait(s.now).Code)
	s.last = s.wait(time.Hour)
	s.prepared()
	_, detects := find[StartDetection](s.all)
	assert.True(t, detects)
}

func TestAKnownSuccessEndsTheStart(t *testing.T) {
	t.Parallel()
	s := open(t, afterDump(false), node("a", 1))
	s.step(run.Tick{})
	s.step(SuccessesKnown{Last: map[string]time.Time{"dump": epoch.Add(-time.Hour)}})
	assert.Empty(t, s.g.Wait(s.now).Code)
	s.prepared()
	_, detects := find[StartDetection](s.all)
	assert.True(t, detects)
}

// TestAReleaseDuringALookup: its answer comes late, and changes nothing.
func TestAReleaseDuringALookup(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]source.Event{
		"successes": SuccessesKnown{},
		"windows":   WindowsKnown{Windows: contract.WindowsResult{Open: []contract.WindowSpan{open60(600, 660)}, Closed: "night only"}},
	} {
		cfg := afterDump(true)
		if name == "windows" {
			cfg.After = nil
		}
		s := open(t, cfg, node("a", 1))
		s.step(run.Tick{})
		require.Equal(t, contract.CodeStarting, s.g.Wait(s.now).Code, name)
		s.step(Released{})
		s.prepared()
		s.step(late)
		assert.Empty(t, s.g.Wait(s.now).Code, name)
		_, detects := find[StartDetection](s.all)
		assert.True(t, detects, name)
	}
}

func TestBrokenCalendarKeepsTheWindowClosed(t *testing.T) {
	t.Parallel()
	s := open(t, Config{Windows: true})
	s.step(run.Tick{})
	s.step(WindowsFailed{Reason: "unknown time zone"})
	outcome, reason := s.outcome()
	assert.Equal(t, contract.OutcomeSkipped, outcome)
	assert.Equal(t, "WINDOW_CLOSED_UNTIL: unknown time zone", reason)
}

// TestAGroupThatWaitsDisclaimsItsTurn: it is requested within a workflow task, which may
// be lost. Once is enough.
func TestAGroupThatWaitsDisclaimsItsTurn(t *testing.T) {
	t.Parallel()
	s := open(t, Config{Turn: true, Lane: "default", MaxWait: time.Hour})
	s.begin()
	left, gaveBack := find[LeaveTurn](s.last)
	require.True(t, gaveBack)
	assert.Equal(t, LeaveTurn{Turn: 0, Unasked: true}, left)
	s.wait(time.Minute)
	_, gaveBack = find[LeaveTurn](s.last)
	assert.False(t, gaveBack)

	served := open(t, Config{Turn: true, Lane: "default", MaxWait: time.Hour}, node("a", 1))
	served.begin()
	_, gaveBack = find[LeaveTurn](served.all)
	assert.False(t, gaveBack)
}

// TestADetectionNeedsNoTimer that ends before max_runtime does.
func TestADetectionNeedsNoTimer(t *testing.T) {
	t.Parallel()
	minute := jobtype.Duration(time.Minute)
	for name, c := range map[string]struct {
		runtime jobtype.Duration
		want    bool
	}{"early": {2 * minute, false}, "late": {minute + jobtype.Duration(time.Second), true}, "both": {minute, true}} {
		s := open(t, Config{Policy: jobtype.Policy{MaxRuntime: c.runtime, DetectionTimeout: minute}}, node("a", 1))
		s.begin()
		detection, detects := find[StartDetection](s.all)
		require.True(t, detects)
		assert.Equal(t, time.Minute, detection.Timeout)
		assert.Equal(t, c.want, !s.g.NextWake().IsZero(), name)
		s.step(DetectionEnded{Attempt: 1, Failure: contract.FailureAtCapacity})
		assert.False(t, s.g.NextWake().IsZero(), "it is detected again, and max_runtime continues")
	}
}
