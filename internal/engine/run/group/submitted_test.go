package group

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/group/chunks"
	"github.com/roundsman/roundsman/internal/engine/run/group/proposed"
	"github.com/roundsman/roundsman/internal/engine/run/source"
	"github.com/roundsman/roundsman/internal/lib/pack"
	"github.com/roundsman/roundsman/jobtype"
)

// submitted plays a submitted group up to its claims.
func submitted(t *testing.T, cfg Config, found ...jobtype.Proposal) *script {
	t.Helper()
	cfg.Submitted = true
	s := open(t, cfg, node("a", 4))
	s.step(Submitted{Proposals: found})
	s.prepared()
	return s
}

func three(claims bool) Config {
	return Config{Policy: wide(jobtype.Policy{MaxJobsPerDetection: 3}), Claims: claims}
}

func TestSubmittedJobsNeedNoDetection(t *testing.T) {
	t.Parallel()
	s := submitted(t, three(false), jobtype.Proposal{Priority: jobtype.PriorityLow}, jobtype.Proposal{DedupeKey: "k"}, jobtype.Proposal{DedupeKey: "k"})
	assert.Equal(t, []string{"2@a", "1@a"}, started(s.last))
	_, detects := find[StartDetection](s.all)
	assert.False(t, detects)
	s.end(1, FailureNone)
	s.end(2, FailureNone)
	outcome, _ := s.outcome()
	assert.Equal(t, OutcomeCompleted, outcome)
	assert.Equal(t, contract.GroupCounts{Detected: 3, Accepted: 2, Duplicates: 1, Completed: 2}, s.g.Counts())
}

func TestSubmittedJobThatIsActiveElsewhereIsSkipped(t *testing.T) {
	t.Parallel()
	s := submitted(t, three(true), jobtype.Proposal{DedupeKey: "k"})
	require.Equal(t, []source.Command{ClaimKeys{}}, s.last)
	s.step(KeysClaimed{Active: []Active{{Job: 1, Key: "k", By: "group/other"}}, Fence: 1, Fences: 1})
	outcome, reason := s.outcome()
	assert.Equal(t, OutcomeSkipped, outcome)
	assert.Equal(t, `DEDUPED: "k" is active in group/other`, reason)
}

func TestSubmissionIsPartialWhereSomeAreTaken(t *testing.T) {
	t.Parallel()
	s := submitted(t, three(true), items("k", "l", "m", "n")...)
	s.step(KeysClaimed{Active: []Active{{Job: 2, Key: "l", By: "group/other"}}, Fence: 1, Fences: 100})
	s.end(1, FailureNone)
	s.end(2, FailureNone)
	outcome, reason := s.outcome()
	assert.Equal(t, OutcomePartial, outcome)
	assert.Equal(t, "1 already active, 1 over the limit", reason)
}

// TestSubmissionWithoutWorkers ends without having taken its lane's turn.
func TestSubmissionWithoutWorkers(t *testing.T) {
	t.Parallel()
	s := open(t, Config{Submitted: true, Turn: true, Lane: "l"})
	s.step(Submitted{Proposals: []jobtype.Proposal{{}}})
	s.prepared()
	s.wait(40 * time.Minute)
	outcome, reason := s.outcome()
	assert.Equal(t, OutcomeSkipped, outcome)
	assert.Equal(t, "NO_WORKER: no online worker has handler h (waited 30 min)", reason)
	assert.Equal(t, contract.GroupCounts{Detected: 1, Accepted: 1, NotStarted: 1}, s.g.Counts())
	_, asked := find[TakeTurn](s.all)
	assert.False(t, asked)
}

func TestSubmissionIsCanceledBeforeItsKeysAreClaimed(t *testing.T) {
	t.Parallel()
	s := submitted(t, three(true), jobtype.Proposal{DedupeKey: "k"})
	s.step(source.Canceled{})
	outcome, _ := s.outcome()
	assert.Equal(t, OutcomeCanceled, outcome)
	assert.Equal(t, contract.GroupCounts{Detected: 1, Accepted: 1, Canceled: 1}, s.g.Counts())
}

