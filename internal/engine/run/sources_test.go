package run_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/jobtype"
)

// row is a rule, and the scenario that shows it with a group and with a DAG.
type row struct {
	rule    string
	policy  jobtype.Policy
	list    []work
	workers []contract.WorkerView
	play    func(s *stage)
}

// TestBothSourcesKeepTheSameRules plays each scenario with a group and with a DAG: a rule about
// running an item applies to both. It follows the table of docs/adr/0025-one-run-engine.md,
// except for the differences of the sources: a task has no window and no estimate. A taken id
// needs a sub-DAG or a job that is a DAG, which have tests of their own.
func TestBothSourcesKeepTheSameRules(t *testing.T) {
	t.Parallel()
	rows := append(append(lossRows(), retryRows()...), append(resourceRows(), placeRows()...)...)
	for _, r := range append(rows, stopRows()...) {
		for name, start := range map[string]begin{"group": beginGroup, "dag": beginGraph} {
			t.Run(r.rule+"/"+name, func(t *testing.T) {
				t.Parallel()
				r.play(newStage(t, start, r.policy, r.list, r.workers...))
			})
		}
	}
}

// TestAnObjectSeesGrowingFences: jobs and tasks take turns at one object. Their attempts use the
// growing fences of admission's grants, not the run's own, which count from the clock.
func TestAnObjectSeesGrowingFences(t *testing.T) {
	t.Parallel()
	policy := jobtype.Policy{RetryLimit: 5}
	list := []work{{exclusive: "volume/1"}, {exclusive: "volume/1"}, {}}
	jobs, tasks := newStage(t, beginGroup, policy, list, online("a", 4)), newStage(t, beginGraph, policy, list, online("a", 4))
	granted := int64(1) << 40
	require.Less(t, granted, min(jobs.fence[3], tasks.fence[3]), "what needs no object has fences of another origin")
	for range 3 {
		for _, s := range []*stage{jobs, tasks} {
			for item := range 2 {
				granted += 4
				s.wait(time.Minute)
				require.NotEmpty(t, s.grantFrom(item+1, granted))
				assert.Equal(t, granted, s.fence[item+1])
				s.end(item+1, contract.FailureFailed)
				require.False(t, s.requests(item+1), "others may have it during the back-off")
			}
		}
	}
}

func items(n int) []work { return make([]work, n) }

func fleet(list ...contract.WorkerView) []contract.WorkerView { return list }

func seconds(n int) jobtype.Duration { return jobtype.Duration(time.Duration(n) * time.Second) }

func lossRows() []row {
	two := fleet(online("a", 1), online("b", 1))
	return []row{
		{"worker loss: replace", jobtype.Policy{}, items(1), two, func(s *stage) {
			require.Equal(s.t, "1@a", s.first)
			assert.Empty(s.t, s.end(1, contract.FailureWorkerLost))
			assert.Empty(s.t, s.wait(run.Grace-time.Millisecond))
			assert.Equal(s.t, "1@b", s.wait(time.Millisecond))
		}},
		{"worker loss: fail", jobtype.Policy{OnWorkerLoss: jobtype.WorkerLossFail}, items(1), two, func(s *stage) {
			s.end(1, contract.FailureWorkerLost)
			assert.Empty(s.t, s.wait(time.Minute))
			assert.Equal(s.t, "failed broken (on_worker_loss is fail)", s.how(1))
		}},
		{"worker loss: hold", jobtype.Policy{OnWorkerLoss: jobtype.WorkerLossHold}, items(1), two, func(s *stage) {
			s.end(1, contract.FailureWorkerLost)
			assert.Empty(s.t, s.wait(time.Minute), "b must not get it")
			assert.Equal(s.t, "1@a", s.step(run.WorkerProbed{ID: "a", Instance: "i1", Alive: true}))
		}},
		{"worker loss: nothing is held on a shared queue", jobtype.Policy{OnWorkerLoss: jobtype.WorkerLossHold, Routing: jobtype.RoutingShared}, items(1), two, func(s *stage) {
			require.Equal(s.t, "1@", s.first)
			s.end(1, contract.FailureWorkerLost)
			assert.Equal(s.t, "1@", s.wait(run.Grace))
		}},
		{"a silent attempt is adopted", jobtype.Policy{WorkerLossLimit: 1}, items(1), two, func(s *stage) {
			for k := 1; k <= 3; k++ {
				s.wait(time.Minute)
				assert.Empty(s.t, s.endWith(1, run.Ending{Failure: contract.FailureWorkerLost, Message: "no heartbeat", Unreported: true, Silent: true, Worker: "a"}))
				assert.Equal(s.t, k, s.adopted)
			}
			s.end(1, contract.FailureNone)
			assert.Equal(s.t, "completed", s.how(1), "neither a loss nor a retry")
		}},
	}
}

