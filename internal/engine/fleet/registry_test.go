package fleet_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/fleet"
	"github.com/roundsman/roundsman/jobtype"
)

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// bench drives a registry on a virtual clock.
type bench struct {
	t   *testing.T
	r   *fleet.Registry
	now time.Time
}

func newBench(t *testing.T) *bench {
	t.Helper()
	r := fleet.New(&contract.FleetConfig{}, t0.Add(-contract.RebuildTime))
	r.Next(t0, fleet.Tick{})
	return &bench{t: t, r: r, now: t0}
}

func (b *bench) at(after time.Duration) *bench { b.now = t0.Add(after); return b }

func (b *bench) next(e fleet.Event) []fleet.Decision { return b.r.Next(b.now, e) }

func who(id, instance string) contract.Incarnation {
	return contract.Incarnation{ID: id, Instance: instance}
}

func registration(who contract.Incarnation, host string, pid int) fleet.Register {
	return fleet.Register{ID: who.ID, Instance: who.Instance, Host: host, PID: pid}
}

func thresholds(forget time.Duration) contract.FleetConfig {
	return contract.FleetConfig{
		HeartbeatInterval: jobtype.Duration(time.Second), UnreachableAfter: jobtype.Duration(10 * time.Second),
		OfflineAfter: jobtype.Duration(30 * time.Second), DeleteAfter: jobtype.Duration(forget),
	}
}

func view(r *fleet.Registry) []contract.WorkerDetail {
	var list []contract.WorkerDetail
	for _, w := range r.Workers(contract.WorkersQueryInput{}).Workers {
		w, _ := r.Worker(w.Registration.ID)
		list = append(list, w)
	}
	return list
}

func deleted(r *fleet.Registry) []contract.WorkerDetail {
	return slices.DeleteFunc(r.Workers(contract.WorkersQueryInput{Deleted: true}).Workers, func(w contract.WorkerDetail) bool {
		return w.State != contract.WorkerDeleted
	})
}

func incarnation(w contract.WorkerDetail) contract.Incarnation {
	return who(w.Registration.ID, w.Registration.Instance)
}

func placed(r *fleet.Registry, id string) contract.WorkerView {
	for _, w := range r.View(contract.WatchFleetInput{}).Workers {
		if w.ID == id {
			return w
		}
	}
	return contract.WorkerView{}
}

func fenced(r *fleet.Registry, id string) []string { return placed(r, id).Fenced }

func (b *bench) register(id, instance string) []fleet.Decision {
	return b.next(registration(who(id, instance), "host-"+instance, 7))
}

func (b *bench) observe(changes ...contract.WorkerPulse) []fleet.Decision {
	return b.next(fleet.Observed{SightUntil: b.now, SightSince: t0, Changes: changes})
}

func beats(id, instance string, at time.Duration) contract.WorkerPulse {
	return contract.WorkerPulse{Incarnation: who(id, instance), LastChange: t0.Add(at), Fresh: true, Seen: true}
}

func silent(id, instance string, since time.Duration) contract.WorkerPulse {
	return contract.WorkerPulse{Incarnation: who(id, instance), LastChange: t0.Add(since), Seen: true}
}

func (b *bench) state(id string) contract.WorkerState {
	b.t.Helper()
	s, ok := b.r.Worker(id)
	require.True(b.t, ok, "worker %s", id)
	return s.State
}

func (b *bench) worker(id string) contract.WorkerDetail {
	b.t.Helper()
	s, ok := b.r.Worker(id)
	require.True(b.t, ok, "worker %s", id)
	return s
}

func TestCascadeIsExact(t *testing.T) {
	t.Parallel()
	ms := time.Millisecond
	offline := 6 * time.Minute
	for _, step := range []struct {
		after time.Duration
		want  contract.WorkerState
	}{
		{15 * time.Second, contract.WorkerOnline},
		{2*time.Minute - ms, contract.WorkerOnline},
		{2 * time.Minute, contract.WorkerUnreachable},
		{6*time.Minute - ms, contract.WorkerUnreachable},
		{offline, contract.WorkerOffline},
		{24*time.Hour - ms, contract.WorkerOffline},
		{24 * time.Hour, contract.WorkerDeleted},
	} {
		t.Run(step.after.String(), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.register("a", "1")
			b.at(15 * time.Second).observe(silent("a", "1", 0))
			if step.after > offline {
				b.at(offline).observe()
			}
			b.at(step.after).observe()
			assert.Equal(t, step.want, b.state("a"))
		})
	}
}

