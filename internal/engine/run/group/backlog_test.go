package group

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/record"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/source"
	"github.com/roundsman/roundsman/jobtype"
)

// pageOf is a page of n proposals that alternate between classes.
func pageOf(name string, n int, classes ...contract.JobClass) *contract.ProposalPage {
	p := &contract.ProposalPage{Page: name, Count: n, Classes: classes}
	for i := range n {
		p.Runs = append(p.Runs, contract.ClassRun{Class: i % len(classes), Count: 1})
	}
	return p
}

// paged plays a group that has found inline jobs, and those of pages. Its window is small.
func paged(t testing.TB, policy jobtype.Policy, window, inline int, workers []contract.WorkerView, pages ...*contract.ProposalPage) *script {
	t.Helper()
	s := open(t, Config{Policy: policy, Window: window}, workers...)
	s.begin()
	attempt := s.g.detect.Attempt
	emitted := inline
	send := func(page Page) {
		page.Attempt, page.Seq = attempt, len(s.g.detect.session(attempt).Answers)
		require.NoError(t, s.g.CheckPage(page))
		answer := s.g.TakePage(s.now, page)
		require.Equal(t, answer, s.g.TakePage(s.now, page), "a page that comes again changes nothing")
	}
	send(Page{Proposals: make([]jobtype.Proposal, inline)})
	for _, p := range pages {
		emitted += p.Count
		send(Page{Paged: p})
	}
	s.step(DetectionEnded{Attempt: attempt, Pages: 1 + len(pages), Emitted: emitted})
	return s
}

// world drives a group with a backlog, with the expected end of each job in a map.
type world struct {
	*script

	rng     *rand.Rand
	total   int
	running map[int]StartJob
	// attempts has the last attempt of each job.
	attempts map[int]int
	// ends has the state of each job that has ended.
	ends map[int]State
	// segments are the stored pages of the record.
	segments map[string][]byte
}

func (w *world) take(commands []source.Command) {
	for _, c := range commands {
		switch c := c.(type) {
		case StartJob:
			require.NotContains(w.t, w.running, c.Item)
			require.NotContains(w.t, w.ends, c.Item, "a job that has ended starts again")
			w.running[c.Item] = c
			require.Equal(w.t, w.attempts[c.Item]+1, c.Attempt, "a snapshot forgets no attempt")
			w.attempts[c.Item] = c.Attempt
		case StoreRecord:
			page := contract.PageName(c.Segment)
			w.segments[page] = c.Segment
			w.take(w.step(RecordStored{Page: page}))
		}
	}
}

func (w *world) roll() {
	data, err := w.g.Snapshot()
	require.NoError(w.t, err)
	w.g, err = Restore(data, w.now)
	require.NoError(w.t, err)
	w.take(w.step(run.Tick{}))
}

// one is a random running job.
func (w *world) one() int {
	if len(w.running) == 0 {
		return 0
	}
	list := slices.Sorted(maps.Keys(w.running))
	return list[w.rng.IntN(len(list))]
}

func (w *world) act() {
	w.now = w.now.Add(time.Millisecond)
	switch n := w.rng.IntN(20); {
	case n < 14:
		if job := w.one(); job > 0 {
			attempt := w.running[job].Attempt
			delete(w.running, job)
			failure, state := FailureNone, StateCompleted
			switch w.rng.IntN(10) {
			case 0:
				failure, state = FailurePermanent, StateFailed
			case 1, 2:
				if failure, state = FailureFailed, ""; attempt > 2 {
					state = StateFailed
				}
			}
			if state != "" {
				w.ends[job] = state
			}
			w.take(w.ran(run.Ended{Item: job, Attempt: attempt, Ending: run.Ending{Failure: failure, Message: "because"}}))
		}
	case n < 16:
		job := 1 + w.rng.IntN(w.total)
		if _, runs := w.running[job]; !runs && w.ends[job] == "" {
			w.ends[job] = StateCanceled
			w.take(w.step(source.CancelItem{Item: job}))
		}
	case n == 16 && len(w.running) == 0, n == 17 && w.rng.IntN(4) == 0 && len(w.running) == 0:
		w.roll()
	case n == 18 && w.rng.IntN(2) == 0:
		w.now = w.now.Add(time.Minute) // Back-offs are over.
		w.take(w.step(run.Tick{}))
	case n == 18:
		w.take(w.step(source.Paused{}))
		w.checkWaits()
		w.take(w.step(source.Resumed{}))
	default:
		w.take(w.step(run.Tick{}))
	}
	w.check()
}

// check compares the group with the map: counts, lists and the record.
func (w *world) check() {
	states := map[State]int{}
	for _, state := range w.ends {
		states[state]++
	}
	c := w.g.Counts()
	require.Equal(w.t, w.total, c.Accepted)
	require.Equal(w.t, []int{states[StateCompleted], states[StateFailed], states[StateCanceled]}, []int{c.Completed, c.Failed, c.Canceled})
	if w.g.Phase() != PhaseEnded {
		require.Equal(w.t, w.total-len(w.ends), w.g.jobs.Left())
		w.checkWaits()
	}
	job := 1 + w.rng.IntN(w.total)
	listed, err := w.g.Jobs(contract.JobsQueryInput{JobID: contract.JobID(job)}, w.now)
	require.NoError(w.t, err)
	page, err := w.g.Jobs(contract.JobsQueryInput{After: job - 1, Limit: 5}, w.now)
	require.NoError(w.t, err)
	require.True(w.t, slices.IsSortedFunc(page.Jobs, func(a, b contract.JobView) int { return cmp.Compare(a.JobID, b.JobID) }), "the window and the backlog are one list")
	if w.ends[job] == "" {
		require.Equal(w.t, contract.JobID(job), page.Jobs[0].JobID)
		require.Len(w.t, listed.Jobs, 1, job)
		_, runs := w.running[job]
		require.Equal(w.t, map[bool]string{true: contract.JobRunning, false: contract.JobPending}[runs], listed.Jobs[0].State)
	}
}

