package dispatch

import (
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/internal/placement"
	"github.com/roundsman/roundsman/jobtype"
)

// What operators, other policies and an unlucky fleet add to the world of
// sim_test.go. The invariants are the same; that something was changed on the way
// is no excuse.

// roughly is one thing of those that act does not know.
func (w *world) roughly() {
	switch rapid.IntRange(0, 8).Draw(w.t, "rough") {
	case 0, 1:
		w.setPolicy()
	case 2:
		w.step(BudgetSet{Counts: rapid.Bool().Draw(w.t, "counts")})
	case 3:
		w.byKey()
	case 4:
		w.giveUpWorker()
	case 5:
		w.welcome()
	case 6:
		w.lateFailure()
	case 7:
		w.events += rapid.SampledFrom([]int{rollSoftEvents, rollRetryEvents, rollHardEvents}).Draw(w.t, "events")
	case 8:
		w.roll()
	}
}

// setPolicy replaces the whole policy. What runs over a lowered limit goes on.
func (w *world) setPolicy() {
	policy := policyGen().Draw(w.t, "new policy")
	if w.g.CheckPolicy(policy) != nil {
		return
	}
	before := w.g.Counts()
	pages := w.g.phase == PhaseDetecting
	w.step(PolicySet{Policy: policy})
	if pages && w.g.phase == PhaseDetecting {
		require.Equal(w.t, before, w.g.Counts())
	}
	require.Equal(w.t, policy, w.g.Policy())
}

// byKey says something about the jobs of a key; of one that no job has, nothing
// changes.
func (w *world) byKey() {
	key := rapid.SampledFrom([]string{"k1", "k2", "k3", "of nobody"}).Draw(w.t, "named")
	before := w.g.Counts()
	if rapid.Bool().Draw(w.t, "expires") {
		w.step(JobExpired{DedupeKey: key})
	} else {
		w.step(JobCanceled{DedupeKey: key})
	}
	if key == "of nobody" {
		require.Equal(w.t, before.Canceled+before.Expired+before.Stale, w.g.Counts().Canceled+w.g.Counts().Expired+w.g.Counts().Stale)
	}
}

// giveUpWorker is the registry giving up a worker, or an incarnation of it that
// lost its id to another.
func (w *world) giveUpWorker() {
	for _, id := range []string{"w0", "w1", "w2", "w3"} {
		s := w.workers[id]
		if s == nil || !rapid.Bool().Draw(w.t, "this one") {
			continue
		}
		if rapid.Bool().Draw(w.t, "fenced") {
			s.Fenced = append(s.Fenced, s.Instance)
			s.Instance += "f"
			s.suspect = false
		} else {
			s.Gone = !s.Gone
			s.Online, s.Offline = !s.Gone, s.Gone
			s.State = map[bool]string{true: "ONLINE", false: "OFFLINE"}[s.Online]
		}
		w.step(WorkersChanged{Workers: w.view()})
		return
	}
}

// welcome is a worker that says that it has room.
func (w *world) welcome() {
	if s := w.workers["w0"]; s != nil {
		others := rapid.IntRange(0, 4).Draw(w.t, "others there")
		w.step(WorkerHasRoom{ID: "w0", Instance: s.Instance, Load: placement.Report{At: w.now, Others: others}})
	}
}

