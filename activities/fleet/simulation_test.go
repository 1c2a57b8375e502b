package fleet

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

var (
	t0     = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	config = contract.FleetConfig{HeartbeatInterval: jobtype.Duration(5 * time.Second)}.WithDefaults()
)

type node struct {
	contract.Incarnation
	skew     time.Duration
	phase    time.Duration
	dead     bool
	stopping bool
	next     time.Time
	// last is the true time of its last beat.
	last time.Time
}

// world simulates workers, the server's list in memory, the observer and the registry, in steps
// of 100 ms.
type world struct {
	t            require.TestingT
	now          time.Time
	nodes        map[string]*node
	listed       map[string]*node
	beats        map[string]time.Time
	known        map[contract.Incarnation]contract.WorkerPulse
	wakeAt       time.Time
	since, until time.Time
	track        *tracker
	nextPoll     time.Time
	serverDown   bool
	observerDown bool
	left         *memory
	reports      []string
	describes    int
	// holders are the incarnations that hold an id; other silent ones are dropped. observations
	// counts the ended ones.
	holders      map[string]string
	observations int
}

func newWorld(t require.TestingT) *world {
	return &world{
		t: t, now: t0, nodes: map[string]*node{}, listed: map[string]*node{}, beats: map[string]time.Time{},
		known: map[contract.Incarnation]contract.WorkerPulse{},
	}
}

func (w *world) add(id string, skew, phase time.Duration) *node {
	n := &node{Incarnation: contract.Incarnation{ID: id, Instance: "1"}, skew: skew, phase: phase, next: w.now.Add(phase)}
	w.nodes[id] = n
	return n
}

func (w *world) run(d time.Duration) *world {
	for end := w.now.Add(d); w.now.Before(end); w.now = w.now.Add(100 * time.Millisecond) {
		w.beat()
		if !w.observerDown && !w.now.Before(w.nextPoll) {
			w.poll()
		}
	}
	return w
}

func (w *world) beat() {
	for _, n := range w.nodes {
		if n.dead || w.serverDown || w.now.Before(n.next) {
			continue
		}
		n.last, n.next = w.now, w.now.Add(5*time.Second)
		for _, key := range []string{n.ID + n.Instance + "/execute", n.ID + n.Instance + "/detect"} {
			w.listed[key], w.beats[key] = n, w.now.Add(n.skew)
		}
	}
}

func (w *world) restartServer() {
	w.listed, w.beats = map[string]*node{}, map[string]time.Time{}
}

func (w *world) killObserver() { w.left, w.track, w.observerDown = w.memory(), nil, true }

func (w *world) memory() *memory {
	if w.track == nil {
		return nil
	}
	m := w.track.memory()
	return &m
}

func (w *world) poll() {
	if w.track == nil {
		w.track = newTracker(w.input(), w.left)
		w.left = nil
	}
	w.nextPoll = w.now.Add(w.track.poll())
	if w.serverDown {
		return
	}
	from, to := w.track.window(w.now)
	var found []sighting
	for _, id := range sortedKeys(w.listed) {
		n, at := w.listed[id], w.beats[id]
		near := !at.Before(from) && !at.After(to)
		found = append(found, sighting{key: id, owner: n.Incarnation, near: near, shutting: n.stopping})
	}
	chosen := w.track.choose(found)
	w.describes += len(chosen)
	for _, i := range chosen {
		found[i].beat = w.beats[found[i].key]
	}
	w.track.look(w.now, found)
	if result, due := w.track.report(); due {
		w.tell(result)
	}
}

func (w *world) input() contract.ObserveWorkersInput {
	in := contract.ObserveWorkersInput{Config: &config, WakeAt: w.wakeAt, SightSince: w.since, SightUntil: w.until}
	for _, p := range w.known {
		in.Known = append(in.Known, p)
	}
	return in
}

