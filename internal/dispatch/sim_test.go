package dispatch

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/internal/placement"
	"github.com/roundsman/roundsman/jobtype"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// world is the deliberately dumb reference: it carries decisions out, keeps its
// own books and checks the invariants of the package doc at every step.
type world struct {
	t       *rapid.T
	g       *Group
	now     time.Time
	workers map[string]*simWorker
	running map[int]simRun
	started map[int]int
	ended   map[int]State
	detect  *StartDetection
	probes  []ProbeWorker
	jobs    []jobtype.Proposal
	// batches are the batch keys of the jobs; nil: there are no batches.
	batches []string
	end     *End
	// restore: go through Snapshot and Restore before every step.
	restore bool
	paused  bool
	// claiming: the keys were asked for; doors are the jobs that asked for
	// resources, by number; granted those that have them.
	claiming bool
	doors    map[int]Acquire
	granted  map[int]int
	fence    int64
	fences   map[int64]bool
	hungry   bool
	// failed are attempts that count against a budget; reported is what was told.
	failed   map[[2]int]bool
	reported Report
	toldAt   time.Time
	// barred are jobs of keys that were stopped, with their retries until then.
	barred map[int]int
	// window is what the group was told last; nil: none.
	window *Window
	// away is how the group left to come back; nil: it has not.
	away *Withdraw
	// events is how long the history is.
	events int
	// unheard: the detection was told to end.
	unheard bool
	// told are attempts whose end their worker has told, retried those whose
	// failure was counted.
	told, retried map[[2]int]bool
	// seen are jobs whose end was looked at.
	seen map[int]bool
	// quick are processes of workers where a job ended quickly, and none was
	// refused since.
	quick map[string]bool
	// swift: all jobs end quickly.
	swift bool
}

type simWorker struct {
	Worker
	suspect bool
	// hidden: the registry does not know it at the moment.
	hidden bool
}

type simRun struct {
	start StartJob
	asked bool
}

func policyGen() *rapid.Generator[jobtype.Policy] {
	return rapid.Custom(func(t *rapid.T) jobtype.Policy {
		return jobtype.Policy{
			GlobalExecutionConcurrency:    rapid.IntRange(1, 6).Draw(t, "global"),
			PerWorkerExecutionConcurrency: rapid.IntRange(1, 4).Draw(t, "perWorker"),
			RetryLimit:                    rapid.IntRange(0, 2).Draw(t, "retry"),
			MaxRuntime:                    jobtype.Duration(rapid.SampledFrom([]time.Duration{time.Minute, 10 * time.Minute}).Draw(t, "runtime")),
			ExecutionTimeout:              jobtype.Duration(2 * time.Minute),
			MaxJobsPerDetection:           rapid.IntRange(1, 30).Draw(t, "max"),
			OnDeadline:                    rapid.SampledFrom([]jobtype.OnDeadline{jobtype.DeadlineCancel, jobtype.DeadlineDrain}).Draw(t, "deadline"),
			DrainGrace:                    jobtype.Duration(time.Minute),
			OnWorkerLoss:                  rapid.SampledFrom([]jobtype.OnWorkerLoss{jobtype.WorkerLossReplace, jobtype.WorkerLossFail, jobtype.WorkerLossHold}).Draw(t, "loss"),
			OnWindowEnd:                   rapid.SampledFrom([]jobtype.OnWindowEnd{jobtype.WindowEndDrain, jobtype.WindowEndCheckpoint}).Draw(t, "windowEnd"),
			WorkerLossLimit:               rapid.IntRange(1, 2).Draw(t, "lossLimit"),
			Routing:                       rapid.SampledFrom([]jobtype.Routing{jobtype.RoutingWorker, jobtype.RoutingWorker, jobtype.RoutingShared}).Draw(t, "routing"),
		}.WithDefaults()
	})
}

func proposalGen() *rapid.Generator[jobtype.Proposal] {
	return rapid.Custom(func(t *rapid.T) jobtype.Proposal {
		p := jobtype.Proposal{
			DedupeKey: rapid.SampledFrom([]string{"", "k1", "k2", "k3", "k4", "k5", "k6", "k7"}).Draw(t, "key"),
			Priority:  rapid.SampledFrom([]jobtype.Priority{"", jobtype.PriorityLow, jobtype.PriorityHigh, jobtype.PriorityCritical}).Draw(t, "priority"),
			Node:      rapid.SampledFrom([]string{"", "", "", "", "w1", "w9"}).Draw(t, "node"),
		}
		if rapid.IntRange(0, 7).Draw(t, "dag") == 0 {
			p.DAG = "version: 1"
		}
		p.EstimatedRuntime = seconds(rapid.SampledFrom([]int{0, 0, 5, 20, 90}).Draw(t, "estimate"))
		switch rapid.IntRange(0, 9).Draw(t, "timing") {
		case 0:
			p.NotBefore = epoch.Add(30 * time.Second)
		case 1:
			p.ExpiresAt = epoch.Add(20 * time.Second)
		case 2:
			p.Labels = map[string]string{"rack": "r1"}
		}
		switch rapid.IntRange(0, 5).Draw(t, "needs") {
		case 0:
			p.Resources = map[string]int{"db": 1}
		case 1:
			p.Exclusive = []string{"volume/1"}
		case 2:
			p.Shared = []string{"volume/1"}
		}
		return p
	})
}