// lateFailure delivers an outcome by signal, good or bad, of whatever attempt,
// also of one that counts as running: the server had given it up, and its end is
// on its way.
func (w *world) lateFailure() {
	n := rapid.IntRange(1, 40).Draw(w.t, "of job")
	j := w.g.job(n)
	if j == nil {
		return
	}
	attempt := rapid.IntRange(1, 4).Draw(w.t, "of attempt")
	failure := rapid.SampledFrom([]Failure{FailureNone, FailureFailed, FailurePermanent, FailureTimeout, FailureCanceled, FailureDraining}).Draw(w.t, "late failure")
	ending := Ending{Failure: failure, Message: string(failure), Duration: time.Second}
	id := [2]int{n, attempt}
	counts := attempt == j.Attempt && !j.State.Final() && attempt == w.started[n] && !j.isDAG() && !w.told[id] && (failure == FailureNone || !w.retried[id])
	if !counts {
		before := w.g.Counts()
		if j.isDAG() {
			return // It has no worker that could deliver anything.
		}
		w.step(OutcomeDelivered{Job: n, Attempt: attempt, Ending: ending})
		require.Equal(w.t, before, w.g.Counts(), "the outcome of another attempt than the last, or one that is known, does not count")
		return
	}
	w.hears(n, attempt, ending)
	switch failure {
	case FailureFailed, FailurePermanent, FailureTimeout:
		if w.g.cfg.Budget && j.Canceling == "" {
			w.failed[[2]int{n, attempt}] = true
		}
	default:
	}
	_, running := w.running[n]
	delete(w.running, n)
	w.step(OutcomeDelivered{Job: n, Attempt: attempt, Ending: ending})
	if running && w.end == nil {
		before := w.g.Counts()
		w.step(JobEnded{Job: n, Attempt: attempt, Ending: Ending{Failure: FailureWorkerLost, Message: "heartbeat timeout"}})
		require.Equal(w.t, before, w.g.Counts(), "an end told twice counts once")
	}
}

// hears writes down what is known of an attempt.
func (w *world) hears(n, attempt int, ending Ending) {
	id := [2]int{n, attempt}
	switch ending.Failure {
	case FailureWorkerLost, FailureNotTaken:
		return
	case FailureFailed, FailureStale, FailureTimeout:
		w.retried[id] = true
	default:
	}
	w.told[id] = w.told[id] || !ending.Unheard
}

// roll continues as new if this is the moment for it: probes that are on their
// way are lost, nothing else.
func (w *world) roll() {
	if w.end != nil || !w.g.ShouldContinueAsNew() {
		return
	}
	require.Empty(w.t, w.running, "nothing that runs is lost")
	if rapid.IntRange(0, 4).Draw(w.t, "too large") == 0 {
		data, err := w.g.Snapshot()
		require.NoError(w.t, err)
		shed, decisions, err := w.g.Shed(len(data)-rapid.IntRange(0, len(data)/8).Draw(w.t, "less"), w.now)
		require.True(w.t, err == nil || len(w.g.pendingByUrgency()) == 0, "shed %d: %v", shed, err)
		for _, d := range decisions {
			w.carryOut(d)
		}
		if shed > 0 {
			w.step(Tick{}) // What was given back is told before the state travels.
		}
		if w.end != nil || !w.g.ShouldContinueAsNew() {
			return
		}
	}
	before, status := w.g.Counts(), w.g.Status(w.now)
	data, err := w.g.Snapshot()
	require.NoError(w.t, err)
	restored, err := Restore(data)
	require.NoError(w.t, err)
	require.Equal(w.t, before, restored.Counts())
	require.Equal(w.t, status, restored.Status(w.now))
	w.g, w.events, w.probes = restored, 0, nil
	w.step(Tick{})
}

// meddle is what may happen while the group detects.
func (w *world) meddle() {
	switch rapid.IntRange(0, 13).Draw(w.t, "meddle") {
	case 0:
		w.pause()
	case 1:
		w.setPolicy()
	case 2:
		w.step(JobCanceled{Job: rapid.IntRange(1, 3).Draw(w.t, "no job yet")})
	case 3:
		w.step(KeyStopped{DedupeKey: "k1", Reason: "held back"})
	case 4:
		w.giveUpWorker()
	case 5:
		w.flip()
	case 6:
		if rapid.IntRange(0, 5).Draw(w.t, "really") == 0 {
			w.step(GroupCanceled{})
		}
	case 7:
		if rapid.IntRange(0, 5).Draw(w.t, "really") == 0 {
			w.step(TypeStopped{Reason: "disabled"})
		}
	case 8:
		w.pass(time.Duration(rapid.IntRange(1, 30).Draw(w.t, "seconds")) * time.Second)
	default:
	}
}

func (w *world) pause() {
	w.paused = !w.paused
	if w.paused {
		w.step(Paused{Note: "n"})
	} else {
		w.step(Resumed{})
	}
}