func TestCascadeTellsWhyAndWhen(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.register("a", "1")
	b.at(15 * time.Second).observe(silent("a", "1", 0))
	b.at(2 * time.Minute).observe()
	b.at(6 * time.Minute).observe()
	b.at(7 * time.Minute).observe(beats("a", "1", 7*time.Minute))
	var got []string
	for _, tr := range b.worker("a").Transitions {
		got = append(got, fmt.Sprintf("%s %s→%s %s", tr.At.Sub(t0), tr.From, tr.To, tr.Code))
	}
	assert.Equal(t, []string{
		"0s →ONLINE REGISTERED",
		"2m0s ONLINE→UNREACHABLE SILENT",
		"6m0s UNREACHABLE→OFFLINE SILENT",
		"7m0s OFFLINE→ONLINE BACK",
	}, got)
	transitions := b.worker("a").Transitions
	assert.Equal(t, t0, transitions[2].Since, "the last heartbeat")
	assert.Equal(t, t0.Add(6*time.Minute), transitions[3].Since, "the beginning of what is over")
}

func TestWakeAtIsTheNextThresholdOfASilentWorker(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.register("a", "1")
	b.register("b", "1")
	assert.True(t, b.r.Observation().WakeAt.IsZero(), "who beats has no threshold")
	b.at(20*time.Second).observe(silent("a", "1", 0), silent("b", "1", 5*time.Second))
	assert.Equal(t, t0.Add(2*time.Minute), b.r.Observation().WakeAt)
	b.at(3 * time.Minute).observe()
	assert.Equal(t, t0.Add(6*time.Minute), b.r.Observation().WakeAt)
	b.at(10 * time.Minute).observe()
	assert.Equal(t, t0.Add(24*time.Hour), b.r.Observation().WakeAt)
}

// The control plane is away from 3 minutes to one hour: a silent worker's state changes only
// after the observer has looked, and then at once.
func TestNobodyGetsWorseWhileNobodyLooks(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.register("a", "1")
	b.at(15 * time.Second).observe(silent("a", "1", 0))
	b.at(3 * time.Minute).observe()
	b.at(time.Hour).next(fleet.Tick{})
	assert.Equal(t, contract.WorkerUnreachable, b.state("a"))
	back := t0.Add(time.Hour)
	look := func(after time.Duration, changes ...contract.WorkerPulse) {
		b.next(fleet.Observed{SightUntil: back.Add(after), SightSince: back, Changes: changes})
	}
	look(30*time.Second - time.Millisecond)
	assert.Equal(t, contract.WorkerUnreachable, b.state("a"), "a living worker may still need time to be seen")
	look(30 * time.Second)
	assert.Equal(t, contract.WorkerOffline, b.state("a"))
}

func TestAnObservationIsJudgedAtItsOwnTime(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.register("a", "1")
	// Made at 20 s, received an hour later.
	b.at(time.Hour).next(fleet.Observed{SightUntil: t0.Add(20 * time.Second), SightSince: t0, Changes: []contract.WorkerPulse{silent("a", "1", 0)}})
	assert.Equal(t, contract.WorkerOnline, b.state("a"))
	// An older report changes nothing.
	b.next(fleet.Observed{SightUntil: t0.Add(10 * time.Second), SightSince: t0, Changes: []contract.WorkerPulse{beats("a", "1", 10*time.Second)}})
	assert.False(t, b.worker("a").Fresh)
}

func TestUnregisterIsOfflineAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.register("a", "1")
	b.at(time.Minute).next(fleet.Unregister(who("a", "other")))
	assert.Equal(t, contract.WorkerOnline, b.state("a"), "another incarnation's goodbye")
	b.next(fleet.Unregister(who("a", "1")))
	w := b.worker("a")
	assert.Equal(t, contract.WorkerOffline, w.State)
	assert.True(t, w.Leaving, "it still beats")
	assert.False(t, w.Fresh)
	assert.Empty(t, b.next(fleet.Unregister(who("a", "1"))), "a repeat")

	b.at(2 * time.Minute).observe(beats("a", "1", 2*time.Minute))
	assert.Equal(t, contract.WorkerOffline, b.state("a"), "beats of one that left do not bring it back")
	b.at(3 * time.Minute).observe(silent("a", "1", 2*time.Minute))
	assert.False(t, b.worker("a").Leaving)
	b.at(time.Minute + 24*time.Hour).observe()
	assert.Equal(t, contract.WorkerDeleted, b.state("a"), "24 h after the goodbye")
	b.register("a", "1")
	assert.Equal(t, contract.WorkerOnline, b.state("a"))
}