func retryRows() []row {
	backOff := func(waits ...int) func(*stage) {
		return func(s *stage) {
			for _, wait := range waits {
				assert.Empty(s.t, s.end(1, contract.FailureFailed))
				assert.Empty(s.t, s.wait(seconds(wait).Std()-time.Millisecond))
				assert.Equal(s.t, "1@a", s.wait(time.Millisecond), "after %d s", wait)
			}
			s.end(1, contract.FailureFailed)
			assert.Equal(s.t, "failed broken", s.how(1))
		}
	}
	later := run.Failure("of a later version")
	one := fleet(online("a", 1))
	return []row{
		{"back-off: fixed", jobtype.Policy{RetryLimit: 3, RetryBackoff: seconds(2)}, items(1), one, backOff(2, 2, 2)},
		{"back-off: doubled up to its bound", jobtype.Policy{RetryLimit: 3, RetryBackoff: seconds(2), RetryMaxBackoff: seconds(7)}, items(1), one, backOff(2, 4, 7)},
		{"an unknown kind of failure is a failure", jobtype.Policy{RetryLimit: 1, RetryBackoff: seconds(2)}, items(1), one, func(s *stage) {
			s.end(1, later)
			require.Equal(s.t, "1@a", s.wait(2*time.Second))
			s.end(1, later)
			assert.Equal(s.t, "failed broken", s.how(1))
		}},
	}
}

func resourceRows() []row {
	return []row{
		{"pools are requested when a worker has room", jobtype.Policy{RetryLimit: 1, RetryBackoff: seconds(2)}, []work{{}, {db: 1}}, fleet(online("a", 1)), func(s *stage) {
			require.Equal(s.t, "1@a", s.first)
			assert.False(s.t, s.requests(2), "no worker has room")
			assert.Empty(s.t, s.end(1, contract.FailureNone))
			require.True(s.t, s.requests(2))
			require.Equal(s.t, "2@a", s.grant(2))
			s.end(2, contract.FailureFailed)
			assert.False(s.t, s.requests(2), "released for the back-off")
			s.wait(2 * time.Second)
			require.True(s.t, s.requests(2))
			assert.Equal(s.t, "2@a", s.grant(2))
			s.end(2, contract.FailureNone)
			assert.False(s.t, s.requests(2))
			assert.Equal(s.t, "completed", s.how(2))
		}},
		{"pools are released for a pause", jobtype.Policy{}, []work{{db: 1}}, fleet(online("a", 1)), func(s *stage) {
			require.True(s.t, s.requests(1))
			s.does(s.pause(s.now))
			assert.False(s.t, s.requests(1))
			s.wait(time.Minute)
			assert.False(s.t, s.requests(1))
			s.does(s.resume(s.now))
			require.True(s.t, s.requests(1))
			assert.Equal(s.t, "1@a", s.grant(1))
		}},
		{"pools are released when no worker has room", jobtype.Policy{}, []work{{db: 1}}, fleet(online("a", 1)), func(s *stage) {
			require.Equal(s.t, "1@a", s.grant(1))
			assert.Empty(s.t, s.full(1))
			assert.False(s.t, s.requests(1))
			s.now = s.now.Add(time.Second)
			assert.Empty(s.t, s.step(run.WorkerHasRoom{ID: "a", Instance: "i1", Handler: "h", Load: run.LoadReport{At: s.now}}))
			require.True(s.t, s.requests(1))
			assert.Equal(s.t, "1@a", s.grant(1))
		}},
	}
}