func TestAJobOfARunThatWaitsForItsLaneEndsAtOnce(t *testing.T) {
	t.Parallel()
	for name, request := range map[string]func(job int) source.Event{
		"cancel": func(job int) source.Event { return source.CancelItem{Item: job, Reason: "not this one"} },
		"expire": func(job int) source.Event { return source.CancelItem{Force: true, Item: job, Reason: "not this one"} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, Config{Policy: wide(jobtype.Policy{}), Submitted: true, Turn: true, Lane: "l"}, node("a", 4))
			s.step(Submitted{Proposals: []jobtype.Proposal{{DedupeKey: "x"}, {DedupeKey: "y"}}})
			s.prepared()
			require.Equal(t, PhaseWaiting, s.g.Phase())
			s.step(request(1))
			state, counts := contract.JobCanceled, contract.GroupCounts{Detected: 2, Accepted: 2, Canceled: 2}
			if name == "expire" {
				state, counts = contract.JobExpired, contract.GroupCounts{Detected: 2, Accepted: 2, Expired: 2}
			}
			listed, err := s.g.Jobs(contract.JobsQueryInput{States: []string{state}}, s.now)
			require.NoError(t, err)
			require.Len(t, listed.Jobs, 1)
			assert.Equal(t, "not this one", listed.Jobs[0].Error)
			require.Equal(t, PhaseWaiting, s.g.Phase())
			s.step(request(2))
			outcome, _ := s.outcome()
			assert.Equal(t, OutcomeCanceled, outcome)
			assert.Equal(t, counts, s.g.Counts())
			assert.Equal(t, "not this one", jobAt(s.g, 2).Error)
		})
	}
}

func TestARequestWhileKeysAreClaimedIsKept(t *testing.T) {
	t.Parallel()
	for name, request := range map[string]source.Event{
		"cancel": source.CancelItem{Key: "y", Reason: "not this one"},
		"expire": source.CancelItem{Force: true, Key: "y", Reason: "not this one"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := batchOf(10, true, items("x", "y", "z"), []string{"k", "k", "k"})
			require.Equal(t, PhaseClaiming, g.Phase())
			g.Next(epoch, request)
			data, err := g.Snapshot()
			require.NoError(t, err)
			g, err = Restore(data, epoch)
			require.NoError(t, err)
			g.Next(epoch, KeysClaimed{Fence: 1, Fences: 10})
			assert.Equal(t, []string{"x", "z"}, jobAt(g, 1).Keys(), "the one that is ended is in no batch")
			assert.Equal(t, name == "expire", jobAt(g, 2).State == StateExpired)
			assert.Equal(t, name == "cancel", jobAt(g, 2).State == StateCanceled)
			assert.Equal(t, "not this one", jobAt(g, 2).Error)
		})
	}
}

func tomorrow() time.Time { return epoch.Add(24 * time.Hour) }

// submittedUntil plays a submitted group whose window closes after a while.
func submittedUntil(t *testing.T, policy jobtype.Policy, window Window, list ...jobtype.Proposal) *script {
	t.Helper()
	if policy.MaxRuntime == 0 {
		policy.MaxRuntime = jobtype.Duration(5 * time.Hour)
	}
	s := open(t, Config{Policy: policy, Claims: true, Submitted: true, Windows: true, Turn: true, Lane: "l"}, node("a", 4))
	s.step(Submitted{Proposals: list})
	s.step(known(s.now, window))
	s.prepared()
	s.step(TurnGranted{Fence: 1, Fences: 1000})
	s.claimed(1000)
	return s
}

// claimed grants the claims of the last step, if any.
func (s *script) claimed(fence int64) {
	if _, asked := find[ClaimKeys](s.last); asked {
		s.step(KeysClaimed{Fence: fence, Fences: 1000})
	}
}

// comeBack opens the next window, until that long after.
func (s *script) comeBack(d time.Duration) {
	s.t.Helper()
	s.now = s.g.window.Last.Open[len(s.g.window.Last.Open)-1].From
	s.step(run.Tick{})
	_, asks := find[AskWindows](s.last)
	require.True(s.t, asks, "what was known is from yesterday")
	s.step(known(s.now, Window{Closes: s.now.Add(d), Next: s.now.Add(24 * time.Hour), Longest: 8 * time.Hour}))
	s.prepared()
	turn, asked := find[TakeTurn](s.last)
	require.True(s.t, asked)
	require.Positive(s.t, turn.Turn)
	s.step(TurnGranted{Fence: 1 << 30, Fences: 1000})
	s.claimed(1 << 31)
}