// A worker that was interrupted while it registered: its deregistration may come first.
func TestHelloAfterGoodbyeIsVoid(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.next(fleet.Unregister(who("a", "1")))
	rejected := fleet.Rejected{Code: contract.WorkerDeparted, ID: "a", Process: contract.WorkerProcess{Host: "host-1", PID: 7}}
	assert.Equal(t, []fleet.Decision{rejected}, b.at(10*time.Minute-1).register("a", "1"))
	_, known := b.r.Worker("a")
	assert.False(t, known)
	b.register("a", "2")
	assert.Equal(t, contract.WorkerOnline, b.state("a"), "a new process is another one")
	b.next(fleet.Unregister(who("a", "2")))
	assert.IsType(t, fleet.Rejected{}, b.register("a", "2")[0], "a repeated hello does not bring it back")
	assert.Equal(t, contract.WorkerOffline, b.state("a"))
	b.at(20*time.Minute).register("a", "2")
	assert.Equal(t, contract.WorkerOnline, b.state("a"), "it lives after all: somebody else said the goodbye")
}

func TestDeparturesAreBounded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i := range 1001 {
		b.next(fleet.Unregister(who(fmt.Sprint(i), "1")))
	}
	assert.Len(t, b.r.Snapshot(0).Departures, 1000)
	assert.IsType(t, fleet.Rejected{}, b.register("1", "1")[0])
	assert.IsType(t, fleet.Transitioned{}, b.register("0", "1")[0])
	b.at(time.Hour).next(fleet.Unregister(who("a", "1")))
	assert.Len(t, b.r.Snapshot(0).Departures, 1)
}

func TestShuttingDownCountsAsGoodbye(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.register("a", "1")
	p := beats("a", "1", time.Second)
	p.ShuttingDown = true
	b.at(2 * time.Second).observe(p)
	w := b.worker("a")
	assert.Equal(t, contract.WorkerOffline, w.State)
	assert.True(t, w.Leaving)
	assert.Equal(t, contract.WorkerShuttingDown, w.Transitions[1].Code)
}

