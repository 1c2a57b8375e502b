package run

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/run/attempt"
	"github.com/roundsman/roundsman/jobtype"
)

func (s *script) endOn(id int, failure Failure) []Decision {
	it := s.e.items[id]
	require.NotNil(s.t, it)
	return s.step(Ended{Item: id, Attempt: it.Attempt, Ending: Ending{Failure: failure, Message: "because " + string(failure), Worker: it.Worker, Instance: "i1"}})
}

func troubles(decisions []Decision) (list []string) {
	for _, d := range decisions {
		if d.Kind == ReportTrouble {
			list = append(list, d.Worker+" "+string(d.Trouble))
		}
		if d.Kind == ClearTrouble {
			list = append(list, d.Worker+" clear")
		}
	}
	return list
}

func (s *script) untilStart() string {
	s.t.Helper()
	for range 100 {
		wake := s.e.NextWake()
		require.False(s.t, wake.IsZero(), "nothing will start")
		s.now = wake
		if started := starts(s.step(Tick{})); started != "" {
			return started
		}
	}
	require.Fail(s.t, "nothing starts")
	return ""
}

// A worker that cannot start programs loses its jobs at no cost. It gets one after each pause,
// and the normal number again after one has started.
func TestASickWorkerIsProbed(t *testing.T) {
	t.Parallel()
	s := play(t, Config{}, jobtype.Policy{}, node("a", 3), node("b", 1))
	require.Equal(t, "1@a 2@a 3@b 4@a", starts(s.plain(9)))
	assert.Empty(t, troubles(s.endOn(1, contract.FailureCannotStart)), "one may be an accident")
	s.endOn(2, contract.FailureCannotStart)
	assert.Equal(t, []string{"a CANNOT_START"}, troubles(s.endOn(4, contract.FailureCannotStart)))
	assert.Empty(t, s.ended(), "no failure costs a job anything")
	for id := range s.e.flight { // Sent there before the third failure.
		if s.e.items[id].Worker == "a" {
			s.endOn(id, contract.FailureCannotStart)
		}
	}
	for id := range 9 {
		assert.False(t, s.e.items[id+1].Worker == "a" && s.e.items[id+1].inFlight())
	}
	s.reload()
	s.step(WorkersChanged{Workers: []contract.WorkerView{node("a", 3), node("b", 1)}})

	probe := s.untilStart()
	require.Regexp(t, `^\d@a$`, probe, "one probe at a time")
	id := int(probe[0] - '0')
	assert.Empty(t, starts(s.endOn(id, contract.FailureCannotStart)), "another pause")
	probe = s.untilStart()
	require.Regexp(t, `^\d@a$`, probe)
	decisions := s.endOn(int(probe[0]-'0'), contract.FailureFailed)
	assert.Equal(t, []string{"a clear"}, troubles(decisions), "a program that fails has started")
	assert.Len(t, starts(decisions), len("1@a 2@a 3@a"), "all its slots are used again")
}

// A long job proves by running that it has started.
func TestALongProbeClearsItsWorker(t *testing.T) {
	t.Parallel()
	s := play(t, Config{}, jobtype.Policy{}, node("a", 2))
	s.plain(3)
	for range 3 {
		for id := 1; id <= 3; id++ {
			if s.e.items[id].inFlight() {
				s.endOn(id, contract.FailureCannotStart)
			}
		}
	}
	require.Equal(t, "1@a", s.untilStart())
	assert.Equal(t, contract.CodeCannotStart, s.e.WaitOf(2, s.now).Code)
	assert.Equal(t, "a", s.e.WaitOf(2, s.now).Object)
	decisions := s.wait(attempt.StartProof)
	assert.Equal(t, []string{"a clear"}, troubles(decisions))
	assert.Equal(t, "2@a", starts(decisions))
}

// A report of another run counts for this one, and so does its end.
func TestTroubleOfAnotherRun(t *testing.T) {
	t.Parallel()
	sick := node("a", 4)
	sick.Trouble = contract.CodeCannotStart
	s := play(t, Config{}, jobtype.Policy{}, sick)
	require.Equal(t, "1@a", starts(s.plain(4)), "one probe")
	assert.Equal(t, "2@a 3@a 4@a", starts(s.step(WorkersChanged{Workers: []contract.WorkerView{node("a", 4)}})))
}

// A program that one worker lacks runs on the other. A program that all lack fails with a
// reason, without a wait for an OFFLINE worker.
func TestAMissingProgram(t *testing.T) {
	t.Parallel()
	b := node("b", 1)
	c := offline("c", false)
	b.Instance, c.Instance = "i2", "i3"
	s := play(t, Config{}, jobtype.Policy{}, node("a", 2), b, c)
	require.Equal(t, "1@a", starts(s.plain(1)))
	require.Equal(t, "1@b", starts(s.endOn(1, contract.FailureNotInstalled)))
	s.step(Ended{Item: 1, Attempt: 2, Ending: Ending{Failure: contract.FailureNotInstalled, Message: "no such program", Worker: "b", Instance: "i2"}})
	assert.Equal(t, "1 failed NOT_INSTALLED: no worker that may run it has the program (a, b): no such program", s.ended())
}