// tell stores the reports of a result and observes again, as the registry does.
func (w *world) tell(result contract.ObserveWorkersResult) {
	for _, change := range result.Changes {
		who := change.Incarnation
		was := w.known[who]
		if was.Fresh != change.Fresh || was.Seen != change.Seen || was.ShuttingDown != change.ShuttingDown {
			w.reports = append(w.reports, fmt.Sprintf("%s fresh=%t stopping=%t", change.ID, change.Fresh, change.ShuttingDown))
		}
		w.known[who] = change
	}
	settled := result.SightUntil.Sub(result.SightSince) >= 30*time.Second
	if !w.wakeAt.IsZero() && settled && !result.SightUntil.Before(w.wakeAt) {
		w.reports = append(w.reports, "wake")
		w.wakeAt = time.Time{}
	}
	for who, p := range w.known {
		if holder := w.holders[who.ID]; holder != "" && holder != who.Instance && !p.Fresh {
			delete(w.known, who) // as the registry forgets it
		}
	}
	w.since, w.until = result.SightSince, result.SightUntil
	w.track = nil
	w.observations++
}

func (w *world) pulse(id string) contract.WorkerPulse {
	return w.known[contract.Incarnation{ID: id, Instance: "1"}]
}

// assertLast compares the date of the last change with the true one.
func (w *world) assertLast(t *testing.T, id string) {
	t.Helper()
	assert.InDelta(t, 0, w.pulse(id).LastChange.Sub(w.nodes[id].last).Seconds(), 2.5, "last change of %s", id)
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	for i := range keys {
		for j := i; j > 0 && keys[j] < keys[j-1]; j-- {
			keys[j], keys[j-1] = keys[j-1], keys[j]
		}
	}
	return keys
}

func TestADeadWorkerIsFoundWithinThreeIntervals(t *testing.T) {
	t.Parallel()
	for phase := range 50 {
		w := newWorld(t)
		n := w.add("a", 0, time.Duration(phase)*100*time.Millisecond)
		w.run(20 * time.Second)
		n.dead = true
		for w.pulse("a").Fresh {
			require.LessOrEqual(t, w.now.Sub(n.last), 15*time.Second, "phase %d", phase)
			w.run(100 * time.Millisecond)
		}
	}
}

func TestAHealthyFleetIsSilent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 50 {
		w.add(fmt.Sprintf("w%02d", i), time.Duration(i)*20*time.Millisecond, time.Duration(i)*100*time.Millisecond)
	}
	w.run(time.Minute)
	assert.Len(t, w.reports, 50, "each is seen once")
	w.reports, w.describes = nil, 0
	w.run(time.Hour)
	assert.Empty(t, w.reports)
	assert.LessOrEqual(t, w.describes, 2400*refined, "the window explains all; only one block is refined at a time")
}

func TestASkewedClockIsJudgedByChange(t *testing.T) {
	t.Parallel()
	for _, skew := range []time.Duration{-3 * time.Minute, -4 * time.Second, 0, 4 * time.Second, 3 * time.Minute, 24 * time.Hour} {
		t.Run(skew.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for _, id := range []string{"a", "b", "c"} {
				w.add(id, 0, time.Second)
			}
			n := w.add("x", skew, 3*time.Second)
			w.run(2 * time.Minute)
			require.True(t, w.pulse("x").Fresh)
			w.run(30 * time.Minute)
			assert.True(t, w.pulse("x").Fresh)
			n.dead = true
			died := n.last
			// A dead worker with a skewed clock enters the common window later.
			for w.now.Sub(died) < 6*time.Minute {
				w.run(100 * time.Millisecond)
				age := w.now.Sub(died)
				if age < 12*time.Second {
					require.True(t, w.pulse("x").Fresh, "age %s", age)
				}
				if age > 20*time.Second {
					require.False(t, w.pulse("x").Fresh, "age %s", age)
				}
			}
			w.assertLast(t, "x")
			assert.InDelta(t, skew.Seconds(), float64(w.pulse("x").SkewMS)/1000, 5, "skew")
		})
	}
}

