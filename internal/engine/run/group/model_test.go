package group

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/carry"
	"github.com/roundsman/roundsman/internal/engine/instant"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/group/endings"
	"github.com/roundsman/roundsman/internal/engine/run/group/halt"
	"github.com/roundsman/roundsman/internal/engine/run/source"
	"github.com/roundsman/roundsman/jobtype"
)

// model carries commands out, keeps its own books and checks the invariants of the
// package doc at every step. How items are placed is the engine's, and has a model of
// its own.
type model struct {
	t       *rapid.T
	g       *Group
	now     time.Time
	workers []contract.WorkerView
	running map[int]StartJob
	asked   map[int]source.Acquire
	granted map[int]int
	probes  []run.Decision
	detect  *StartDetection
	jobs    []jobtype.Proposal
	batches []string
	pages   []contract.ProposalPage
	// turn is the number of the request that is not answered; holds: it was granted.
	turn   int
	wants  bool
	holds  bool
	claims bool
	hungry bool
	asks   bool // for windows
	looks  bool // for workers
	fence  int64
	paused bool
	end    *End
	// restore: go through the state before every step.
	restore bool
	failed  map[[2]int]bool
	// lost has the attempts of each job that were lost with their workers.
	lost     map[int][]int
	reported endings.Endings
	sentAt   time.Time
	events   int
	keys     map[int][]string
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
		}.WithDefaults()
	})
}

func newModel(t *rapid.T, restore bool) *model {
	m := &model{
		t: t, now: epoch, restore: restore, running: map[int]StartJob{}, asked: map[int]source.Acquire{}, granted: map[int]int{},
		failed: map[[2]int]bool{}, lost: map[int][]int{}, keys: map[int][]string{}, fence: 1 << 61,
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "workers") {
		w := node(fmt.Sprintf("w%d", i), rapid.IntRange(1, 4).Draw(t, "slots"))
		if i == 1 {
			w.Labels = map[string]string{"rack": "r1"}
		}
		m.workers = append(m.workers, w)
	}
	cfg := Config{
		JobType: "jt", Handler: "h", Policy: policyGen().Draw(t, "policy"), Claims: rapid.Bool().Draw(t, "claims"), Budget: rapid.Bool().Draw(t, "budget"),
		Submitted: rapid.IntRange(0, 2).Draw(t, "submitted") == 0, BatchSize: rapid.SampledFrom([]int{0, 0, 1, 2, 5}).Draw(t, "batch"),
		Turn: rapid.Bool().Draw(t, "turn"), Lane: "l", Windows: rapid.Bool().Draw(t, "windows"), MaxWait: 10 * time.Minute,
		Carried: []carry.Checkpoint{{Key: "k1", Checkpoint: json.RawMessage(`1`), At: epoch}, {Key: "unclaimed", Checkpoint: json.RawMessage(`2`), At: epoch}},
	}
	m.g = New(cfg, m.now)
	m.jobs = rapid.SliceOfN(proposalGen(), rapid.SampledFrom([]int{0, 4, 20}).Draw(t, "at least"), 40).Draw(t, "proposals")
	if cfg.BatchSize > 0 {
		m.batches = rapid.SliceOfN(rapid.SampledFrom([]string{"", "b1", "b2"}), len(m.jobs), len(m.jobs)).Draw(t, "batches")
	}
	if cfg.Submitted && cfg.BatchSize == 0 {
		for i := range rapid.IntRange(0, 2).Draw(t, "pages") {
			m.pages = append(m.pages, *pageOf(fmt.Sprint("p", i), rapid.IntRange(1, 12).Draw(t, "paged"), contract.JobClass{}, contract.JobClass{Node: "w0"}))
		}
	}
	return m
}