// A view that may lack workers decides nothing; the complete view after it does.
func TestAMissingProgramWaitsForACompleteView(t *testing.T) {
	t.Parallel()
	s := play(t, Config{}, jobtype.Policy{ExecutionTimeout: seconds(60)}, node("a", 2))
	s.step(WorkersChanged{Workers: []contract.WorkerView{node("a", 2)}, Incomplete: true})
	s.plain(1)
	s.endOn(1, contract.FailureNotInstalled)
	require.Empty(t, s.ended())
	s.reload()
	s.step(WorkersChanged{Workers: []contract.WorkerView{node("a", 2)}})
	assert.Contains(t, s.ended(), "1 failed NOT_INSTALLED")
}

// Many jobs without a program fail at once, and no worker is blamed. A worker that lacks a
// program of another one is reported.
func TestMissingProgramsOfManyJobs(t *testing.T) {
	t.Parallel()
	b := node("b", 4)
	b.Instance = "i2"
	s := play(t, Config{}, jobtype.Policy{}, node("a", 4), b)
	s.plain(60)
	var reported []string
	for len(s.e.flight) > 0 {
		for _, it := range byID(s.e.flight) {
			reported = append(reported, troubles(s.step(Ended{Item: it.ID, Attempt: it.Attempt, Ending: Ending{
				Failure: contract.FailureNotInstalled, Message: "no such program", Worker: it.Worker, Instance: it.Instance,
			}}))...)
		}
	}
	assert.Len(t, s.settled, 60, "without a pause")
	assert.Empty(t, reported)

	s.plain(20)
	for len(s.e.flight) > 0 {
		for _, it := range byID(s.e.flight) {
			failure := contract.FailureNone
			if it.Worker == "a" {
				failure = contract.FailureNotInstalled
			}
			reported = append(reported, troubles(s.step(Ended{Item: it.ID, Attempt: it.Attempt, Ending: Ending{Failure: failure, Worker: it.Worker, Instance: it.Instance}}))...)
		}
	}
	assert.Len(t, s.settled, 80)
	assert.Equal(t, []string{"a NOT_INSTALLED"}, reported)
}

// A worker that is only kept from work may have the program: the item waits for it, at most for
// its timeout.
func TestAMissingProgramWaitsForAWorkerThatMayHaveIt(t *testing.T) {
	t.Parallel()
	kept := node("b", 1)
	kept.Instance, kept.State = "i2", contract.WorkerCordoned
	s := play(t, Config{}, jobtype.Policy{ExecutionTimeout: seconds(60)}, node("a", 2), kept)
	s.plain(1)
	s.endOn(1, contract.FailureNotInstalled)
	require.Empty(t, s.ended())
	s.reload()
	kept.State = contract.WorkerOnline
	assert.Equal(t, "1@b", starts(s.step(WorkersChanged{Workers: []contract.WorkerView{node("a", 2), kept}})), "not on a, which lacks it")

	kept.State = contract.WorkerCordoned
	s = play(t, Config{}, jobtype.Policy{ExecutionTimeout: seconds(60)}, node("a", 2), kept)
	s.plain(1)
	s.endOn(1, contract.FailureNotInstalled)
	s.wait(time.Minute)
	assert.Contains(t, s.ended(), "1 failed NO_WORKER")
}

// The same worker may draw the job from a shared queue again, so the job is sent to another.
func TestASharedQueueWithASickWorker(t *testing.T) {
	t.Parallel()
	a, b := node("a", 2), node("b", 2)
	a.Shared, b.Shared, b.Instance = []string{"jt"}, []string{"jt"}, "i2"
	s := play(t, Config{}, jobtype.Policy{Routing: jobtype.RoutingShared}, a, b)
	require.Equal(t, "1@", starts(s.plain(1)))
	got := s.step(Ended{Item: 1, Attempt: 1, Ending: Ending{Failure: contract.FailureCannotStart, Message: "no files", Worker: "a", Instance: "i1"}})
	assert.Equal(t, "1@b", starts(got))
}

// A program that has never started keeps its expires_at.
func TestAnItemWhoseProgramNeverStartsExpires(t *testing.T) {
	t.Parallel()
	s := play(t, Config{}, jobtype.Policy{}, node("a", 1))
	s.offer(Item{ID: 1, ExpiresAt: epoch.Add(30 * time.Second)})
	for range 20 {
		if it := s.e.items[1]; it != nil && it.inFlight() {
			s.endOn(1, contract.FailureCannotStart)
			continue
		}
		s.wait(4 * time.Second)
	}
	assert.Equal(t, "1 expired "+explain.TextExpired, s.ended())
}
