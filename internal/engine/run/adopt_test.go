package run

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// silence is the report of a server that was away for longer than heartbeat_timeout.
func silence() Ending {
	return Ending{Failure: contract.FailureWorkerLost, Message: "no heartbeat from a", Unreported: true, Silent: true, Worker: "a"}
}

func adoptions(decisions []Decision) (list []Decision) {
	for _, d := range decisions {
		if d.Kind == Adopt {
			list = append(list, d)
		}
	}
	return list
}

// TestASilentAttemptIsAdopted: an absent server times out attempts whose handlers continue;
// their work must not be lost.
func TestASilentAttemptIsAdopted(t *testing.T) {
	t.Parallel()
	s := play(t, Config{Adopt: true}, jobtype.Policy{ExecutionTimeout: seconds(3600), WorkerLossLimit: 1}, node("a", 1), node("b", 1))
	require.Equal(t, "1@a", starts(s.plain(1)))
	for k := 1; k <= 3; k++ {
		s.wait(time.Minute)
		decisions := s.step(Ended{Item: 1, Attempt: 1, Ending: silence()})
		assert.Empty(t, starts(decisions))
		adopted := adoptions(decisions)
		require.Len(t, adopted, 1)
		assert.Equal(t, k, adopted[0].Adoption)
		assert.Equal(t, "a", adopted[0].Worker)
		assert.Equal(t, time.Hour-time.Duration(k)*time.Minute, adopted[0].Timeout, "what is left of it")
	}
	s.step(Ended{Item: 1, Attempt: 1})
	assert.Equal(t, "1 completed", s.ended(), "neither a loss nor a retry")
}

// TestAnAttemptThatCannotBeAdopted: it is placed again. The worker counts as lost only if it did
// not respond.
func TestAnAttemptThatCannotBeAdopted(t *testing.T) {
	t.Parallel()
	for failure, ends := range map[Failure]string{contract.FailureNotRunning: "", contract.FailureNotTaken: "1 failed LOSES_WORKERS: lost with a within 3 days (worker_loss_limit is 0): no heartbeat from a"} {
		policy := jobtype.Policy{ExecutionTimeout: seconds(3600)}
		s := play(t, Config{Adopt: true}, policy, node("a", 1), node("b", 1))
		for name := range s.e.work {
			work := s.e.work[name]
			work.Policy.WorkerLossLimit = 0
			s.e.work[name] = work
		}
		s.plain(1)
		s.step(Ended{Item: 1, Attempt: 1, Ending: silence()})
		got := starts(s.step(Ended{Item: 1, Attempt: 1, Ending: Ending{Failure: failure, Message: string(failure)}}))
		assert.Equal(t, ends, s.ended(), failure)
		if ends == "" {
			assert.Equal(t, "1@b", got)
		}
	}
}

// TestAnOutcomeComesBeforeAFailedAdoption: the process has ended the attempt and forgotten it.
// The attempt is not repeated.
func TestAnOutcomeComesBeforeAFailedAdoption(t *testing.T) {
	t.Parallel()
	s := play(t, Config{Adopt: true}, jobtype.Policy{ExecutionTimeout: seconds(3600)}, node("a", 1), node("b", 1))
	s.plain(1)
	adopted := adoptions(s.step(Ended{Item: 1, Attempt: 1, Ending: silence()}))
	require.Len(t, adopted, 1)
	s.step(Delivered{Item: 1, Attempt: 1, Fence: adopted[0].Fence, Ending: Ending{Worker: "a"}})
	assert.Equal(t, "1 completed", s.ended())
	assert.Empty(t, starts(s.step(Ended{Item: 1, Attempt: 1, Ending: Ending{Failure: contract.FailureNotRunning}})))
	assert.Equal(t, "1 completed", s.ended())
}

func TestWhatIsNotAdopted(t *testing.T) {
	t.Parallel()
	cases := map[string]func(s *script, end *Ending){
		"a handler that stalled": func(_ *script, end *Ending) { end.Silent = false },
		"an attempt out of time": func(s *script, _ *Ending) { s.now = s.now.Add(2 * time.Hour) },
		"another process has the id": func(s *script, _ *Ending) {
			w := node("a", 1)
			w.Instance = "i2"
			s.step(WorkersChanged{Workers: []contract.WorkerView{w}})
		},
		"a run that does not know it": func(s *script, _ *Ending) { s.e.adopt = false },
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := play(t, Config{Adopt: true}, jobtype.Policy{ExecutionTimeout: seconds(3600)}, node("a", 1))
			s.plain(1)
			end := silence()
			change(s, &end)
			assert.Empty(t, adoptions(s.step(Ended{Item: 1, Attempt: 1, Ending: end})))
			view, _ := s.e.View(1)
			assert.Equal(t, PhaseGrace, view.Phase)
		})
	}
}

func TestACanceledAttemptIsCanceledAgainWhenAdopted(t *testing.T) {
	t.Parallel()
	s := play(t, Config{Adopt: true}, jobtype.Policy{ExecutionTimeout: seconds(3600), HeartbeatTimeout: seconds(60)}, node("a", 1))
	s.plain(1)
	s.e.Cancel(s.now, 1, "enough")
	s.take()
	decisions := s.step(Ended{Item: 1, Attempt: 1, Ending: silence()})
	require.Len(t, adoptions(decisions), 1)
	assert.Equal(t, Cancel, decisions[len(decisions)-1].Kind)
	s.step(Ended{Item: 1, Attempt: 1, Ending: Ending{Failure: contract.FailureCanceled}})
	assert.Equal(t, "1 canceled enough", s.ended())
}