func TestSkewBecomesExact(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add("a", 0, 0)
	w.add("b", 0, 0)
	w.add("x", 7*time.Minute, 3*time.Second)
	w.run(3 * time.Minute)
	w.nodes["x"].dead = true
	w.run(time.Minute)
	assert.InDelta(t, 420_000, w.pulse("x").SkewMS, 2100)
}

func TestAClockThatIsSetIsNotADeath(t *testing.T) {
	t.Parallel()
	for _, jump := range []time.Duration{-3 * time.Minute, -3 * time.Second, 3 * time.Second, 3 * time.Minute} {
		t.Run(jump.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			n := w.add("x", 0, 0)
			w.add("y", 0, time.Second)
			w.add("z", 0, 2*time.Second)
			w.run(time.Minute)
			w.reports = nil
			n.skew += jump
			w.run(time.Minute)
			assert.Empty(t, w.reports, "no loss of freshness")
			n.dead = true
			w.run(22 * time.Second)
			assert.False(t, w.pulse("x").Fresh, "and a death after it is seen")
			w.assertLast(t, "x")
		})
	}
}

func TestADeadWorkerIsDatedThoughItLeavesTheList(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.add("a", 0, 0)
	w.add("b", 0, 0)
	w.run(time.Minute)
	n.dead = true
	w.run(8 * time.Second)
	delete(w.listed, "a/execute")
	delete(w.listed, "a/detect")
	w.run(14 * time.Second)
	assert.False(t, w.pulse("a").Fresh)
	// Only the last look can date a removed entry.
	assert.WithinRange(t, w.pulse("a").LastChange, n.last.Add(-time.Second), n.last.Add(9*time.Second))
}

// A restarted server has an empty list; each worker is listed again with its next beat. No
// worker is lost, and a silent worker keeps the time of its last beat.
func TestServerRestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add("a", 0, 0)
	n := w.add("b", 0, 0)
	w.run(time.Minute)
	n.dead = true
	w.run(30 * time.Second)
	died := w.pulse("b").LastChange
	require.False(t, w.pulse("b").Fresh)
	w.reports = nil
	w.wakeAt = died.Add(2 * time.Minute)
	w.track = nil
	w.restartServer()
	w.serverDown = true
	w.run(20 * time.Second)
	w.serverDown = false
	w.run(time.Minute)
	assert.Empty(t, w.reports, "the living are not lost for an absence of the server")
	w.run(time.Minute)
	assert.Equal(t, []string{"wake"}, w.reports, "the silent reach their threshold on the same timeline")
	assert.Equal(t, died, w.pulse("b").LastChange)
}

// A gap does not count. For a worker that was silent before it, the silence is confirmed before
// its threshold is reported.
func TestObserverGap(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add("a", 0, 0)
	n := w.add("b", 0, 0)
	w.run(time.Minute)
	n.dead = true
	w.run(30 * time.Second)
	w.reports = nil
	w.wakeAt = w.pulse("b").LastChange.Add(6 * time.Minute)
	w.track = nil
	w.run(10 * time.Second)

	w.killObserver()
	w.run(time.Hour)
	w.observerDown = false
	resumed := w.now
	for len(w.reports) == 0 && w.now.Before(resumed.Add(2*time.Minute)) {
		w.run(100 * time.Millisecond)
	}
	assert.Equal(t, []string{"wake"}, w.reports, "a beats and is not lost")
	assert.InDelta(t, 30, w.now.Sub(resumed).Seconds(), 2.5, "after the observer has looked for six intervals")
}

// A worker that beats again within a gap is back before its threshold is reported.
func TestComingBackWithinAGapPrecedesTheThreshold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add("a", 0, 0)
	n := w.add("b", 0, 0)
	w.run(time.Minute)
	n.dead = true
	w.run(30 * time.Second)
	w.reports = nil
	w.wakeAt = w.pulse("b").LastChange.Add(2 * time.Minute)
	w.killObserver()
	w.run(5 * time.Minute)
	n.dead = false
	w.run(5 * time.Minute)
	w.observerDown = false
	w.run(2 * time.Second)
	require.Equal(t, []string{"b fresh=true stopping=false"}, w.reports)
}