func (m *model) step(event source.Event) {
	var restored *Group
	if m.restore && m.g.phase != PhaseEnded && m.g.turn.begun {
		data, err := m.g.Snapshot()
		require.NoError(m.t, err)
		restored, err = Restore(data, m.now)
		require.NoError(m.t, err)
		require.Equal(m.t, m.g.Phase(), restored.Phase())
		require.Equal(m.t, withoutStarts(m.g.Counts()), withoutStarts(restored.Counts()))
		restored.turn.preparing, restored.window.Asking = m.g.turn.preparing, m.g.window.Asking
	}
	m.g.engine.Observe(m.now, m.events, 0, 0)
	commands := append([]source.Command(nil), m.g.Next(m.now, event)...)
	for _, c := range commands {
		m.carryOut(c)
	}
	if restored != nil && m.end == nil {
		restored.engine.Observe(m.now, m.events, 0, 0)
		restored.Next(m.now, event)
		if len(m.pages) == 0 { // The restored group first brings its jobs into the window again. Only then can they fail.
			require.Equal(m.t, m.g.Phase(), restored.Phase())
			require.Equal(m.t, withoutStarts(m.g.Counts()), withoutStarts(restored.Counts()))
			require.Equal(m.t, m.g.turn.Step, restored.turn.Step)
		}
		require.Equal(m.t, [3]any{m.g.Carried(), m.g.Dropped(), m.g.Took()}, [3]any{restored.Carried(), restored.Dropped(), restored.Took()})
	}
	m.check()
}

// withoutStarts are counts without those that come with the start of an attempt: a restored
// group, which has no trials of workers on its way, may start it in a later step.
func withoutStarts(c contract.GroupCounts) contract.GroupCounts {
	c.Retries, c.Replacements = 0, 0
	return c
}

func (m *model) carryOut(c source.Command) {
	switch c := c.(type) {
	case AskWindows:
		m.asks = true
	case Prepare:
		m.looks = true
	case TakeTurn:
		require.False(m.t, m.wants || m.holds, "two turns")
		require.True(m.t, m.g.phase == PhaseEnded || m.g.served(), "nothing could use the turn")
		m.turn, m.wants = c.Turn, true
	case LeaveTurn:
		m.wants, m.holds, m.claims = false, false, false
		m.hungry = false
	case StartDetection:
		require.True(m.t, !m.g.cfg.Turn || m.holds, "it detects without its turn")
		m.detect = &c
	case CancelDetection, Unwatch:
	case ClaimKeys:
		m.claims = true
	case ReportEndings:
		require.False(m.t, m.sentAt.Add(endings.FailEvery).After(m.now), "two reports within a second")
		m.sentAt = m.now
		m.note(c.Endings)
	case StartJob:
		m.checkStart(c)
		m.running[c.Item] = c
	case source.Acquire:
		m.asked[c.Item] = c
	case run.Decision:
		m.decided(c)
	case End:
		require.Nil(m.t, m.end, "a group ends once")
		m.end = &c
	}
}

func (m *model) decided(d run.Decision) {
	switch d.Kind {
	case run.Release:
		delete(m.asked, d.Item)
		delete(m.granted, d.Item)
	case run.Probe:
		m.probes = append(m.probes, d)
	case run.Forget:
		delete(m.running, d.Item)
	case run.MoreFences:
		m.hungry = true
	case run.Cancel:
		require.Contains(m.t, m.running, d.Item, "only what runs is canceled")
	case run.Start, run.Acquire:
		require.Fail(m.t, "it says nothing of the job")
	case run.Abandon, run.Watch:
	}
}

func (m *model) checkStart(c StartJob) {
	require.False(m.t, m.paused, "nothing starts while paused")
	require.True(m.t, !m.g.cfg.Turn || m.holds, "job %d starts without the group's turn", c.Item)
	require.NotContains(m.t, m.running, c.Item)
	require.Less(m.t, len(m.running), m.g.Policy().GlobalExecutionConcurrency)
	if closes := m.g.closes(); !closes.IsZero() {
		require.True(m.t, m.now.Before(closes), "job %d starts after the closing", c.Item)
		require.False(m.t, m.now.Add(c.Proposal.EstimatedRuntime.Std()).After(closes) && len(c.Checkpoint) == 0, "job %d does not end before the closing", c.Item)
	}
	if j := m.g.jobs.Open.Get(c.Item); j != nil {
		m.keys[c.Item] = j.Keys()
	}
}