func TestDuplicateID(t *testing.T) {
	t.Parallel()
	second := registration(who("a", "2"), "h2", 22)

	t.Run("a live holder keeps it", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		b.register("a", "1")
		b.at(10 * time.Minute)
		require.Equal(t, []fleet.Decision{fleet.Refused{Holder: contract.RegisteredOther{
			Instance: "1", Host: "host-1", PID: 7, Age: jobtype.Duration(10 * time.Minute), SinceBeat: jobtype.Duration(15 * time.Second),
		}}}, b.next(second))
		assert.True(t, b.r.Known(who("a", "1")))
		assert.False(t, b.r.Known(who("a", "2")))
	})
	t.Run("a stale holder may only be late", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		b.register("a", "1")
		b.at(18 * time.Second).observe(silent("a", "1", 0))
		asked := second
		asked.Unanswered = "0"
		for _, in := range []fleet.Register{second, asked} {
			require.Equal(t, []fleet.Decision{fleet.Refused{Stale: true, Holder: contract.RegisteredOther{
				Instance: "1", Host: "host-1", PID: 7, Age: jobtype.Duration(18 * time.Second), SinceBeat: jobtype.Duration(18 * time.Second),
			}}}, b.next(in))
		}
		assert.True(t, b.r.Known(who("a", "1")))
	})
	t.Run("a remote holder cannot answer", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		remote := registration(who("a", "1"), "host-1", 7)
		remote.Remote = true
		b.next(remote)
		b.at(15 * time.Second).observe(silent("a", "1", 0))
		decisions := b.next(second)
		assert.Equal(t, fleet.Accepted{Incarnation: who("a", "2"), Fenced: "1"}, decisions[len(decisions)-1])
	})
	t.Run("a holder that is UNREACHABLE is not late", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		b.register("a", "1")
		b.at(3 * time.Minute).observe(silent("a", "1", 0))
		require.Equal(t, contract.WorkerUnreachable, b.state("a"))
		decisions := b.next(second)
		assert.Equal(t, fleet.Accepted{Incarnation: who("a", "2"), Fenced: "1"}, decisions[len(decisions)-1])
	})
	t.Run("a stale holder that does not answer loses it and is fenced", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		b.register("a", "1")
		b.at(15 * time.Second).observe(silent("a", "1", 0))
		unanswered := second
		unanswered.Unanswered = "1"
		decisions := b.next(unanswered)
		assert.Equal(t, fleet.Accepted{Incarnation: who("a", "2"), Fenced: "1"}, decisions[len(decisions)-1])
		assert.False(t, b.r.Known(who("a", "1")))
		assert.Equal(t, []string{"1"}, fenced(b.r, "a"))
	})
	t.Run("take-over fences a live holder", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		b.register("a", "1")
		takeOver := second
		takeOver.TakeOver = true
		decisions := b.next(takeOver)
		assert.Equal(t, fleet.Accepted{Incarnation: who("a", "2"), Fenced: "1"}, decisions[len(decisions)-1])
		b.at(time.Minute).observe(beats("a", "1", time.Minute), beats("a", "2", time.Minute))
		assert.Equal(t, "2", b.worker("a").Registration.Instance)
		decisions = b.register("a", "1")
		assert.IsType(t, fleet.Refused{}, decisions[0], "the fenced one cannot come back while the other lives")
	})
	t.Run("one that left hands it over unfenced", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		b.register("a", "1")
		b.next(fleet.Unregister(who("a", "1")))
		decisions := b.next(second)
		assert.Equal(t, fleet.Accepted{Incarnation: who("a", "2")}, decisions[len(decisions)-1])
		assert.Empty(t, fenced(b.r, "a"), "what it still runs may end")
	})
	t.Run("the same incarnation again", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		b.register("a", "1")
		seq := b.r.Seq()
		assert.Equal(t, []fleet.Decision{fleet.Accepted{Incarnation: who("a", "1")}}, b.register("a", "1"))
		assert.Equal(t, seq, b.r.Seq(), "a repeat changes nothing")
		changed := registration(who("a", "1"), "host-1", 7)
		changed.Version = "2"
		b.next(changed)
		assert.Greater(t, b.r.Seq(), seq, "other capabilities are a change")
		assert.Equal(t, contract.WorkerOnline, b.state("a"))
	})
}

func TestForgottenInstanceRegistersAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.observe(beats("a", "1", 0))
	assert.False(t, b.r.Known(who("a", "1")), "a beat does not register")
	b.at(time.Minute).register("a", "1")
	assert.True(t, b.r.Known(who("a", "1")))
	assert.True(t, b.worker("a").Fresh)
}

func TestWhatOperatorsWriteIsBounded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.register("a", "1")
	b.next(fleet.Operate{ID: "a", Action: contract.CordonWorker, Reason: strings.Repeat("x", 10_000)})
	w := b.worker("a")
	assert.Len(t, w.Transitions[1].Note, fleet.MaxNote)
	assert.Equal(t, w.Transitions[1], w.Kept)
	w.Kept.Note = strings.Repeat("y", 10_000)
	e := registration(who("b", "1"), "h", 1)
	e.Kept = &w.Kept
	b.next(e)
	assert.Len(t, b.worker("b").Kept.Note, fleet.MaxNote, "a worker repeats it to a new registry")
}

func TestOperator(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.register("a", "1")
	b.next(fleet.Operate{ID: "a", Action: contract.DrainWorker, By: "ann", Reason: "disk swap"})
	assert.Equal(t, contract.WorkerDraining, b.state("a"))
	assert.Empty(t, b.next(fleet.Operate{ID: "a", Action: contract.DrainWorker}), "a repeat")
	last := b.worker("a").Transitions[1]
	assert.Equal(t, contract.WorkerTransition{At: t0, From: contract.WorkerOnline, To: contract.WorkerDraining, Code: contract.WorkerModeSet, Mode: contract.ModeDraining, Note: "disk swap", By: "ann"}, last)

	b.at(15 * time.Second).observe(silent("a", "1", 0))
	b.at(2 * time.Minute).observe()
	assert.Equal(t, contract.WorkerUnreachable, b.state("a"), "liveness continues underneath")
	assert.Equal(t, contract.ModeDraining, b.worker("a").Mode)
	b.register("a", "2")
	assert.Equal(t, contract.WorkerDraining, b.state("a"), "a restart does not end it")
	b.next(fleet.Operate{ID: "a", Action: contract.CordonWorker})
	assert.Equal(t, contract.WorkerCordoned, b.state("a"))
	b.next(fleet.Operate{ID: "a", Action: contract.UncordonWorker})
	assert.Equal(t, contract.WorkerOnline, b.state("a"))

	for _, bad := range []fleet.Operate{{ID: "x", Action: contract.DrainWorker}, {ID: "a", Action: "explode"}, {ID: "a", Action: contract.RemoveWorker}} {
		decisions := b.next(bad)
		require.Len(t, decisions, 1, bad)
		assert.IsType(t, fleet.Rejected{}, decisions[0], bad)
	}
}

