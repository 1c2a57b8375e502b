package dispatch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/placement"
	"github.com/roundsman/roundsman/jobtype"
)

// endSaying ends a job; its worker says what it runs for others.
func (s *script) endSaying(job int, failure Failure, others, ofHandler int) []Decision {
	return s.step(JobEnded{Job: job, Attempt: s.g.jobs[job-1].Attempt, Ending: Ending{
		Failure: failure, Message: "because " + string(failure), Load: placement.Report{At: s.now, Others: others, OfHandler: ofHandler},
	}})
}

// A neighbour fills a: what was sent there comes back once, and then only a trial
// now and then, while b does the work.
func TestJobsKeepAwayFromAWorkerThatOthersFill(t *testing.T) {
	t.Parallel()
	s := play(t, wide(jobtype.Policy{}), []Worker{node("a", 2), node("b", 1)}, make([]jobtype.Proposal, 20)...)
	require.Equal(t, []string{"1@a", "2@b", "3@a"}, started(s.last))
	for _, job := range []int{1, 3} {
		assert.Empty(t, started(s.endSaying(job, FailureAtCapacity, 2, 0)))
	}
	assert.Empty(t, started(s.wait(CoolDown+time.Second)), "the cool-down is over, and a is known to be full")
	view, _ := s.g.Jobs(Filter{Job: 4, Limit: 1}, s.now)
	assert.Equal(t, WaitSlots, view[0].Wait.Code)
	assert.Equal(t, "all fitting workers are busy; others use 2 slots of a", view[0].Wait.Detail)
	assert.Equal(t, 2, s.g.Status(s.now).Workers[0].Others)
	assert.Equal(t, []string{"1@b"}, started(s.end(2, FailureNone)), "what came back goes first")

	assert.Equal(t, []string{"3@a"}, started(s.wait(placement.TrialPause)), "one job to try it")
	assert.Empty(t, started(s.wait(time.Second)), "one")
	s.endSaying(3, FailureAtCapacity, 2, 0)
	assert.Equal(t, 3, s.g.Counts().Replacements)
	assert.Empty(t, started(s.wait(2*placement.TrialPause-time.Second)), "twice as long")
	require.Equal(t, []string{"3@a"}, started(s.wait(2*time.Second)))
	assert.Equal(t, []string{"4@a", "5@a"}, started(s.endSaying(3, FailureNone, 0, 0)), "the neighbour has gone")
}

// A worker that did not take work in time gets only what its heartbeat leaves.
func TestAProbeSaysHowMuchIsFree(t *testing.T) {
	t.Parallel()
	s := play(t, wide(jobtype.Policy{}), []Worker{node("a", 4)}, make([]jobtype.Proposal, 10)...)
	for job := 1; job <= 4; job++ {
		s.end(job, FailureNotTaken)
	}
	assert.Len(t, started(s.step(WorkerProbed{ID: "a", Instance: "i1", Alive: true, BeatAt: s.now, Used: 3})), 1)
	assert.Empty(t, started(s.wait(time.Second)))
}

// The cap of the handler on a worker is shared with other groups, too.
func TestOthersCountAgainstTheHandlersCap(t *testing.T) {
	t.Parallel()
	capped := node("a", 2)
	capped.Total = 6
	s := play(t, wide(jobtype.Policy{}), []Worker{capped}, make([]jobtype.Proposal, 10)...)
	require.Len(t, started(s.last), 2)
	assert.Len(t, started(s.endSaying(1, FailureNone, 3, 0)), 1, "three of six are of another handler: both of the cap are ours")
	assert.Empty(t, started(s.endSaying(2, FailureNone, 3, 1)), "one of the cap is another group's")
}

func TestWhatOthersUseOutlivesContinueAsNew(t *testing.T) {
	t.Parallel()
	s := play(t, wide(jobtype.Policy{}), []Worker{node("a", 2)}, make([]jobtype.Proposal, 4)...)
	s.endSaying(1, FailureAtCapacity, 2, 1)
	s.endSaying(2, FailureAtCapacity, 2, 1)
	data, err := s.g.Snapshot()
	require.NoError(t, err)
	restored, err := Restore(data)
	require.NoError(t, err)
	assert.Equal(t, s.g.workers.Find("a").Load, restored.workers.Find("a").Load)
	s.g = restored
	assert.Empty(t, started(s.wait(placement.TrialPause-time.Second)))
	assert.Len(t, started(s.wait(2*time.Second)), 1)
}

// A worker that sent jobs back says that there is room: it is used at once, as far
// as it said.
func TestAWorkerThatHasRoomIsUsedAtOnce(t *testing.T) {
	t.Parallel()
	s := play(t, wide(jobtype.Policy{}), []Worker{node("a", 3)}, make([]jobtype.Proposal, 9)...)
	for _, job := range []int{1, 2, 3} {
		s.endSaying(job, FailureAtCapacity, 3, 3)
	}
	s.now = s.now.Add(time.Second)
	room := WorkerHasRoom{ID: "a", Instance: "i1", Load: placement.Report{At: s.now, Others: 1, OfHandler: 1}}
	assert.Equal(t, []string{"1@a", "2@a"}, started(s.step(room)), "in its cool-down")
	assert.Empty(t, started(s.step(room)), "told twice, heard once")
	room.Instance = "i0"
	room.Load.Others = 0
	assert.Empty(t, started(s.step(room)), "another process")
}

// A job that has its pool and finds its worker full does not keep the pool from
// others while it waits, unless there is another worker for it.
func TestAJobWithoutRoomGivesItsResourcesBack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		workers  []Worker
		givesUp  bool
		restarts []string
	}{
		{[]Worker{node("a", 1)}, true, nil},
		{[]Worker{node("a", 2), node("b", 1)}, false, []string{"1@b"}},
	} {
		s := &script{t: t, now: epoch}
		s.g = New(Config{JobType: "jt", Handler: "h", Policy: wide(jobtype.Policy{}).WithDefaults(), Claims: true, Fence: 1, Fences: 100}, s.now)
		s.step(WorkersChanged{Workers: c.workers})
		s.detected(jobtype.Proposal{Resources: map[string]int{"db": 1}})
		s.step(Admitted{Job: 1, Ask: 1, Fence: 200, Fences: 10})
		require.Equal(t, []string{"1@a"}, started(s.last))
		full := s.endSaying(1, FailureAtCapacity, 2, 0)
		assert.Equal(t, c.restarts, started(full))
		if !c.givesUp {
			assert.NotContains(t, full, Decision(GiveUp{Job: 1, Ask: 1}))
			continue
		}
		assert.Contains(t, full, Decision(GiveUp{Job: 1, Ask: 1}))
		room := s.step(WorkerHasRoom{ID: "a", Instance: "i1", Load: placement.Report{At: s.now.Add(time.Second)}})
		require.Len(t, room, 1)
		assert.Equal(t, 2, room[0].(Acquire).Ask) //nolint:errcheck,forcetypeassert // a panic fails the test as well
		s.step(Admitted{Job: 1, Ask: 2, Fence: 300, Fences: 10})
		assert.Equal(t, []string{"1@a"}, started(s.last))
	}
}