func newWorld(t *rapid.T, restore bool) *world {
	w := &world{
		t: t, now: epoch, workers: map[string]*simWorker{}, running: map[int]simRun{}, started: map[int]int{},
		ended: map[int]State{}, failed: map[[2]int]bool{}, barred: map[int]int{}, told: map[[2]int]bool{}, retried: map[[2]int]bool{}, seen: map[int]bool{}, quick: map[string]bool{}, restore: restore, doors: map[int]Acquire{}, granted: map[int]int{}, fences: map[int64]bool{}, fence: 1 << 40,
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "workers") {
		id := fmt.Sprintf("w%d", i)
		worker := Worker{ID: id, Instance: "a", State: "ONLINE", Online: true, Fresh: true, Detect: true, Execute: true, Shared: true, Slots: rapid.IntRange(1, 4).Draw(t, "slots")}
		if i == 1 {
			worker.Labels = map[string]string{"rack": "r1"}
		}
		w.workers[id] = &simWorker{Worker: worker}
	}
	w.swift = rapid.Bool().Draw(t, "swift")
	if rapid.Bool().Draw(t, "windowed") {
		w.window = w.someWindow()
	}
	w.g = New(Config{
		JobType: "jt", Handler: "h", Policy: policyGen().Draw(t, "policy"), Claims: rapid.Bool().Draw(t, "claims"), Window: w.window,
		Kept:   []Kept{{Key: "k1", Checkpoint: json.RawMessage(`1`), At: epoch}, {Key: "of nobody", Checkpoint: json.RawMessage(`2`), At: epoch}},
		Budget: rapid.Bool().Draw(t, "budget"), Submitted: rapid.IntRange(0, 3).Draw(t, "submitted") == 0,
		BatchSize: rapid.SampledFrom([]int{0, 0, 1, 2, 5}).Draw(t, "batch"),
	}, w.now)
	// Numbers are drawn small by preference: without a choice among lower bounds most
	// groups would have a job or two.
	w.jobs = rapid.SliceOfN(proposalGen(), rapid.SampledFrom([]int{0, 4, 20}).Draw(t, "at least"), 40).Draw(t, "proposals")
	if w.g.cfg.BatchSize > 0 {
		w.batches = rapid.SliceOfN(rapid.SampledFrom([]string{"", "b1", "b2"}), len(w.jobs), len(w.jobs)).Draw(t, "batches")
	}
	return w
}

// someWindow closes soon, late or never; it may have closed already.
func (w *world) someWindow() *Window {
	drawn := Window{Learned: time.Duration(rapid.IntRange(0, 15).Draw(w.t, "learned")) * time.Second, LearnedOf: 20}
	if after := rapid.IntRange(-20, 200).Draw(w.t, "closes"); after%7 != 0 {
		drawn.Closes = w.now.Add(time.Duration(after) * time.Second)
		if rapid.Bool().Draw(w.t, "another") {
			drawn.Next = latestOf(w.now, drawn.Closes).Add(time.Duration(rapid.IntRange(1, 60).Draw(w.t, "next")) * time.Second)
			drawn.Longest = time.Duration(rapid.SampledFrom([]int{0, 30, 300}).Draw(w.t, "longest")) * time.Second
		}
	}
	return &drawn
}

// checkWindow: nothing starts that the window has no room for.
func (w *world) checkWindow(d StartJob) {
	if w.window == nil || w.window.Closes.IsZero() {
		return
	}
	takes := d.Proposal.EstimatedRuntime.Std()
	if takes == 0 {
		takes = w.window.Learned
	}
	require.True(w.t, w.now.Before(w.window.Closes), "job %d starts after the closing", d.Job)
	require.False(w.t, w.now.Add(takes).After(w.window.Closes), "job %d starts %s before the closing and takes %s", d.Job, w.window.Closes.Sub(w.now), takes)
}

// checkKept: nobody goes on with what is done, and what was not found stays.
func (w *world) checkKept() {
	kept := map[string]bool{}
	for _, k := range w.g.Kept() {
		require.False(w.t, kept[k.Key], "%s is kept twice", k.Key)
		kept[k.Key] = true
	}
	require.True(w.t, kept["of nobody"])
	for _, j := range w.g.jobs {
		if key := j.keepKey(); key != "" {
			require.False(w.t, kept[key] && j.State != StateNotStarted && !j.Stopped, "%s is kept although its job is %s", key, j.State)
		}
	}
}