func TestRemoveAndCleanup(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, id := range []string{"a", "b", "c"} {
		b.register(id, "1")
	}
	b.next(fleet.Unregister(who("a", "1")))
	b.at(time.Hour).next(fleet.Unregister(who("b", "1")))
	assert.Empty(t, b.next(fleet.Cleanup{}), "neither has been OFFLINE for 24 h")
	assert.Empty(t, b.r.Removable(fleet.Cleanup{}, b.now))
	assert.Equal(t, []string{"a", "b"}, b.r.Removable(fleet.Cleanup{AllOffline: true}, b.now))
	b.at(24 * time.Hour)
	assert.Equal(t, []string{"a"}, b.r.Removable(fleet.Cleanup{}, b.now))
	assert.Equal(t, contract.WorkerOffline, b.state("a"), "asking removes nothing")
	b.next(fleet.Cleanup{By: "ann"})
	assert.Equal(t, contract.WorkerDeleted, b.state("a"))
	assert.Equal(t, contract.WorkerOffline, b.state("b"))
	b.next(fleet.Cleanup{AllOffline: true})
	assert.Equal(t, contract.WorkerDeleted, b.state("b"))
	assert.Equal(t, contract.WorkerOnline, b.state("c"))

	b.observe(silent("c", "1", 23*time.Hour))
	b.next(fleet.Operate{ID: "c", Action: contract.RemoveWorker, By: "ann"})
	assert.Equal(t, contract.WorkerDeleted, b.state("c"))
	assert.Empty(t, view(b.r))
	assert.Len(t, deleted(b.r), 3)
	assert.False(t, b.r.Known(who("c", "1")))
}

// A worker that registers and dies before its first heartbeat is missing in the running
// observation: a new one is requested.
func TestARegistrationThatIsNeverSeenIsWatched(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.next(fleet.Watching{})
	assert.True(t, b.r.NextDeadline().IsZero())
	b.register("a", "1")
	deadline := t0.Add(15 * time.Second)
	assert.Equal(t, deadline, b.r.NextDeadline())
	assert.Empty(t, b.at(15*time.Second-time.Millisecond).next(fleet.Tick{}))
	assert.Equal(t, []fleet.Decision{fleet.Observe{}}, b.at(15*time.Second).next(fleet.Tick{}))
	b.next(fleet.Watching{})
	assert.True(t, b.r.NextDeadline().IsZero())
}

func TestConfigureAsksForANewObservation(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	assert.Empty(t, b.next(fleet.Configure{}), "the same thresholds")
	assert.Empty(t, b.next(fleet.Boot{FleetConfig: contract.FleetConfig{UnreachableAfter: jobtype.Duration(time.Hour)}, Undeclared: true}), "they are known")
	assert.Equal(t, []fleet.Decision{fleet.Observe{}}, b.next(fleet.Configure{UnreachableAfter: jobtype.Duration(time.Minute)}))
	assert.Equal(t, 3*time.Minute, b.r.Config().OfflineAfter.Std(), "OFFLINE follows")
}

func TestBeatGrowsWhenItBecomesFresh(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.register("a", "1")
	first := placed(b.r, "a").Beat
	b.at(15 * time.Second).observe(silent("a", "1", 0))
	assert.Equal(t, first, placed(b.r, "a").Beat)
	b.at(20 * time.Second).observe(beats("a", "1", 20*time.Second))
	second := placed(b.r, "a").Beat
	assert.Greater(t, second, first)
	again := fleet.New(&contract.FleetConfig{}, t0.Add(time.Minute))
	again.Next(t0.Add(time.Minute), registration(who("a", "1"), "h", 1))
	assert.Greater(t, placed(again, "a").Beat, second, "a rebuilt registry continues above the lost one")
	assert.Greater(t, again.Seq(), b.r.Seq())
}