func placeRows() []row {
	pinned := []work{{node: "a"}}
	waits := func(s *stage) {
		s.wait(time.Minute - time.Millisecond)
		assert.Equal(s.t, "open", s.how(1))
		s.wait(time.Millisecond)
		assert.Regexp(s.t, `^failed NO_WORKER: worker a is (not registered|cordoned|draining|unreachable) \(waited 1 min\)$`, s.how(1))
	}
	minute := jobtype.Policy{ExecutionTimeout: seconds(60)}
	b := online("b", 1)
	return []row{
		{"quick work is prefetched", jobtype.Policy{}, items(4), fleet(online("a", 1)), func(s *stage) {
			require.Equal(s.t, "1@a", s.first)
			assert.Equal(s.t, "2@a 3@a", s.endWith(1, run.Ending{Duration: 50 * time.Millisecond}))
		}},
		{"slow work is not", jobtype.Policy{}, items(4), fleet(online("a", 1)), func(s *stage) {
			assert.Equal(s.t, "2@a", s.endWith(1, run.Ending{Duration: time.Second}))
		}},
		{"what does not run waits for something", jobtype.Policy{}, []work{{}, {node: "b"}, {node: "b"}, {node: "b"}, {db: 1}, {db: 1}}, fleet(online("a", 6)), func(s *stage) {
			asked, ok := s.played.(explained)
			require.True(s.t, ok)
			assert.Equal(s.t, []string{"NO_WORKER ×3", "RESOURCES_PENDING ×2"}, asked.waits(s.now))
		}},
		{"an exclusive object", jobtype.Policy{}, []work{{exclusive: "v"}}, fleet(b), func(s *stage) {
			assert.Empty(s.t, s.first)
			require.True(s.t, s.requests(1))
			assert.Equal(s.t, []string{"v"}, s.needs[1].Exclusive)
			assert.Equal(s.t, "1@b", s.grant(1))
			s.endWith(1, run.Ending{Duration: time.Second})
			assert.False(s.t, s.requests(1), "it is released")
		}},
		{"not_before", jobtype.Policy{}, []work{{notBefore: time.Minute}}, fleet(b), func(s *stage) {
			assert.Empty(s.t, s.first)
			assert.Empty(s.t, s.wait(time.Minute-time.Millisecond))
			assert.Equal(s.t, "1@b", s.wait(time.Millisecond))
		}},
		{"expires_at", jobtype.Policy{}, []work{{}, {expiresAt: time.Minute}}, fleet(b), func(s *stage) {
			require.Equal(s.t, "1@b", s.first)
			s.wait(time.Minute - time.Millisecond)
			assert.Equal(s.t, "open", s.how(2))
			s.wait(time.Millisecond)
			assert.Contains(s.t, s.how(2), "expires_at")
			assert.Equal(s.t, "open", s.how(1), "it runs")
		}},
		{"a registry that was just rebuilt", minute, items(1), nil, func(s *stage) {
			s.step(run.WorkersChanged{Workers: nil, Incomplete: true})
			s.wait(25 * time.Hour)
			assert.Equal(s.t, "open", s.how(1))
			s.step(run.WorkersChanged{Workers: nil})
			s.wait(run.RebuildPause)
			assert.Contains(s.t, []string{"failed", "not_started"}, strings.Fields(s.how(1))[0])
		}},
		{"an incomplete view takes no worker away", jobtype.Policy{}, []work{{node: "a"}, {node: "a"}}, fleet(online("a", 1), online("b", 2)), func(s *stage) {
			s.step(run.WorkersChanged{Workers: fleet(online("b", 2)), Incomplete: true})
			assert.Equal(s.t, "2@a", s.endWith(1, run.Ending{Duration: time.Second}))
		}},
		{"pinned to an OFFLINE worker", minute, pinned, fleet(node("a", 1, contract.WorkerOffline), b), func(s *stage) {
			assert.Equal(s.t, "failed it is pinned to worker a, which is OFFLINE", s.how(1))
		}},
		{"pinned to a DRAINING worker", minute, pinned, fleet(node("a", 1, contract.WorkerDraining), b), waits},
		{"pinned to a CORDONED worker", minute, pinned, fleet(node("a", 1, contract.WorkerCordoned), b), waits},
		{"pinned to a worker that is not there", minute, pinned, fleet(b), waits},
		{"a pin is honored under shared routing", jobtype.Policy{Routing: jobtype.RoutingShared}, []work{{node: "b"}, {}}, fleet(online("a", 1), b), func(s *stage) {
			assert.ElementsMatch(s.t, []string{"1@b", "2@"}, strings.Fields(s.first))
		}},
		{"full workers are tried each in its time", jobtype.Policy{}, []work{{node: "a"}, {node: "b"}}, fleet(online("a", 1), b), triedInTime(1, 2)},
		{"full workers are tried each in its time, turned round", jobtype.Policy{}, []work{{node: "a"}, {node: "b"}}, fleet(online("a", 1), b), triedInTime(2, 1)},
	}
}