func TestASubmittedGroupComesBack(t *testing.T) {
	t.Parallel()
	s := submittedUntil(t, jobtype.Policy{MaxRuntime: jobtype.Duration(2 * time.Hour)}, closing(time.Hour),
		jobtype.Proposal{DedupeKey: "k"}, jobtype.Proposal{DedupeKey: "l"}, takes(9*time.Hour))
	require.Equal(t, []string{"1@a"}, started(s.all))
	s.wait(time.Hour)
	assert.Equal(t, PhaseRunning, s.g.Phase(), "what runs drains")
	wait := s.job(2).Wait
	require.NotNil(t, wait)
	assert.Equal(t, WaitWindow, wait.Code)
	assert.Equal(t, []time.Time{epoch.Add(time.Hour), tomorrow()}, []time.Time{wait.Since, wait.Until})
	assert.Equal(t, 1, s.g.Counts().NotStarted, "no window is long enough for the third")
	assert.Contains(t, s.job(3).Error, "it never fits")

	s.now = s.now.Add(10 * time.Minute)
	s.end(1, FailureNone)
	left, gone := find[LeaveTurn](s.last)
	require.True(t, gone)
	assert.Equal(t, 0, left.Turn)
	_, unwatched := find[Unwatch](s.last)
	assert.True(t, unwatched)
	assert.Equal(t, PhaseWaiting, s.g.Phase())
	assert.Equal(t, tomorrow(), s.g.Status(s.now).Wait.Until)
	assert.True(t, s.g.Status(s.now).Deadline.IsZero(), "its time does not run")
	s.roll()

	s.comeBack(time.Hour)
	assert.Equal(t, s.now.Add(2*time.Hour), s.g.clock.Deadline, "max_runtime counts again")
	require.Equal(t, []string{"2@a"}, started(s.last))
	assert.EqualValues(t, 1<<31, startOf(s.last, 2).Fence)
	s.end(2, FailureNone)
	outcome, _ := s.outcome()
	assert.Equal(t, OutcomePartial, outcome)
	assert.Equal(t, contract.GroupCounts{Detected: 3, Accepted: 3, Completed: 2, NotStarted: 1}, s.g.Counts())
}

func TestADetectedGroupDoesNotComeBack(t *testing.T) {
	t.Parallel()
	s := playUntil(t, jobtype.Policy{}, closing(time.Hour), nil, jobtype.Proposal{}, jobtype.Proposal{})
	s.wait(time.Hour)
	s.end(1, FailureNone)
	outcome, _ := s.outcome()
	assert.Equal(t, OutcomePartial, outcome, "the next tick detects it again")
}

func TestNothingFitsToday(t *testing.T) {
	t.Parallel()
	s := submittedUntil(t, jobtype.Policy{}, closing(time.Hour), takes(2*time.Hour))
	_, gone := find[LeaveTurn](s.all)
	require.True(t, gone, "it does not hold the lane until the closing")
	s.comeBack(3 * time.Hour)
	assert.Equal(t, []string{"1@a"}, started(s.last))
}

func TestAStoppedJobComesBackWithItsCheckpoint(t *testing.T) {
	t.Parallel()
	s := submittedUntil(t, jobtype.Policy{OnWindowEnd: jobtype.WindowEndCheckpoint}, closing(time.Hour), jobtype.Proposal{DedupeKey: "k"})
	s.wait(time.Hour)
	s.endWith(1, run.Ending{Failure: FailureCanceled, Checkpoint: json.RawMessage(`7`)})
	require.Equal(t, PhaseWaiting, s.g.Phase())
	s.comeBack(time.Hour)
	require.Equal(t, []string{"1@a"}, started(s.last))
	assert.JSONEq(t, `7`, string(startOf(s.last, 1).Checkpoint))
	assert.Equal(t, 2, startOf(s.last, 1).Attempt)
}