// checkWaits: each pending job has exactly one of the reasons, and one of its jobs is named.
func (w *world) checkWaits() {
	status := w.g.Status(w.now)
	require.Equal(w.t, w.total-len(w.ends)-len(w.running), status.Pending)
	n := 0
	for _, wait := range status.Waits {
		n += wait.Items
		if status.Wait != nil {
			continue
		}
		found, err := w.g.Jobs(contract.JobsQueryInput{JobID: wait.Item}, w.now)
		require.NoError(w.t, err)
		require.Len(w.t, found.Jobs, 1, wait)
		require.NotNil(w.t, found.Jobs[0].Wait, wait)
		require.Equal(w.t, []string{wait.Code, wait.Object}, []string{found.Jobs[0].Wait.Code, found.Jobs[0].Wait.Object})
	}
	require.Equal(w.t, status.Pending, n, "%+v", status.Waits)
}

// remembered are the ends of all jobs in the record.
func (w *world) remembered() map[int]State {
	found := map[int]State{}
	add := func(jobs []record.Job) {
		for _, j := range jobs {
			for n := j.N; n <= j.N+j.More; n++ {
				require.NotContains(w.t, found, n, "it has ended twice")
				found[n] = State(j.State)
			}
		}
	}
	for _, p := range w.g.ItemRecord().Pages {
		jobs, err := record.Read(w.segments[p.Page])
		require.NoError(w.t, err)
		add(jobs)
	}
	rest, err := w.g.jobs.Record.Jobs()
	require.NoError(w.t, err)
	add(rest)
	return found
}

// TestGroupsWithABacklogAreAsAMap: random ends, cancels, pauses and restores. Each accepted job ends
// once, and is remembered.
func TestGroupsWithABacklogAreAsAMap(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 3)) //nolint:gosec // a test
		inline, first, second := rng.IntN(5), 20+rng.IntN(60), 1+rng.IntN(40)
		window := 3 + rng.IntN(12)
		w := &world{rng: rng, total: inline + first + second, running: map[int]StartJob{}, attempts: map[int]int{}, ends: map[int]State{}, segments: map[string][]byte{}}
		w.script = paged(t, wide(jobtype.Policy{MaxRuntime: seconds(1_000_000), RetryLimit: 2, RetryBackoff: seconds(10)}), window, inline, nodes(node("a", 3), node("b", 2)),
			pageOf("p1", first, contract.JobClass{Node: "a"}, contract.JobClass{Priority: jobtype.PriorityHigh}), pageOf("p2", second, contract.JobClass{}))
		w.take(w.last)
		for range 40 + rng.IntN(200) {
			if w.g.Phase() == PhaseEnded {
				break
			}
			w.act()
		}
		if w.g.Phase() != PhaseEnded && rng.IntN(2) == 0 {
			w.cancel()
		}
		for w.g.Phase() != PhaseEnded {
			w.act()
		}
		require.Equal(t, w.ends, w.remembered())
	}
}

// cancel ends the group: running jobs are canceled, the others end at once.
func (w *world) cancel() {
	w.take(w.step(source.Canceled{Reason: "enough"}))
	for n := 1; n <= w.total; n++ {
		if _, runs := w.running[n]; !runs && w.ends[n] == "" {
			w.ends[n] = StateCanceled
		}
	}
	for _, job := range slices.Sorted(maps.Keys(w.running)) {
		w.ends[job] = StateCanceled
		w.take(w.ran(run.Ended{Item: job, Attempt: w.running[job].Attempt, Ending: run.Ending{Failure: FailureCanceled}}))
		delete(w.running, job)
	}
	require.Equal(w.t, PhaseEnded, w.g.Phase())
}

// TestBacklogOfANodeThatIsOffline: the jobs of the offline node fail, the others run.
func TestBacklogOfANodeThatIsOffline(t *testing.T) {
	t.Parallel()
	offline := node("b", 1)
	offline.State, offline.Fresh = contract.WorkerOffline, false
	s := paged(t, wide(jobtype.Policy{}), 10, 0, nodes(node("a", 10), offline), pageOf("p", 200, contract.JobClass{Node: "b"}, contract.JobClass{Node: "a"}))
	for at := 0; len(s.all) > at; at++ { //nolint:intrange // ends of jobs add commands
		if start, ok := s.all[at].(StartJob); ok {
			assert.Equal(t, "a", start.Worker)
			assert.Equal(t, contract.ProposalRef{Page: "p", Position: start.Item - 1}, *start.Ref)
			s.end(start.Item, FailureNone)
		}
	}
	require.Equal(t, PhaseEnded, s.g.Phase())
	assert.Equal(t, 100, s.g.Counts().Completed)
	assert.Equal(t, 100, s.g.Counts().Failed)
}

func TestABacklogBeyondTheBoundsIsSurplus(t *testing.T) {
	t.Parallel()
	s := paged(t, wide(jobtype.Policy{MaxJobsPerDetection: 50}), 10, 5, nodes(node("a", 1)), pageOf("p", 40, contract.JobClass{}), pageOf("q", 40, contract.JobClass{}))
	c := s.g.Counts()
	assert.Equal(t, 50, c.Accepted)
	assert.Equal(t, 35, c.Surplus)
	assert.Equal(t, []contract.ProposalTable{{Page: "p", First: 6, Last: 45}, {Page: "q", First: 46, Last: 50}}, s.g.jobs.Backlog.Table())
	status := s.g.Status(s.now)
	assert.Equal(t, 50, status.Pending+status.Running, c)
}