// checkClosed: after the closing nothing waits any more, and with only jobs left
// that do not fit, the group is over.
func (w *world) checkClosed() {
	if w.end != nil || w.g.phase != PhaseDispatching {
		return
	}
	waiting, late, working := 0, 0, 0
	for _, j := range w.g.jobs {
		switch {
		case j.State == StatePending && j.Late:
			late++
			require.False(w.t, w.g.fits(j, latestOf(w.now, j.ReadyAt)), "job %d is put aside although it fits", j.N)
			require.False(w.t, j.queued)
			require.True(w.t, w.paused || w.g.returning || w.g.waitOf(j, w.now).Code == WaitWindowFit)
		case j.State == StatePending:
			waiting++
		case !j.State.Final():
			working++
		}
	}
	require.Equal(w.t, w.g.late, late)
	require.True(w.t, late == 0 || waiting+working > 0, "%d jobs do not fit, and nothing else is left: why go on?", late)
	if w.g.returning {
		require.Positive(w.t, w.g.inFlight, "it stays although nothing runs any more")
		require.Empty(w.t, w.doors)
	} else if w.window != nil && !w.window.Closes.IsZero() && !w.now.Before(w.window.Closes) {
		require.Zero(w.t, waiting+late, "the window has closed")
		for n, run := range w.running {
			require.True(w.t, run.asked || w.g.Policy().OnWindowEnd == jobtype.WindowEndDrain || w.g.jobs[n-1].State != StateRunning)
		}
	}
}

func (w *world) view() []Worker {
	var list []Worker
	for i := range 5 {
		if s, ok := w.workers[fmt.Sprintf("w%d", i)]; ok && !s.hidden {
			list = append(list, s.Worker)
		}
	}
	return list
}

func (w *world) step(event Event) {
	var restored *Group
	if w.restore && w.g.phase != PhaseEnded {
		data, err := w.g.Snapshot()
		require.NoError(w.t, err)
		restored, err = Restore(data)
		require.NoError(w.t, err)
		restored.workers.restored = w.g.workers.restored
		restored.rollover = w.g.rollover
		restored.Observe(w.now, w.events, 0, 0)
	}
	w.g.Observe(w.now, w.events, 0, 0)
	decisions := w.g.Next(w.now, event)
	w.checkOrder(decisions)
	for _, d := range decisions {
		w.carryOut(d)
	}
	if restored != nil {
		again := restored.Next(w.now, event)
		require.Len(w.t, again, len(decisions))
		if len(decisions) > 0 {
			require.Equal(w.t, decisions, again, "the restored group decides alike")
		}
		require.Equal(w.t, w.g.Status(w.now), restored.Status(w.now))
		require.Equal(w.t, w.g.NextWake(), restored.NextWake())
		require.Equal(w.t, [3]any{w.g.Kept(), w.g.Dropped(), w.g.Took()}, [3]any{restored.Kept(), restored.Dropped(), restored.Took()})
		w.g = restored
	}
	w.check()
}

// checkOrder: of the jobs that any worker may run, no waiting one is more
// urgent than one that was started in its place.
func (w *world) checkOrder(decisions []Decision) {
	for _, d := range decisions {
		start, ok := d.(StartJob)
		if !ok {
			continue
		}
		for _, j := range w.g.jobs {
			if w.g.jobs[start.Job-1].isDAG() {
				continue // It takes no worker from anybody.
			}
			plain := !j.isDAG() && j.Proposal.Node == "" && len(j.Proposal.Labels) == 0 && j.Pin == "" && !j.hasNeeds() && !w.g.jobs[start.Job-1].hasNeeds()
			require.False(w.t, plain && j.State == StatePending && j.queued && before(j, w.g.jobs[start.Job-1]) &&
				j.Avoid == "", "job %d was started before job %d", start.Job, j.N)
		}
	}
}