// detectRoughly plays detections that fail, are lost, are told to stop, and have
// operators between their pages, until one is done or the group has ended.
func (w *world) detectRoughly() {
	for range 60 {
		if w.end != nil || w.g.phase != PhaseDetecting {
			return
		}
		w.meddle()
		if w.end != nil || w.g.phase != PhaseDetecting {
			return
		}
		if w.detect == nil || w.detect.Attempt != w.g.detect.Attempt || !w.g.detect.Running {
			w.findDetector()
			continue
		}
		w.detectOnce()
	}
	// Fortune turns: a group that cannot detect ends by max_runtime.
	for w.end == nil && w.g.phase == PhaseDetecting {
		if w.paused {
			w.pause()
		}
		w.findDetector()
		if w.end == nil && w.g.detect.Running {
			w.endDetection(0, nil, FailureNone)
		}
	}
}

func (w *world) findDetector() {
	for _, s := range w.workers {
		s.Online, s.Fresh, s.Offline, s.Gone, s.hidden, s.State = true, true, false, false, false, "ONLINE"
	}
	w.step(WorkersChanged{Workers: w.view()})
	if w.end == nil && !w.g.detect.Running {
		w.pass(5 * time.Second)
	}
	for len(w.probes) > 0 && w.end == nil {
		w.answerProbe(true)
	}
}

func (w *world) detectOnce() {
	const size = 7
	attempt, pages := w.detect.Attempt, 0
	for start := 0; start < len(w.jobs); start += size {
		page := Page{Attempt: attempt, Seq: pages, Proposals: w.jobs[start:min(start+size, len(w.jobs))]}
		if w.batches != nil {
			page.BatchKeys = w.batches[start:min(start+size, len(w.jobs))]
		}
		if rapid.IntRange(0, 3).Draw(w.t, "between") == 0 {
			w.meddle()
		}
		if w.end != nil || w.g.CheckPage(page) != nil {
			require.True(w.t, w.end != nil || w.g.phase != PhaseDetecting || !w.g.detect.Running || w.g.detect.Attempt != attempt, "a page of the running detection is refused")
			return
		}
		w.g.TakePage(page)
		pages++
	}
	failure := rapid.SampledFrom([]Failure{
		FailureNone, FailureNone, FailureNone, FailureNone, FailureAtCapacity, FailureDraining, FailureNotTaken, FailureWorkerLost, FailureCanceled, FailureTimeout, FailureFailed,
	}).Draw(w.t, "detection ends")
	w.endDetection(pages, w.jobs, failure)
}

// endDetection ends the detection; that of an older one changes nothing.
func (w *world) endDetection(pages int, found []jobtype.Proposal, failure Failure) {
	attempt := w.g.detect.Attempt
	if attempt > 1 {
		before := w.g.Counts()
		w.step(DetectionEnded{Attempt: attempt - 1, Pages: 1, Emitted: 3})
		require.Equal(w.t, before, w.g.Counts(), "the end of an older detection changes nothing")
	}
	if w.end != nil {
		return
	}
	w.detect = nil
	w.step(DetectionEnded{Attempt: attempt, Pages: pages, Emitted: len(found), Failure: failure, Message: string(failure)})
}

// checkUnplaceable: nothing fails for want of a worker while there is one, nor
// while nothing may start.
func (w *world) checkUnplaceable(v JobView) {
	if w.seen[v.N] {
		return
	}
	w.seen[v.N] = true
	j := w.g.jobs[v.N-1]
	if v.State != StateFailed || !strings.HasPrefix(v.Error, "no worker ") && !strings.HasPrefix(v.Error, "worker ") || !strings.HasSuffix(v.Error, " for 2m") {
		return
	}
	require.False(w.t, w.paused, "job %d fails while nothing may start: %s", v.N, v.Error)
	for id, s := range w.workers {
		usable := s.Online && s.Fresh && !s.suspect && !s.hidden && (j.node() == "" || j.node() == id)
		for key, value := range j.Proposal.Labels {
			usable = usable && s.Labels[key] == value
		}
		require.False(w.t, usable, "worker %s is there, and job %d fails: %s", id, v.N, v.Error)
	}
}