// TestAJobIsNotStoppedForNothingForEver: a job that never gets anywhere would do the
// same work again every night.
func TestAJobIsNotStoppedForNothingForEver(t *testing.T) {
	t.Parallel()
	s := submittedUntil(t, jobtype.Policy{OnWindowEnd: jobtype.WindowEndCheckpoint}, closing(time.Hour), jobtype.Proposal{})
	for range 2 {
		s.now = s.g.closes()
		s.step(run.Tick{})
		s.end(1, FailureCanceled)
		require.Equal(t, PhaseWaiting, s.g.Phase())
		s.comeBack(time.Hour)
		require.Equal(t, []string{"1@a"}, started(s.last))
	}
	s.now = s.g.closes()
	s.step(run.Tick{})
	s.end(1, FailureCanceled)
	outcome, _ := s.outcome()
	assert.Equal(t, OutcomeTimeout, outcome)
	assert.Contains(t, s.job(1).Error, "stopped so 3 times without a new checkpoint")
}

func TestOperatorsCountWhileTheWindowStopsAJob(t *testing.T) {
	t.Parallel()
	s := submittedUntil(t, jobtype.Policy{OnWindowEnd: jobtype.WindowEndCheckpoint}, closing(time.Hour), jobtype.Proposal{})
	s.wait(time.Hour)
	s.step(source.CancelItem{Item: 1, Reason: "done by hand"})
	s.end(1, FailureCanceled)
	assert.Equal(t, 1, s.g.Counts().Canceled, "it must not come back")
	assert.Equal(t, "done by hand", s.job(1).Error)
	s.outcome()
}

// TestSubmittedPagesComeBack: jobs of pages do not expire, and wait for the next window.
func TestSubmittedPagesComeBack(t *testing.T) {
	t.Parallel()
	s := open(t, Config{Policy: wide(jobtype.Policy{MaxRuntime: jobtype.Duration(5 * time.Hour)}), Submitted: true, Windows: true, Turn: true, Lane: "l", Window: 2}, node("a", 1))
	s.step(Submitted{Proposals: []jobtype.Proposal{{ExpiresAt: epoch.Add(time.Minute)}}, Pages: []contract.ProposalPage{*pageOf("p", 3, contract.JobClass{})}, Duplicates: 2})
	assert.Equal(t, contract.GroupCounts{Detected: 6, Accepted: 4, Duplicates: 2}, s.g.Counts())
	assert.Zero(t, s.g.lastStart(), "jobs of pages do not expire")
	s.step(known(s.now, closing(time.Hour)))
	s.prepared()
	s.step(TurnGranted{Fence: 1, Fences: 1000})
	require.Equal(t, []string{"1@a"}, started(s.all))
	s.wait(time.Hour)
	s.end(1, FailureNone)
	require.Equal(t, PhaseWaiting, s.g.Phase())
	s.comeBack(time.Hour)
	for n := 2; n <= 4; n++ {
		s.end(n, FailureNone)
	}
	outcome, _ := s.outcome()
	assert.Equal(t, OutcomeCompleted, outcome)
	assert.Equal(t, contract.GroupCounts{Detected: 6, Accepted: 4, Duplicates: 2, Completed: 4}, s.g.Counts())
}