func (w *world) carryOut(d Decision) {
	switch d := d.(type) {
	case StartDetection:
		require.True(w.t, w.detect == nil || w.unheard, "two detections")
		w.detect, w.unheard = &d, false
	case CancelDetection:
		require.NotNil(w.t, w.detect)
		w.unheard = true
	case StartJob:
		w.checkStart(d)
		w.running[d.Job] = simRun{start: d}
		w.started[d.Job]++
	case CancelJob:
		run, ok := w.running[d.Job]
		require.True(w.t, ok, "only a running job can be asked to end")
		run.asked = true
		w.running[d.Job] = run
	case LoseJob:
		require.Contains(w.t, w.running, d.Job, "only what runs can be given up")
		require.NotEmpty(w.t, d.Reason)
	case ForgetJob:
		delete(w.running, d.Job)
	case ProbeWorker:
		w.workers[d.ID].suspect = true
		w.probes = append(w.probes, d)
	case WatchFleet:
	case ClaimKeys:
		w.claiming = true
	case Acquire:
		_, twice := w.doors[d.Job]
		require.False(w.t, twice, "job %d asks twice", d.Job)
		require.NotContains(w.t, w.granted, d.Job)
		w.doors[d.Job] = d
	case GiveUp:
		_, waits := w.doors[d.Job]
		ask, has := w.granted[d.Job]
		require.True(w.t, waits && w.doors[d.Job].Ask == d.Ask || has && ask == d.Ask, "job %d gives up what it has", d.Job)
		delete(w.doors, d.Job)
		delete(w.granted, d.Job)
	case MoreFences:
		w.hungry = true
	case ReportEndings:
		w.hear(d.Report)
	case Withdraw:
		require.Nil(w.t, w.away, "it leaves once")
		require.True(w.t, w.g.cfg.Submitted, "what is detected is detected again")
		require.Empty(w.t, w.running)
		require.Empty(w.t, w.doors, "it keeps nothing from others")
		w.away, w.claiming, w.hungry = &d, false, false
	case End:
		require.Nil(w.t, w.end, "a group ends once")
		w.end = &d
	}
}

func (w *world) checkStart(d StartJob) {
	_, twice := w.running[d.Job]
	require.False(w.t, twice, "job %d has two attempts in flight", d.Job)
	require.Equal(w.t, w.started[d.Job]+1, d.Attempt)
	require.False(w.t, w.paused, "nothing starts while paused")
	require.Nil(w.t, w.away, "nothing starts while the group is away")
	require.False(w.t, d.Proposal.NotBefore.After(w.now), "not_before")
	w.checkWindow(d)
	w.checkLimits(d)
	require.False(w.t, w.fences[d.Fence], "fence %d was given twice", d.Fence)
	w.fences[d.Fence] = true
	if w.g.cfg.Claims && len(d.Proposal.Resources)+len(d.Proposal.Exclusive)+len(d.Proposal.Shared) > 0 {
		require.Contains(w.t, w.granted, d.Job, "job %d starts without its resources", d.Job)
	}
	if w.g.shared() || d.Proposal.DAG != "" {
		require.Empty(w.t, d.ID)
		return
	}
	s := w.workers[d.ID]
	require.NotNil(w.t, s)
	require.True(w.t, s.Online && s.Fresh && s.Execute && !s.suspect && !s.hidden, "worker %s must not get work", d.ID)
	if d.Proposal.Node != "" {
		require.Equal(w.t, d.Proposal.Node, d.ID)
	}
	for key, value := range d.Proposal.Labels {
		require.Equal(w.t, value, s.Labels[key])
	}
}

// checkLimits: nothing starts over a limit. Where one was lowered, what runs goes on.
func (w *world) checkLimits(d StartJob) {
	policy := w.g.Policy()
	require.Less(w.t, len(w.running), policy.GlobalExecutionConcurrency)
	there := 0
	for _, run := range w.running {
		if run.start.ID != "" && run.start.ID == d.ID && run.start.Instance == d.Instance {
			there++
		}
	}
	if d.ID == "" {
		return
	}
	require.Less(w.t, there, policy.PerWorkerExecutionConcurrency)
	slots := w.workers[d.ID].Slots
	if there < slots {
		return
	}
	require.Less(w.t, there, slots+placement.MaxAhead)
	require.True(w.t, w.quick[d.ID+d.Instance], "worker %s is sent more than it has slots for, and nothing was quick there", d.ID)
	for _, other := range w.g.workers.Members() {
		usable := other.Alive() && other.Fits(d.Proposal.Node, d.Proposal.Labels) && !other.CoolUntil.After(w.now)
		limited := other.InFlight >= policy.PerWorkerExecutionConcurrency
		require.False(w.t, other.ID != d.ID && usable && !limited && other.Room(w.g.kind()), "worker %s has a free slot", other.ID)
	}
}