// The death of a worker within a gap, with the server up, is dated by its entry.
func TestDeathWithinAGapIsDatedByTheList(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.add("a", 0, 0)
	w.add("b", 0, 0)
	w.run(time.Minute)
	w.killObserver()
	w.run(30 * time.Second)
	n.dead = true
	w.run(2 * time.Minute)
	w.observerDown = false
	w.run(5 * time.Second)
	assert.False(t, w.pulse("a").Fresh)
	w.assertLast(t, "a")
}

// If server and observer are away together, a death in the gap is undetectable, so the gap does
// not count.
func TestDeathThatCannotBeToldFromTheGap(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.add("a", 0, 0)
	w.add("b", 0, 0)
	w.run(time.Minute)
	w.serverDown, n.dead = true, true
	w.restartServer()
	w.killObserver()
	w.run(time.Hour)
	w.serverDown, w.observerDown = false, false
	resumed := w.now
	w.run(30 * time.Second)
	assert.False(t, w.pulse("a").Fresh)
	assert.True(t, w.pulse("b").Fresh)
	assert.WithinRange(t, w.pulse("a").LastChange, resumed.Add(-10*time.Second), resumed.Add(time.Second))
}

func TestShuttingDownNeedsAllQueues(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.add("a", 0, 0)
	w.run(time.Minute)
	n.stopping = true
	w.run(5 * time.Second)
	assert.True(t, w.pulse("a").ShuttingDown)
	assert.True(t, w.pulse("a").Fresh, "it still beats")
}

// A dead stranger's entry stays listed for minutes and must not look alive to each new
// observation.
func TestADeadStrangerIsNotReported(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add("a", 0, 0)
	n := w.add("b", 3*time.Minute, 0)
	w.observerDown = true
	w.run(time.Minute)
	n.dead = true
	w.run(time.Minute)
	w.observerDown = false
	w.run(time.Minute)
	assert.Equal(t, []string{"a fresh=true stopping=false"}, w.reports)
}

// Under constant churn observations end after every poll. A dead worker is still found.
func TestDeathIsFoundThoughEveryObservationIsShort(t *testing.T) {
	t.Parallel()
	for _, skew := range []time.Duration{0, 3 * time.Minute} {
		w := newWorld(t)
		n := w.add("a", skew, 0)
		for i := range 5 {
			w.add(fmt.Sprintf("b%d", i), 0, 0)
		}
		w.run(time.Minute)
		n.dead = true
		for range 12 {
			w.run(2 * time.Second)
			if w.track != nil {
				result, _ := w.track.report()
				w.tell(result)
			}
		}
		assert.False(t, w.pulse("a").Fresh, "skew %s", skew)
		w.assertLast(t, "a")
		for i := range 5 {
			assert.True(t, w.pulse(fmt.Sprintf("b%d", i)).Fresh)
		}
	}
}

// TestAPredecessorThatStopsIsNoNews: after a restart the server lists the stopped process for
// five more minutes. The registry has dropped it; repeated reports would fill its history.
func TestAPredecessorThatStopsIsNoNews(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old := w.add("a", 0, time.Second)
	w.add("b", 0, 2*time.Second)
	w.run(time.Minute)

	old.stopping = true
	w.run(2 * time.Second)
	old.dead = true
	successor := &node{Incarnation: contract.Incarnation{ID: "a", Instance: "2"}, next: w.now}
	w.nodes["a2"] = successor
	w.holders = map[string]string{"a": "2", "b": "1"}
	w.known[successor.Incarnation] = contract.WorkerPulse{Incarnation: successor.Incarnation, LastChange: w.now, Fresh: true}
	w.observations = 0
	w.run(5 * time.Minute)
	assert.LessOrEqual(t, w.observations, 4, "the successor is seen, the predecessor is silent; that is all")
	assert.True(t, w.known[successor.Incarnation].Fresh)
	assert.NotContains(t, w.known, old.Incarnation)
}