// TestSubmittedPagesWithKeysComeBack: the group leaves after the answer to its chunk, with all its keys, and claims them
// again.
func TestSubmittedPagesWithKeysComeBack(t *testing.T) {
	t.Parallel()
	s := open(t, Config{Policy: wide(jobtype.Policy{MaxRuntime: jobtype.Duration(5 * time.Hour)}), Claims: true, Submitted: true, Windows: true, Turn: true, Lane: "l", Window: 2}, node("a", 1))
	s.step(Submitted{Pages: []contract.ProposalPage{*pageOf("p", 5, contract.JobClass{Keyed: true})}})
	s.step(known(s.now, closing(time.Hour)))
	s.prepared()
	only[chunks.ClaimBacklog](t, s.step(TurnGranted{Fence: 1, Fences: 1000}))
	s.grantChunks()
	require.Equal(t, []string{"1@a"}, started(s.all))
	only[chunks.ReadKeys](t, s.end(1, FailureNone))
	s.wait(time.Hour)
	none[LeaveTurn](t, s.end(2, FailureNone))
	s.answered(chunks.KeysRead{Seq: 2, Hashes: []uint64{102}})
	s.answered(chunks.Refused{Seq: 2, Code: contract.RefusedFull, Reason: "it is full"})
	only[chunks.ClaimChunk](t, s.wait(5*time.Second))
	left, _ := find[LeaveTurn](s.answered(chunks.Claimed{Seq: 2, Fence: 1001, Fences: 100}))
	assert.Equal(t, []int{2}, left.Chunks)
	require.Equal(t, PhaseWaiting, s.g.Phase())
	s.roll()
	s.comeBack(time.Hour)
	require.Equal(t, []string{"3@a"}, started(s.last))
	claim, _ := find[ClaimKeys](s.all)
	assert.Equal(t, 1, claim.Turn)
	for n := 3; n <= 5; n++ {
		s.grantChunks()
		s.end(n, FailureNone)
	}
	outcome, _ := s.outcome()
	assert.Equal(t, OutcomeCompleted, outcome)
	assert.Equal(t, contract.GroupCounts{Detected: 5, Accepted: 5, Completed: 5}, s.g.Counts())
}

// grantChunks grants all claims of chunks. The hash of a key is 100 and its position.
func (s *script) grantChunks() {
	for at := 0; at < len(s.last); at++ {
		before := len(s.all)
		switch c := s.last[at].(type) {
		case chunks.ClaimBacklog:
			s.answered(chunks.BacklogClaimed{})
		case chunks.ReadKeys:
			var hashes []uint64
			for _, ref := range c.Refs {
				for i := range ref.Count {
					hashes = append(hashes, uint64(100+ref.Position+i))
				}
			}
			s.answered(chunks.KeysRead{Seq: c.Seq, Hashes: hashes})
		case chunks.ClaimChunk:
			s.answered(chunks.Claimed{Seq: c.Seq, Fence: 1 << 33, Fences: 100})
		}
		if len(s.all) > before {
			at = -1
		}
	}
}

// TestARefusedChunkEndsAGroupThatLeaves: no window brings the claim.
func TestARefusedChunkEndsAGroupThatLeaves(t *testing.T) {
	t.Parallel()
	s := open(t, Config{Policy: wide(jobtype.Policy{MaxRuntime: jobtype.Duration(5 * time.Hour)}), Claims: true, Submitted: true, Windows: true, Window: 5}, node("a", 1))
	s.step(Submitted{Pages: []contract.ProposalPage{*pageOf("p", 5, contract.JobClass{Keyed: true})}})
	s.step(known(s.now, closing(time.Hour)))
	s.prepared()
	s.answered(chunks.KeysRead{Seq: 1, Hashes: []uint64{1, 2, 3, 4, 5}})
	s.wait(time.Hour)
	require.True(t, s.g.halt.Leaving)
	s.answered(chunks.Refused{Seq: 1, Code: contract.CodeInvalid, Reason: "it is not one"})
	s.outcome()
	assert.Equal(t, 5, s.g.Counts().NotStarted)
}

// TestThePagesOfASubmissionAreRefusedByEarlierVersions, instead of dropped.
func TestThePagesOfASubmissionAreRefusedByEarlierVersions(t *testing.T) {
	t.Parallel()
	_, err := Restore(pack.Bytes([]byte(contract.FirstState)), epoch)
	require.ErrorContains(t, err, "the state of the group has version 2, this program reads 1")
}

func TestAWindowThatOpensAgainKeepsTheGroup(t *testing.T) {
	t.Parallel()
	s := submittedUntil(t, jobtype.Policy{}, closing(time.Hour), jobtype.Proposal{}, jobtype.Proposal{})
	s.wait(time.Hour)
	s.step(known(s.now, closing(3*time.Hour)))
	assert.Equal(t, []string{"2@a"}, started(s.end(1, FailureNone)), "it has not left yet")
	assert.Equal(t, epoch.Add(3*time.Hour), s.g.NextWake())
}