func (w *world) check() {
	idle := len(w.doors)
	for n := range w.granted {
		if _, runs := w.running[n]; !runs && w.g.jobs[n-1].State == StatePending {
			idle++
		}
	}
	require.Equal(w.t, w.g.doors, idle)
	require.LessOrEqual(w.t, idle, jobtype.MaxGlobalConcurrency)
	views, _ := w.g.Jobs(Filter{Limit: 1000}, w.now)
	finals := map[State]int{}
	for _, v := range views {
		if before, ok := w.ended[v.N]; ok {
			require.Equal(w.t, before, v.State, "a final state is final")
		}
		if v.State.Final() {
			w.ended[v.N] = v.State
			finals[v.State]++
			w.checkUnplaceable(v)
		}
		w.checkWait(v)
	}
	for n, retries := range w.barred {
		require.Equal(w.t, retries, w.g.jobs[n-1].Retries, "job %d is tried again", n)
	}
	c := w.g.Counts()
	require.Equal(w.t, []int{finals[StateCompleted], finals[StateFailed], finals[StateCanceled], finals[StateStale], finals[StateExpired], finals[StateNotStarted]},
		[]int{c.Completed, c.Failed, c.Canceled, c.Stale, c.Expired, c.NotStarted})
	if w.end != nil {
		require.Equal(w.t, c.Detected, c.Accepted+c.Batched+c.Duplicates+c.AlreadyActive+c.Disabled+c.Surplus+c.Invalid)
		require.Equal(w.t, c.Accepted, c.Completed+c.Failed+c.Canceled+c.Stale+c.Expired+c.NotStarted)
		require.Empty(w.t, w.running)
		require.Empty(w.t, w.doors, "a group that has ended gave everything back")
		require.Empty(w.t, w.granted)
		w.checkKept()
		w.checkReported()
	}
	w.checkFull()
	w.checkClosed()
}

// checkWait: a job that neither runs nor has ended has a reason, others have none.
func (w *world) checkWait(v JobView) {
	if v.State == StateRunning || v.State.Final() {
		require.Zero(w.t, v.Wait, "job %d is %s", v.N, v.State)
		return
	}
	require.NotEmpty(w.t, v.Wait.Code, "job %d is %s", v.N, v.State)
	require.NotEmpty(w.t, v.Wait.Detail)
	require.False(w.t, v.Wait.Since.IsZero() || v.Wait.Since.After(w.now), "job %d: %+v", v.N, v.Wait)
	if v.Wait.Code == WaitBackoff || v.Wait.Code == WaitNotBefore {
		require.True(w.t, v.Wait.Until.After(w.now), "job %d: %+v", v.N, v.Wait)
	}
	switch v.Wait.Code {
	case WaitNoWorker, WaitUnreachable, WaitCordoned, WaitGlobalLimit, WaitWorkerLimit, WaitSlots, WaitOutcome, WaitStarting:
		require.NotEmpty(w.t, v.Wait.Object, "job %d: %+v", v.N, v.Wait)
	case WaitWindow:
		require.True(w.t, w.g.returning)
	case WaitDetecting, WaitClaims, WaitPaused, WaitBackoff, WaitNotBefore, WaitResources, WaitWindowFit:
	default:
		require.Fail(w.t, "unknown code", "job %d: %+v", v.N, v.Wait)
	}
}

// checkFull: with jobs queued that may run anywhere, no slot that may be used
// stays empty. A job that was held for its worker waits for that one.
func (w *world) checkFull() {
	g := w.g
	if w.end != nil || w.paused || w.hungry || g.rollover.Hold || g.phase != PhaseDispatching || g.stopping != stopNone || g.shared() || g.inFlight >= g.cfg.Policy.GlobalExecutionConcurrency {
		return
	}
	waiting := false
	for _, j := range g.jobs {
		require.False(w.t, j.State == StatePending && j.queued && j.isDAG() && !j.hasNeeds(), "job %d is a DAG and waits for nothing", j.N)
		waiting = waiting || j.State == StatePending && j.queued && j.Proposal.Node == "" && j.Pin == "" && len(j.Proposal.Labels) == 0 && !j.hasNeeds()
	}
	if !waiting {
		return
	}
	for _, worker := range g.workers.Members() {
		full := worker.InFlight >= min(worker.Offer.Slots, g.cfg.Policy.PerWorkerExecutionConcurrency)
		tried := !worker.Room(g.kind()) && worker.Load.TryAt.After(w.now)
		require.True(w.t, full || tried || !worker.Alive() || worker.CoolUntil.After(w.now), "worker %s idles while jobs wait", worker.ID)
		if tried && !full && worker.Alive() {
			require.False(w.t, g.NextWake().After(latestOf(worker.Load.TryAt, worker.CoolUntil)), "worker %s is not tried in time", worker.ID)
		}
	}
}

var failures = []Failure{
	FailureNone, FailureNone, FailureNone, FailureFailed, FailurePermanent, FailureStale, FailureTimeout,
	FailureAtCapacity, FailureDraining, FailureWorkerLost, FailureNotTaken,
}