func (m *model) check() {
	c := m.g.Counts()
	ended := c.Completed + c.Failed + c.Canceled + c.Stale + c.Expired + c.NotStarted
	if m.g.begun {
		require.Equal(m.t, c.Accepted, ended+m.g.jobs.Left())
	}
	past, err := m.g.jobs.Record.Jobs()
	require.NoError(m.t, err)
	recorded := map[int]bool{}
	for _, j := range past {
		for n := j.N; n <= j.N+j.More; n++ {
			require.False(m.t, recorded[n])
			recorded[n] = true
		}
	}
	require.Len(m.t, recorded, ended, "each job that has ended is in the record, once")
	for _, j := range m.g.jobs.Sorted() {
		view := m.g.viewOf(j, m.now)
		if view.State == string(StateRunning) {
			require.Nil(m.t, view.Wait)
			continue
		}
		if m.g.begun && m.g.phase != PhaseEnded && m.g.halt.Cause == halt.None && !m.g.turn.active() {
			require.NotNil(m.t, view.Wait, "job %d is %s and waits for nothing", j.N, view.State)
			require.NotEmpty(m.t, view.Wait.Detail, view.Wait.Code)
		}
	}
	if m.end == nil {
		wake := m.g.NextWake()
		require.True(m.t, wake.IsZero() || !wake.Before(epoch))
		return
	}
	require.Empty(m.t, m.running)
	require.Empty(m.t, m.asked, "a group that has ended gave everything back")
	require.Empty(m.t, m.granted)
	if m.g.begun || m.g.cfg.Submitted {
		require.Equal(m.t, c.Detected, c.Accepted+c.Batched+c.Duplicates+c.AlreadyActive+c.Disabled+c.Surplus+c.Invalid)
		require.Equal(m.t, c.Accepted, ended)
	}
	m.checkReported()
	m.checkCarried()
}

func (m *model) note(e endings.Endings) {
	m.reported.Done = append(m.reported.Done, e.Done...)
	m.reported.Settled = append(m.reported.Settled, e.Settled...)
	m.reported.Failed = append(m.reported.Failed, e.Failed...)
}

// checkReported: every key of a job that was begun, and every failure, was reported
// once. Lost attempts are failures of a job that fails for them.
func (m *model) checkReported() {
	m.note(m.g.TakeEndings(m.now))
	seen := map[string]int{}
	for _, key := range append(m.reported.Done, m.reported.Settled...) {
		seen[key]++
	}
	for key, n := range seen {
		require.Equal(m.t, 1, n, "key %s was reported twice", key)
	}
	for n, keys := range m.keys {
		for _, key := range keys {
			if m.g.cfg.Claims {
				require.Contains(m.t, seen, key, "key %s of job %d was not reported", key, n)
			}
		}
	}
	past, err := m.g.jobs.Record.Jobs()
	require.NoError(m.t, err)
	for _, j := range past {
		for _, attempt := range m.lost[j.N] {
			if strings.HasPrefix(j.Error, string(contract.CodeLosesWorkers)) {
				m.failed[[2]int{j.N, attempt}] = true
			}
		}
	}
	failed := map[[2]int]bool{}
	for _, f := range m.reported.Failed {
		failed[[2]int{f.Job, f.Attempt}] = true
	}
	require.Equal(m.t, m.failed, failed)
	require.Len(m.t, m.reported.Failed, len(failed))
}