// TestEachClosingBindsAGroupThatStays also after an earlier closing has canceled its jobs.
func TestEachClosingBindsAGroupThatStays(t *testing.T) {
	t.Parallel()
	s := submittedUntil(t, wide(jobtype.Policy{DrainGrace: seconds(60)}), closing(time.Hour), jobtype.Proposal{}, jobtype.Proposal{})
	require.Len(t, decided(s.wait(time.Hour+time.Minute), run.Cancel), 2)
	s.step(known(s.now, closing(3*time.Hour)))
	require.Equal(t, []string{"1@a"}, started(s.end(1, FailureCanceled)))
	assert.Len(t, decided(s.wait(2*time.Hour), run.Cancel), 1)
}

// TestAnotherOpeningCountsWhileAGroupLeaves: windows change while its jobs drain.
func TestAnotherOpeningCountsWhileAGroupLeaves(t *testing.T) {
	t.Parallel()
	for _, opens := range []time.Duration{2 * time.Hour, 48 * time.Hour} {
		s := submittedUntil(t, jobtype.Policy{DrainGrace: seconds(3600)}, closing(time.Hour), jobtype.Proposal{}, jobtype.Proposal{})
		s.wait(time.Hour)
		s.now = s.now.Add(time.Minute)
		s.step(known(s.now, Window{Closes: epoch.Add(time.Hour), Next: epoch.Add(opens), Longest: 8 * time.Hour}))
		assert.Equal(t, epoch.Add(opens), s.job(2).Wait.Until)
		assert.Contains(t, s.job(2).Wait.Detail, epoch.Add(opens).Format(time.RFC3339))
		s.end(1, FailureNone)
		require.Equal(t, PhaseWaiting, s.g.Phase())
		assert.Equal(t, epoch.Add(opens), s.g.NextWake())
		s.comeBack(time.Hour)
		assert.Equal(t, []string{"2@a"}, started(s.last))
	}
}

// TestClaimsWithoutAnAnswerAreLeft: without a turn, too. Otherwise the group finds its keys taken by itself.
func TestClaimsWithoutAnAnswerAreLeft(t *testing.T) {
	t.Parallel()
	s := open(t, Config{Policy: jobtype.Policy{MaxRuntime: jobtype.Duration(5 * time.Hour)}, Claims: true, Submitted: true, Windows: true}, node("a", 4))
	s.step(Submitted{Proposals: []jobtype.Proposal{{DedupeKey: "k"}}})
	s.step(known(s.now, closing(time.Hour)))
	s.prepared()
	require.Equal(t, PhaseClaiming, s.g.Phase())
	left, gone := find[LeaveTurn](s.wait(time.Hour))
	require.True(t, gone)
	assert.Zero(t, left.Turn)
	require.Equal(t, PhaseWaiting, s.g.Phase())
	s.now = tomorrow()
	s.step(run.Tick{})
	s.step(known(s.now, Window{Closes: s.now.Add(time.Hour)}))
	s.prepared()
	claims, asked := find[ClaimKeys](s.last)
	require.True(t, asked)
	assert.Equal(t, 1, claims.Turn)
	s.claimed(1000)
	assert.Equal(t, []string{"1@a"}, started(s.last))
}

func TestATypeThatIsDisabledDoesNotComeBack(t *testing.T) {
	t.Parallel()
	s := submittedUntil(t, jobtype.Policy{}, closing(time.Hour), takes(2*time.Hour))
	require.Equal(t, PhaseWaiting, s.g.Phase())
	s.step(TypeStopped{Code: contract.HoldRetryBudget, Reason: "disabled"})
	outcome, reason := s.outcome()
	assert.Equal(t, OutcomeFailed, outcome)
	assert.Equal(t, "RETRY_BUDGET: disabled", reason)
}

func TestNoWindowIsLeftToComeBackTo(t *testing.T) {
	t.Parallel()
	s := submittedUntil(t, jobtype.Policy{}, closing(time.Hour), takes(2*time.Hour))
	s.step(CalendarSet{Windows: true})
	s.step(WindowsKnown{Windows: contract.WindowsResult{}})
	outcome, reason := s.outcome()
	assert.Equal(t, OutcomeTimeout, outcome)
	assert.Contains(t, reason, "no window opens within 400 days")
	assert.Equal(t, 1, s.g.Counts().NotStarted)
}