// act does one random thing.
func (w *world) act() {
	switch rapid.IntRange(0, 27).Draw(w.t, "act") {
	case 24, 25, 26, 27:
		w.roughly()
	case 23:
		w.comeBack()
	case 20:
		key := rapid.SampledFrom([]string{"k1", "k2", "k3"}).Draw(w.t, "stopped")
		done := rapid.Bool().Draw(w.t, "done")
		for _, j := range w.g.jobs {
			leaves := done && len(j.Items) > 1 && (j.State == StatePending || j.State == StateHeld)
			if _, before := w.barred[j.N]; !before && w.g.forJobs() && j.carries(key) && !leaves {
				w.barred[j.N] = j.Retries
			}
		}
		w.step(KeyStopped{DedupeKey: key, Done: done, Reason: "held back"})
	case 21:
		if rapid.IntRange(0, 9).Draw(w.t, "really") == 0 {
			w.step(TypeStopped{Reason: "disabled"})
		}
	case 16, 17:
		w.admit(rapid.IntRange(0, 9).Draw(w.t, "answer"))
	case 18:
		w.answer()
	case 19:
		for n := range 40 {
			if ask, has := w.granted[n]; has && rapid.Bool().Draw(w.t, "lost") {
				w.step(AdmissionLost{Job: n, Ask: ask, Reason: "r"})
				return
			}
		}
	case 22:
		if w.g.stopping != stopWindow || w.g.returning {
			w.window = w.someWindow()
			w.step(WindowSet{Window: *w.window})
		}
	case 0:
		w.pass(time.Duration(rapid.IntRange(1, 60).Draw(w.t, "seconds")) * time.Second)
	case 1:
		w.flip()
	case 2:
		if n := rapid.IntRange(1, 40).Draw(w.t, "job"); rapid.Bool().Draw(w.t, "expire") {
			w.step(JobExpired{Job: n})
		} else {
			w.step(JobCanceled{Job: n})
		}
	case 3:
		if rapid.IntRange(0, 9).Draw(w.t, "really") == 0 {
			w.step(GroupCanceled{})
		}
	case 4:
		w.pause()
	case 5:
		w.answerProbe(rapid.Bool().Draw(w.t, "alive"))
	case 6:
		w.late()
	default:
		w.finishOne(rapid.SampledFrom(failures).Draw(w.t, "failure"))
	}
}

// pass lets time go by as the workflow does: the group is woken when it asked.
func (w *world) pass(d time.Duration) {
	until := w.now.Add(d)
	for w.end == nil {
		wake := w.g.NextWake()
		if wake.IsZero() || wake.After(until) {
			break
		}
		if wake.After(w.now) {
			w.now = wake
		}
		w.step(Tick{})
	}
	w.now = until
	w.step(Tick{})
}

func (w *world) flip() {
	id := fmt.Sprintf("w%d", rapid.IntRange(0, 3).Draw(w.t, "worker"))
	s, ok := w.workers[id]
	if !ok {
		return
	}
	switch rapid.IntRange(0, 5).Draw(w.t, "change") {
	case 4, 5: // A registry that was rebuilt does not know it yet, or knows it again.
		for _, hidden := range []bool{true, false}[:rapid.IntRange(1, 2).Draw(w.t, "back")] {
			s.hidden, s.suspect = hidden, false
			w.step(WorkersChanged{Workers: w.view()})
		}
	case 0:
		s.Fresh = !s.Fresh
	case 1:
		s.Online = !s.Online
		s.Offline = !s.Online
		s.State = map[bool]string{true: "ONLINE", false: "OFFLINE"}[s.Online]
	case 2:
		s.Instance += "x"
		s.suspect = false
	case 3:
		s.Beat++
		s.suspect = false
	}
	w.step(WorkersChanged{Workers: w.view()})
}

func (w *world) answerProbe(alive bool) {
	if len(w.probes) == 0 {
		return
	}
	p := w.probes[0]
	w.probes = w.probes[1:]
	if s := w.workers[p.ID]; alive && s.Instance == p.Instance {
		s.suspect = false
	}
	probed := WorkerProbed{ID: p.ID, Instance: p.Instance, Alive: alive}
	if rapid.Bool().Draw(w.t, "used") {
		probed.BeatAt, probed.Used = w.now, rapid.IntRange(0, 6).Draw(w.t, "used slots")
	}
	w.step(probed)
}

// late delivers an outcome of some attempt, current or not, out of band.
func (w *world) late() {
	n := rapid.IntRange(1, 40).Draw(w.t, "job")
	if _, running := w.running[n]; running {
		return
	}
	attempt := rapid.IntRange(1, 3).Draw(w.t, "attempt")
	counts := w.g.Counts()
	known := w.told[[2]int{n, attempt}]
	w.told[[2]int{n, attempt}] = true
	w.step(OutcomeDelivered{Job: n, Attempt: attempt, Ending: Ending{Duration: time.Second}})
	if attempt != w.started[n] || known {
		require.Equal(w.t, counts, w.g.Counts(), "the outcome of another attempt than the last does not count")
	}
}

func (w *world) oldest() (int, bool) {
	found := 0
	for n := range w.running {
		if found == 0 || n < found {
			found = n
		}
	}
	return found, found > 0
}