// checkCarried: completed work is not continued, and checkpoints without a new proposal stay.
func (m *model) checkCarried() {
	known := map[string]bool{}
	for _, c := range m.g.Carried() {
		require.False(m.t, known[c.Key], "%s is carried twice", c.Key)
		known[c.Key] = true
	}
	require.True(m.t, known["unclaimed"])
	for _, key := range m.reported.Done {
		require.False(m.t, known[key] && m.g.cfg.BatchSize == 0, "%s is done", key)
	}
}

func (m *model) windows() contract.WindowsResult {
	var result contract.WindowsResult
	from := m.now.Add(time.Duration(rapid.IntRange(-60, 120).Draw(m.t, "opens")) * time.Second)
	for range rapid.IntRange(0, 3).Draw(m.t, "spans") {
		to := from.Add(time.Duration(rapid.IntRange(10, 300).Draw(m.t, "open for")) * time.Second)
		result.Open = append(result.Open, contract.WindowSpan{From: from, To: to})
		from = to.Add(time.Duration(rapid.IntRange(10, 600).Draw(m.t, "closed for")) * time.Second)
	}
	for len(result.Open) > 0 && !result.Open[0].To.After(m.now) {
		result.Open = result.Open[1:]
	}
	return result
}

// answer answers one request of the group; it returns false if there is none.
func (m *model) answer(fair bool) bool {
	bad := !fair && rapid.IntRange(0, 9).Draw(m.t, "bad") == 0
	switch {
	case m.looks:
		m.looks = false
		if bad {
			m.step(PrepareFailed{Reason: "r"})
			return true
		}
		m.step(Prepared{Workers: m.workers})
	case m.asks:
		m.asks = false
		if bad {
			m.step(WindowsFailed{Reason: "r"})
			return true
		}
		m.step(WindowsKnown{m.windows()})
	case m.wants:
		m.wants = false
		if bad {
			m.step(TurnRefused{Code: contract.HoldRetryBudget, Reason: "r"})
			return true
		}
		m.holds = true
		m.fence += 1 << 20
		m.step(TurnGranted{Fence: m.fence, Fences: 1 << 19})
	case m.claims:
		m.answerClaims(bad)
	case m.hungry:
		m.hungry = false
		m.fence += 1 << 20
		m.step(run.FencesGranted{Fence: m.fence, Fences: 10})
	case len(m.probes) > 0:
		p := m.probes[0]
		m.probes = m.probes[1:]
		m.step(run.WorkerProbed{ID: p.Worker, Instance: p.Instance, Alive: fair || !bad})
	case len(m.asked) > 0:
		m.answerAsk(bad)
	case m.detect != nil:
		m.detection(fair)
	default:
		return false
	}
	return true
}

func (m *model) answerClaims(bad bool) {
	m.claims = false
	if bad {
		m.step(ClaimsRefused{Reason: "r"})
		return
	}
	var event KeysClaimed
	for _, claim := range m.g.Claims(false) {
		n, key := claim.Job, claim.Key
		switch rapid.IntRange(0, 9).Draw(m.t, "claim") {
		case 0:
			event.Active = append(event.Active, Active{Job: n, Key: key, By: "group/other"})
		case 1:
			event.HeldBack = append(event.HeldBack, HeldBack{Job: n, Key: key, Code: "RETRY_BUDGET"})
		}
	}
	m.fence += 1 << 20
	event.Fence, event.Fences = m.fence, int64(rapid.IntRange(1, 20).Draw(m.t, "fences"))
	m.step(event)
}

func (m *model) answerAsk(bad bool) {
	for n := range 60 {
		ask, waits := m.asked[n]
		if !waits {
			continue
		}
		delete(m.asked, n)
		if bad {
			m.step(run.Refused{Item: n, Ask: ask.Ask, Reason: "too large"})
			return
		}
		m.granted[n] = ask.Ask
		m.fence += 1 << 20
		m.step(run.Granted{Item: n, Ask: ask.Ask, Fence: m.fence, Fences: 5})
		return
	}
}