func TestHistoryIsBounded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.register("a", "1")
	for i := range 200 {
		action := contract.CordonWorker
		if i%2 == 1 {
			action = contract.UncordonWorker
		}
		b.at(time.Duration(i) * time.Second).next(fleet.Operate{ID: "a", Action: action})
	}
	transitions := b.worker("a").Transitions
	require.Len(t, transitions, fleet.MaxTransitions)
	assert.Equal(t, t0.Add(199*time.Second), transitions[len(transitions)-1].At)
	assert.Len(t, b.r.Snapshot(5).Workers[0].Transitions, 5)

	for i := range fleet.MaxDeleted + 20 {
		id := fmt.Sprintf("w%04d", i)
		b.at(time.Hour+time.Duration(i)*time.Second).register(id, "1")
		b.next(fleet.Unregister(who(id, "1")))
		b.next(fleet.Cleanup{AllOffline: true})
	}
	forgotten := deleted(b.r)
	require.Len(t, forgotten, fleet.MaxDeleted)
	assert.Equal(t, "w0020", forgotten[0].Registration.ID, "the oldest are forgotten")
}

func TestConfigFaults(t *testing.T) {
	t.Parallel()
	require.NoError(t, contract.FleetConfig{}.WithDefaults().Validate())
	err := contract.FleetConfig{
		HeartbeatInterval: jobtype.Duration(time.Hour), UnreachableAfter: jobtype.Duration(time.Second), OfflineAfter: 1, DeleteAfter: -1,
	}.Validate()
	assert.Len(t, strings.Split(err.Error(), "\n"), 4, "all faults at once: %v", err)
}

// A run's report makes a worker suspect until another report, a new process or, for a missing
// program, ten minutes without a report.
func TestTrouble(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	a := who("a", "i1")
	b.next(registration(a, "host", 1))
	sick := fleet.Trouble{Incarnation: a, Code: contract.CodeCannotStart, Detail: "too many open files", Run: "group/x"}
	seq := b.r.Seq()
	b.at(time.Minute).next(fleet.Trouble{Incarnation: who("a", "i0"), Code: contract.CodeCannotStart})
	require.Equal(t, seq, b.r.Seq(), "another process")
	b.next(sick)
	assert.Equal(t, contract.CodeCannotStart, placed(b.r, "a").Trouble)
	seq = b.r.Seq()
	b.at(2 * time.Minute).next(sick)
	assert.Equal(t, seq, b.r.Seq(), "a repeat is no change")
	b.r = fleet.Restore(&contract.FleetConfig{}, b.r.Snapshot(0))
	seen, _ := b.r.Worker("a")
	require.NotNil(t, seen.Trouble)
	assert.Equal(t, t0.Add(time.Minute), seen.Trouble.Since)
	assert.Equal(t, contract.WorkerSuspect, seen.Transitions[len(seen.Transitions)-1].Code)
	b.next(fleet.Trouble{Incarnation: a})
	assert.Empty(t, placed(b.r, "a").Trouble)

	b.next(fleet.Trouble{Incarnation: a, Code: contract.CodeNotInstalled, Detail: "no such file"})
	assert.Empty(t, placed(b.r, "a").Trouble, "other runs may send it everything else")
	seen, _ = b.r.Worker("a")
	require.NotNil(t, seen.Trouble)
	b.r = fleet.Restore(&contract.FleetConfig{}, b.r.Snapshot(0))
	assert.False(t, b.r.NextDeadline().After(b.now.Add(contract.NotInstalledTime)))
	b.at(12 * time.Minute).next(fleet.Tick{})
	seen, _ = b.r.Worker("a")
	assert.Nil(t, seen.Trouble)

	full := fleet.Trouble{Incarnation: a, Code: contract.CodeDiskFull, Detail: "0 B of 16 MiB left"}
	b.next(full)
	b.at(14 * time.Minute).next(full)
	b.at(16 * time.Minute).next(fleet.Tick{})
	seen, _ = b.r.Worker("a")
	require.NotNil(t, seen.Trouble, "repeated reports keep it")
	assert.Empty(t, placed(b.r, "a").Trouble, "it gets work as before")
	b.at(18 * time.Minute).next(fleet.Tick{})
	seen, _ = b.r.Worker("a")
	assert.Nil(t, seen.Trouble, "three minutes without a report")

	b.next(sick)
	b.next(fleet.Unregister(a))
	b.next(registration(who("a", "i2"), "host", 2))
	seen, _ = b.r.Worker("a")
	assert.Nil(t, seen.Trouble, "a new process")
}