func (w *world) finishOne(failure Failure) {
	n, ok := w.oldest()
	if !ok {
		return
	}
	run := w.running[n]
	if run.asked && failure != FailureNone {
		failure = FailureCanceled
	}
	delete(w.running, n)
	switch failure {
	case FailureNone, FailurePermanent, FailureCanceled:
	default:
		if run.start.Proposal.DAG != "" {
			failure = FailureFailed // It has no worker that could be at fault.
		}
	}
	switch failure {
	case FailureFailed, FailurePermanent, FailureStale, FailureTimeout:
		if w.g.cfg.Budget && !run.asked {
			w.failed[[2]int{n, run.start.Attempt}] = true
		}
	default:
	}
	ended := JobEnded{Job: n, Attempt: run.start.Attempt, Ending: Ending{Failure: failure, Message: string(failure), Duration: time.Second}}
	if w.swift || rapid.Bool().Draw(w.t, "quick") {
		ended.Ending.Duration = time.Duration(rapid.IntRange(0, 120).Draw(w.t, "took")) * time.Millisecond
	}
	switch process := run.start.ID + run.start.Instance; failure {
	case FailureNone:
		w.quick[process] = w.quick[process] || ended.Ending.Duration < time.Second
	case FailureAtCapacity, FailureNotTaken:
		delete(w.quick, process)
	default:
	}
	ended.Ending.Unheard = failure == FailureTimeout && rapid.Bool().Draw(w.t, "unheard")
	w.hears(n, run.start.Attempt, ended.Ending)
	if rapid.IntRange(0, 2).Draw(w.t, "checkpoint") == 0 {
		ended.Ending.Checkpoint = json.RawMessage(`{"at":1}`)
	}
	if rapid.Bool().Draw(w.t, "loaded") {
		others := rapid.IntRange(0, 4).Draw(w.t, "others")
		ended.Ending.Load = placement.Report{At: w.now, Others: others, OfHandler: rapid.IntRange(0, others).Draw(w.t, "ofHandler")}
	}
	w.step(ended)
	if _, again := w.running[n]; !again && w.end == nil {
		before := w.g.Counts()
		w.step(ended)
		require.Equal(w.t, before, w.g.Counts(), "an end told twice counts once")
	}
}

// detection plays the detector, with pages sent twice, or submits the jobs.
func (w *world) detection() {
	if w.g.cfg.Submitted {
		w.step(Submitted{Proposals: w.jobs, BatchKeys: w.batches})
		before := w.g.Counts()
		w.step(Submitted{Proposals: w.jobs, BatchKeys: w.batches})
		require.Equal(w.t, before, w.g.Counts(), "what is submitted counts once")
		return
	}
	for w.detect == nil && w.end == nil {
		for _, s := range w.workers {
			s.Online, s.Fresh, s.Offline, s.State = true, true, false, "ONLINE"
		}
		w.step(WorkersChanged{Workers: w.view()})
	}
	if w.end != nil {
		return
	}
	const size = 7
	pages := 0
	for start := 0; start < len(w.jobs); start += size {
		page := Page{Attempt: w.detect.Attempt, Seq: pages, Proposals: w.jobs[start:min(start+size, len(w.jobs))]}
		if w.batches != nil {
			page.BatchKeys = w.batches[start:min(start+size, len(w.jobs))]
		}
		require.NoError(w.t, w.g.CheckPage(page))
		answer := w.g.TakePage(page)
		require.Equal(w.t, answer, w.g.TakePage(page))
		pages++
	}
	attempt := w.detect.Attempt
	w.detect = nil
	w.step(DetectionEnded{Attempt: attempt, Pages: pages, Emitted: len(w.jobs)})
}

func simulate(t *rapid.T, restore bool) {
	w := newWorld(t, restore)
	w.step(WorkersChanged{Workers: w.view()})
	if !w.g.cfg.Submitted && rapid.Bool().Draw(t, "rough detection") {
		w.detectRoughly()
	} else {
		w.detection()
	}
	for range rapid.SampledFrom([]int{0, 10, 40, 120}).Draw(t, "steps") {
		if w.end != nil {
			return
		}
		w.act()
	}
	w.settle()
}

// admit answers one job's ask: 0 refuses, others grant.
func (w *world) admit(verdict int) {
	for n := 1; n <= 40; n++ {
		asked, waits := w.doors[n]
		if !waits {
			continue
		}
		delete(w.doors, n)
		if verdict == 0 {
			w.step(NotAdmitted{Job: n, Ask: asked.Ask, Reason: "too large"})
			return
		}
		w.granted[n] = asked.Ask
		w.fence += 1000
		admitted := Admitted{Job: n, Ask: asked.Ask, Fence: w.fence, Fences: int64(verdict)}
		w.step(admitted)
		if w.end == nil {
			w.step(admitted) // Told twice, it counts once.
		}
		return
	}
}