// detection plays the detector, with pages sent twice.
func (m *model) detection(fair bool) {
	attempt := m.detect.Attempt
	m.detect = nil
	failure := contract.FailureNone
	if !fair {
		failure = rapid.SampledFrom([]run.Failure{"", "", "", "", FailureAtCapacity, FailureDraining, FailureWorkerLost, FailureNotTaken, FailureFailed, contract.FailureCannotStart, contract.FailureNotInstalled}).Draw(m.t, "detection")
	}
	const size = 7
	pages := 0
	for start := 0; start < len(m.jobs) && failure == ""; start += size {
		page := Page{Attempt: attempt, Seq: pages, Proposals: m.jobs[start:min(start+size, len(m.jobs))]}
		if m.batches != nil {
			page.BatchKeys = m.batches[start:min(start+size, len(m.jobs))]
		}
		if m.g.CheckPage(page) != nil {
			return
		}
		answer := m.g.TakePage(m.now, page)
		require.Equal(m.t, answer, m.g.TakePage(m.now, page))
		pages++
	}
	m.step(DetectionEnded{Attempt: attempt, Pages: pages, Emitted: len(m.jobs), Failure: failure, Message: string(failure)})
}

func (m *model) finishOne(failure run.Failure) {
	for n := range 60 {
		start, ok := m.running[n]
		if !ok {
			continue
		}
		delete(m.running, n)
		view, open := m.g.engine.View(n)
		if !open {
			return
		}
		switch failure {
		case FailureFailed, FailurePermanent, FailureStale, FailureTimeout, "of tomorrow":
			if m.g.cfg.Budget && view.Canceling == "" {
				m.failed[[2]int{n, start.Attempt}] = true
			}
		case FailureAtCapacity, FailureDraining, FailureWorkerLost, FailureNotTaken:
			if start.Proposal.DAG != "" {
				failure = FailureNone
			}
		}
		if view.Canceling != "" && failure != FailureNone {
			failure = FailureCanceled
			delete(m.failed, [2]int{n, start.Attempt})
		}
		if failure == FailureWorkerLost && m.g.cfg.Budget {
			m.lost[n] = append(m.lost[n], start.Attempt)
		}
		end := run.Ending{Failure: failure, Message: string(failure), Duration: time.Second}
		if rapid.IntRange(0, 2).Draw(m.t, "checkpoint") == 0 {
			end.Checkpoint = json.RawMessage(`{"at":1}`)
		}
		m.step(run.Ended{Item: n, Attempt: start.Attempt, Ending: end})
		return
	}
}

func (m *model) pass(d time.Duration) {
	until := m.now.Add(d)
	for range 1000 {
		wake := m.g.NextWake()
		if m.end != nil || wake.IsZero() || wake.After(until) {
			break
		}
		m.now = instant.Later(m.now, wake)
		m.step(run.Tick{})
	}
	m.now = until
	m.step(run.Tick{})
}

func (m *model) flip() {
	if len(m.workers) == 0 {
		m.workers = append(m.workers, node("w0", 2))
	} else {
		w := &m.workers[rapid.IntRange(0, len(m.workers)-1).Draw(m.t, "worker")]
		switch rapid.IntRange(0, 4).Draw(m.t, "change") {
		case 0:
			w.Fresh = !w.Fresh
		case 1:
			w.State = map[bool]contract.WorkerState{true: contract.WorkerOnline, false: contract.WorkerOffline}[w.State != contract.WorkerOnline]
		case 2:
			w.Fenced, w.Instance = append(w.Fenced, w.Instance), w.Instance+"x"
		case 3:
			w.Beat++
		case 4:
			w.State, w.Fresh = contract.WorkerOnline, true
		}
	}
	m.step(run.WorkersChanged{Workers: m.workers})
}