func TestWithoutCalendarsAnAwayGroupComesBackAtOnce(t *testing.T) {
	t.Parallel()
	s := submittedUntil(t, jobtype.Policy{}, closing(time.Hour), takes(2*time.Hour))
	s.step(CalendarSet{})
	s.prepared()
	s.step(TurnGranted{Fence: 1 << 30, Fences: 10})
	s.claimed(1 << 31)
	assert.Equal(t, []string{"1@a"}, started(s.last))
}

func TestBatchesLoseKeysThatOthersTookMeanwhile(t *testing.T) {
	t.Parallel()
	s := open(t, Config{Claims: true, Submitted: true, Windows: true, Turn: true, BatchSize: 3, Policy: jobtype.Policy{MaxRuntime: jobtype.Duration(5 * time.Hour)}}, node("a", 4))
	long := func(key string) jobtype.Proposal {
		return jobtype.Proposal{DedupeKey: key, EstimatedRuntime: jobtype.Duration(time.Hour)}
	}
	s.step(Submitted{Proposals: []jobtype.Proposal{long("k"), long("l"), long("m")}, BatchKeys: []string{"b", "b", "b"}})
	s.step(known(s.now, closing(time.Hour)))
	s.prepared()
	s.step(TurnGranted{Fence: 1, Fences: 9})
	s.claimed(100)
	require.Equal(t, PhaseWaiting, s.g.Phase(), "three hours do not fit")
	s.now = tomorrow()
	s.step(run.Tick{})
	s.step(known(s.now, Window{Closes: s.now.Add(5 * time.Hour)}))
	s.prepared()
	s.step(TurnGranted{Fence: 1000, Fences: 9})
	s.step(KeysClaimed{
		Active:   []Active{{Job: 1, Key: "l", By: "group/other"}},
		HeldBack: []HeldBack{{Job: 1, Key: "m", Code: "MARKED_DONE", Detail: "done"}}, Fence: 1 << 31, Fences: 9,
	})
	require.Equal(t, []string{"1@a"}, started(s.last))
	assert.Equal(t, []string{"k"}, jobAt(s.g, 1).Keys())
	s.end(1, FailureNone)
	s.outcome()
	assert.Equal(t, contract.GroupCounts{Detected: 3, Accepted: 1, AlreadyActive: 1, Disabled: 1, Completed: 1}, s.g.Counts())
}

// TestADryRunFitsIntoAPayload: 200 proposals of the usual maximum have less than half of the server's limit of a
// payload. Of larger ones as many are listed as fit.
func TestADryRunFitsIntoAPayload(t *testing.T) {
	t.Parallel()
	found := make([]jobtype.Proposal, contract.MaxDryRunProposals+50)
	for i := range found {
		found[i] = jobtype.Proposal{DedupeKey: fmt.Sprintf("k-%03d", i), Detail: strings.Repeat("\x01", 650)} // Six bytes each, encoded.
		require.NoError(t, found[i].Validate())
	}
	found[0].Detail = strings.Repeat("x", 16<<10)
	require.Error(t, found[0].Validate())
	s := playWith(t, Config{DryRun: true, Policy: jobtype.Policy{MaxJobsPerDetection: len(found)}}, []Worker{node("a", 1)})
	pages := 0
	for page := range slices.Chunk(found, 50) {
		s.g.TakePage(s.now, Page{Attempt: 1, Seq: pages, Proposals: page})
		pages++
	}
	s.step(DetectionEnded{Attempt: 1, Pages: pages, Emitted: len(found)})
	result := s.g.Result(s.now)
	assert.Equal(t, 1, result.Counts.Invalid, "the large one")
	assert.Equal(t, len(found)-1, result.Counts.Accepted)
	assert.Len(t, result.Proposals, contract.MaxDryRunProposals)
	data, err := json.Marshal(result)
	require.NoError(t, err)
	assert.Less(t, len(data), 1<<20)
	assert.Len(t, s.g.Proposals(contract.MaxDryRunProposals, 10*proposed.Bytes(found[1])), 10)
}