// answer answers what the group as a whole asked.
func (w *world) answer() {
	if w.claiming {
		w.claiming = false
		keys, jobs := w.g.DedupeKeys()
		require.Len(w.t, jobs, len(keys))
		before := w.g.Counts()
		var active []int
		var by []string
		var held []HeldBack
		phase, again := w.g.phase, w.g.begun
		var whose []string
		for i, n := range jobs {
			if rapid.IntRange(0, 5).Draw(w.t, "held") == 0 {
				held = append(held, HeldBack{Job: n, Key: keys[i], Code: "RETRY_BUDGET"})
				continue
			}
			if rapid.IntRange(0, 3).Draw(w.t, "active") == 0 {
				active, by, whose = append(active, n), append(by, "other"), append(whose, keys[i])
			}
		}
		w.fence += 1000
		w.step(KeysClaimed{Active: active, By: by, Keys: whose, HeldBack: held, Fence: w.fence, Fences: int64(rapid.IntRange(1, 20).Draw(w.t, "fences"))})
		if phase == PhaseClaiming && !again {
			require.Equal(w.t, len(active), w.g.Counts().AlreadyActive)
			require.Equal(w.t, len(held), w.g.Counts().Disabled)
			require.Equal(w.t, before.Accepted, w.g.Counts().Accepted+w.g.Counts().Batched+len(active)+len(held))
		}
	}
	if w.hungry && w.end == nil {
		w.hungry = false
		w.fence += 1000
		w.step(FencesGranted{Fence: w.fence, Fences: 10})
	}
}

// comeBack opens the next window for a group that is away, or tells it why not.
func (w *world) comeBack() {
	if w.away == nil {
		return
	}
	w.now = latestOf(w.now, w.away.Until)
	w.step(Awaits{Wait: Wait{Code: WaitWindow, Since: w.now, Detail: "d"}})
	if w.end != nil {
		return
	}
	if rapid.IntRange(0, 9).Draw(w.t, "stays") == 0 {
		w.step(StaysAway{Reason: "there is no window any more"})
		require.NotNil(w.t, w.end)
		return
	}
	w.away, w.window = nil, nil
	if rapid.Bool().Draw(w.t, "windowed") {
		w.window = w.someWindow()
	}
	w.fence += 1000
	returned := Returned{Window: w.window, Workers: w.view()}
	if w.g.fenceEnd > 0 {
		returned.Fence, returned.Fences = w.fence, 100
	}
	w.step(returned)
}

// settle plays fair until the group ends: it must.
func (w *world) settle() {
	if w.paused && w.end == nil {
		w.paused = false
		w.step(Resumed{})
	}
	for range 2000 {
		if w.end != nil {
			return
		}
		if len(w.probes) > 0 {
			w.answerProbe(true)
			continue
		}
		if w.claiming || w.hungry {
			w.answer()
			continue
		}
		if w.away != nil {
			w.comeBack()
			continue
		}
		if len(w.doors) > 0 {
			w.admit(1)
			continue
		}
		if len(w.running) > 0 {
			w.finishOne(FailureNone)
			continue
		}
		if w.g.ShouldContinueAsNew() {
			w.roll()
			continue
		}
		w.pass(10 * time.Second)
	}
	w.t.Fatalf("the group does not end: %+v", w.g.Status(w.now))
}

func TestGroupKeepsItsInvariants(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { simulate(t, false) })
}

func TestGroupSurvivesSnapshotAtEveryStep(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { simulate(t, true) })
}

// hear takes a report in: never too soon after the one before.
func (w *world) hear(r Report) {
	require.False(w.t, r.empty())
	require.False(w.t, w.toldAt.Add(failEvery).After(w.now), "two reports within a second")
	w.toldAt = w.now
	w.note(r)
}

func (w *world) note(r Report) {
	w.reported.Done = append(w.reported.Done, r.Done...)
	w.reported.Settled = append(w.reported.Settled, r.Settled...)
	w.reported.Failed = append(w.reported.Failed, r.Failed...)
}

// checkReported: every job with a key, and every failure, was told once.
func (w *world) checkReported() {
	w.note(w.g.TakeReport(w.now))
	told := map[int]bool{}
	for _, n := range append(w.reported.Done, w.reported.Settled...) {
		require.False(w.t, told[n], "job %d was told twice", n)
		told[n] = true
	}
	for _, j := range w.g.jobs {
		require.Equal(w.t, w.g.cfg.Claims && len(j.keys()) > 0, told[j.N], "job %d", j.N)
	}
	for _, n := range w.reported.Done {
		require.Equal(w.t, StateCompleted, w.g.jobs[n-1].State)
	}
	failed := map[[2]int]bool{}
	for _, f := range w.reported.Failed {
		failed[[2]int{f.Job, f.Attempt}] = true
	}
	require.Equal(w.t, w.failed, failed)
	require.Len(w.t, w.reported.Failed, len(failed))
}