func (m *model) act() {
	if rapid.IntRange(0, 2).Draw(m.t, "answers") > 0 && m.answer(false) {
		return
	}
	key := rapid.SampledFrom([]string{"k1", "k2", "k3", "of nobody"}).Draw(m.t, "key")
	number := rapid.IntRange(0, 40).Draw(m.t, "number")
	rarely := rapid.IntRange(0, 9).Draw(m.t, "really") == 0
	switch rapid.IntRange(0, 19).Draw(m.t, "act") {
	case 0:
		m.pass(time.Duration(rapid.IntRange(1, 60).Draw(m.t, "seconds")) * time.Second)
	case 1, 2:
		m.flip()
	case 3:
		m.step(source.CancelItem{Item: number, Key: key})
	case 4:
		m.step(source.CancelItem{Force: true, Item: number, Key: key})
	case 5:
		if m.paused = !m.paused; m.paused {
			m.step(source.Paused{Note: "n"})
		} else {
			m.step(source.Resumed{})
		}
	case 6:
		m.step(KeyStopped{DedupeKey: key, Done: rapid.Bool().Draw(m.t, "done"), Reason: "r"})
	case 7:
		if rarely {
			m.step(TypeStopped{Reason: "disabled"})
		}
	case 8:
		if rarely {
			m.step(source.Canceled{})
		}
	case 9:
		m.step(PolicySet{Policy: policyGen().Draw(m.t, "policy")})
	case 10:
		m.step(CalendarSet{Windows: m.g.cfg.Windows})
		m.asks = m.g.window.Asking
	case 11:
		if rarely && m.holds {
			m.holds = false
			m.step(TurnLost{Reason: "lane"})
		}
	case 12:
		m.events += rapid.SampledFrom([]int{20_000, 5_000, 40_000}).Draw(m.t, "events")
	case 13:
		m.roll()
	default:
		m.finishOne(rapid.SampledFrom([]run.Failure{
			"", "", "", FailureFailed, FailurePermanent, FailureStale, FailureTimeout, FailureAtCapacity, FailureDraining, FailureWorkerLost, FailureNotTaken, contract.FailureCannotStart, contract.FailureNotInstalled, contract.FailureDeferred, contract.FailureGuard, "of tomorrow",
		}).Draw(m.t, "failure"))
	}
}

// roll continues as new if this is the moment for it.
func (m *model) roll() {
	if m.end != nil || !m.g.ShouldContinueAsNew() {
		return
	}
	require.Empty(m.t, m.running, "nothing that runs is lost")
	before := m.g.Counts()
	data, err := m.g.Snapshot()
	require.NoError(m.t, err)
	m.g, err = Restore(data, m.now)
	require.NoError(m.t, err)
	require.Equal(m.t, before, m.g.Counts())
	m.events, m.probes = 0, nil
	m.step(run.Tick{})
}

// settle plays fair until the group ends: it must.
func (m *model) settle() {
	if m.paused && m.end == nil {
		m.paused = false
		m.step(source.Resumed{})
	}
	for range 3000 {
		switch {
		case m.end != nil:
			return
		case m.answer(true):
		case len(m.running) > 0:
			m.finishOne(FailureNone)
		case m.g.ShouldContinueAsNew():
			m.roll()
		default:
			m.pass(30 * time.Second)
		}
	}
	m.t.Fatalf("the group does not end: %+v", m.g.Status(m.now))
}

func simulate(t *rapid.T, restore bool) {
	m := newModel(t, restore)
	if m.g.cfg.Submitted {
		m.step(Submitted{Proposals: m.jobs, BatchKeys: m.batches, Pages: m.pages})
	} else {
		m.step(run.Tick{})
	}
	for range rapid.SampledFrom([]int{0, 10, 40, 120}).Draw(t, "steps") {
		if m.end != nil {
			return
		}
		m.act()
	}
	m.settle()
}

func TestGroupKeepsItsInvariants(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { simulate(t, false) })
}

func TestGroupSurvivesSnapshotAtEveryStep(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { simulate(t, true) })
}