// triedInTime makes the worker of one item refuse twice and that of another once: the first
// cools for 10 s, the second for 5 s.
func triedInTime(twice, once int) func(*stage) {
	on := map[int]string{1: "1@a", 2: "2@b"}
	return func(s *stage) {
		require.Empty(s.t, s.full(twice))
		require.Equal(s.t, on[twice], s.wait(5*time.Second))
		require.Empty(s.t, s.full(twice)+s.full(once))
		assert.Empty(s.t, s.wait(5*time.Second-time.Millisecond))
		assert.Equal(s.t, on[once], s.wait(time.Millisecond))
		assert.Empty(s.t, s.wait(5*time.Second-time.Millisecond))
		assert.Equal(s.t, on[twice], s.wait(time.Millisecond))
	}
}

func stopRows() []row {
	canceled := func(failure run.Failure) func(*stage) {
		return func(s *stage) {
			s.does(s.cancel(s.now, 1))
			assert.Empty(s.t, s.end(1, failure)+s.wait(time.Minute))
			assert.Equal(s.t, "canceled", s.how(1))
		}
	}
	retried := jobtype.Policy{RetryLimit: 3, RetryBackoff: seconds(2)}
	return []row{
		{"a pause keeps from starting", jobtype.Policy{}, items(2), fleet(online("a", 1)), func(s *stage) {
			s.does(s.pause(s.now))
			assert.Empty(s.t, s.end(1, contract.FailureNone)+s.wait(time.Hour))
			assert.Equal(s.t, "2@a", s.does(s.resume(s.now)))
		}},
		{"fails while an operator cancels it", retried, items(1), fleet(online("a", 1)), canceled(contract.FailureFailed)},
		{"fails for good while an operator cancels it", retried, items(1), fleet(online("a", 1)), canceled(contract.FailurePermanent)},
		{"roll-over: short work", jobtype.Policy{}, items(4), fleet(online("a", 1)), func(s *stage) {
			s.Engine().Observe(s.now, 19_999, 0, 0)
			require.Equal(s.t, "2@a", s.end(1, contract.FailureNone))
			s.Engine().Observe(s.now, 20_000, 0, 0)
			assert.Empty(s.t, s.end(2, contract.FailureNone), "nothing starts, so that nothing is in flight")
			require.True(s.t, s.ShouldContinueAsNew())
			s.roll(s.now)
			s.Engine().Observe(s.now, 3, 0, 0)
			assert.Equal(s.t, "3@a", s.step(run.Tick{}))
			assert.False(s.t, s.ShouldContinueAsNew())
		}},
		{"roll-over: bytes count", jobtype.Policy{}, items(2), fleet(online("a", 1)), func(s *stage) {
			s.Engine().Observe(s.now, 100, 20_000*512, 0)
			assert.Empty(s.t, s.end(1, contract.FailureNone))
			assert.True(s.t, s.ShouldContinueAsNew())
		}},
		{"roll-over: long work", jobtype.Policy{}, items(5), fleet(online("a", 2)), func(s *stage) {
			require.Equal(s.t, "1@a 2@a", s.first)
			s.wait(6 * time.Second)
			s.Engine().Observe(s.now, 39_999, 0, 0)
			require.Equal(s.t, "3@a", s.end(1, contract.FailureNone), "the second takes long")
			s.Engine().Observe(s.now, 40_000, 0, 0)
			assert.Empty(s.t, s.end(3, contract.FailureNone))
			assert.False(s.t, s.ShouldContinueAsNew())
			s.end(2, contract.FailureNone)
			assert.True(s.t, s.ShouldContinueAsNew())
		}},
	}
}
