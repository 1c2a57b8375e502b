package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/testsuite"
)

// site is a handler whose jobs work on objects. At each object it counts the jobs and their fences.
type site struct {
	mu sync.Mutex
	// at counts the jobs at each object now, most the largest such number.
	at, most map[string]int
	// fence is the largest at each object, rejected counts jobs with an older one.
	fence    map[string]int64
	rejected int
	// detected lists the job types in the order of their detections.
	detected []string
	// entries counts the jobs that came to an object, stay is their time there.
	entries int
	stay    time.Duration
	// gates delay jobs: a job at an object with a gate waits until it is closed.
	gates map[string]chan struct{}
}

func newSite() *site {
	return &site{at: map[string]int{}, most: map[string]int{}, fence: map[string]int64{}, gates: map[string]chan struct{}{}}
}

type siteParams struct {
	// Proposals are the result of the detection. Their params name the object.
	Proposals []jobtype.Proposal `json:"proposals"`
	Object    string             `json:"object"`
}

func (*site) Descriptor() jobtype.Descriptor { return jobtype.Descriptor{Name: "site"} }

func (s *site) Detect(ctx context.Context, in jobtype.DetectInput, out jobtype.ProposalSink) error {
	s.mu.Lock()
	s.detected = append(s.detected, in.JobType)
	s.mu.Unlock()
	var params siteParams
	if err := json.Unmarshal(in.Params, &params); err != nil {
		return err
	}
	for _, p := range params.Proposals {
		if err := out.Emit(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

func (s *site) Execute(ctx context.Context, job jobtype.Job, progress jobtype.Progress) (jobtype.Result, error) {
	var params siteParams
	if err := json.Unmarshal(job.Params, &params); err != nil {
		return jobtype.Result{}, err
	}
	gate := s.enter(params.Object, job.Fence)
	defer s.leave(params.Object)
	beat := time.NewTicker(200 * time.Millisecond)
	defer beat.Stop()
	var over <-chan time.Time
	if gate == nil {
		over = time.After(s.stay)
	}
	for {
		select {
		case <-over:
			return jobtype.Result{}, nil
		case <-gate:
			return jobtype.Result{}, nil
		case <-beat.C:
			progress.Alive()
		case <-ctx.Done():
			return jobtype.Result{}, ctx.Err()
		}
	}
}

func (s *site) enter(object string, fence int64) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at[object]++
	s.entries++
	s.most[object] = max(s.most[object], s.at[object])
	if fence <= s.fence[object] {
		s.rejected++
	}
	s.fence[object] = max(s.fence[object], fence)
	return s.gates[object]
}

func (s *site) leave(object string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at[object]--
}

// hold makes the jobs at an object wait until the returned function is called.
func (s *site) hold(object string) func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	gate := make(chan struct{})
	s.gates[object] = gate
	return sync.OnceFunc(func() { close(gate) })
}

func (s *site) present(object string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at[object]
}

func (s *site) entered() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.entries
}

// crowds returns the largest number of jobs at each object at once.
func (s *site) crowds() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.most)
}

// outdated counts the jobs with a fence older than an earlier one.
func (s *site) outdated() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rejected
}

func (s *site) order() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.detected...)
}

// at returns a job at an object.
func at(object string) jobtype.Proposal {
	return jobtype.Proposal{DedupeKey: object, Params: fmt.Appendf(nil, `{"object":%q}`, object)}
}

// siteSpec returns a job type with these proposals.
func siteSpec(t *testing.T, name, lane string, found ...jobtype.Proposal) contract.JobTypeSpec {
	t.Helper()
	params, err := json.Marshal(siteParams{Proposals: found})
	require.NoError(t, err)
	return contract.JobTypeSpec{
		Name: name, Handler: "site", Lane: lane, Interval: jobtype.Duration(time.Hour), Params: params,
		Policy: jobtype.Policy{
			GlobalExecutionConcurrency: 8, PerWorkerExecutionConcurrency: 8, HeartbeatTimeout: jobtype.Duration(time.Minute), Interactive: true, // A busy machine loses no worker.
		}.WithDefaults(),
	}
}

// begin starts a group and does not wait for it.
func (p *inProcess) begin(id string, spec contract.JobTypeSpec) client.WorkflowRun {
	p.t.Helper()
	return p.start(id, contract.JobGroupInput{Spec: spec})
}

// A single query may find a busy control plane, or a run of admission that has just begun.
func (p *inProcess) admission() (view contract.AdmissionView) {
	p.t.Helper()
	testsuite.WaitFor(p.t, time.Minute, "admission answers", func() bool {
		answer, err := p.client.Temporal().QueryWorkflow(p.t.Context(), contract.AdmissionWorkflowID, "", contract.QueryAdmission)
		return err == nil && answer.Get(&view) == nil
	})
	return view
}

// waiting lists the requests for the lane, oldest first.
func (p *inProcess) waiting(lane string) []string {
	var list []string
	for _, l := range p.admission().Lanes {
		if l.Name == lane {
			for _, use := range l.Waiting {
				list = append(list, use.JobType)
			}
		}
	}
	return list
}

func (p *inProcess) awaitWaiting(lane string, n int) {
	p.t.Helper()
	testsuite.WaitFor(p.t, 20*time.Second, fmt.Sprintf("%d wait for the lane", n), func() bool { return len(p.waiting(lane)) == n })
}

// TestLane: groups take turns in alphabetical order. After a termination the lane is free at once, the claims
// later.
func TestLane(t *testing.T) {
	t.Parallel()
	s := newSite()
	p := newInProcess(t, 8, s)
	open := s.hold("first")
	defer open()
	first := p.begin("m-1", siteSpec(t, "m", "default", at("first")))
	testsuite.WaitFor(t, 20*time.Second, "the first group works", func() bool { return s.present("first") == 1 })
	c := p.begin("c-1", siteSpec(t, "c", "default", at("c")))
	p.awaitWaiting("default", 1)
	a := p.begin("a-1", siteSpec(t, "a", "default", at("a")))
	b := p.begin("b-1", siteSpec(t, "b", "default", at("b")))
	p.awaitWaiting("default", 3)
	again := p.begin("b-2", siteSpec(t, "b", "default", at("b")))
	skipped := p.end(again)
	assert.Equal(t, contract.OutcomeSkipped, skipped.Outcome)
	assert.Contains(t, skipped.Reason, "LANE_BUSY")
	assert.Contains(t, skipped.Reason, "group/b-1")
	other := p.end(p.begin("o-1", siteSpec(t, "o", "night", at("o"))))
	assert.Equal(t, contract.OutcomeCompleted, other.Outcome, "another lane is another matter")
	assert.Equal(t, []string{"m", "o"}, s.order())

	terminated := time.Now()
	require.NoError(t, p.client.Temporal().TerminateWorkflow(t.Context(), first.GetID(), first.GetRunID(), "test"))
	var last time.Time // At high load a waiting group may see an end 20 s later.
	for _, run := range []client.WorkflowRun{a, b, c} {
		result := p.end(run)
		assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
		last = result.EndedAt
	}
	t.Logf("terminated → three groups later: %s", last.Sub(terminated))
	assert.Equal(t, []string{"m", "o", "a", "b", "c"}, s.order())
	view := p.admission()
	assert.Empty(t, view.Lanes)
	testsuite.WaitFor(t, 10*time.Second, "the claims of the terminated group are free", func() bool { return p.admission().Keys == 0 })
}

// TestCanceledInTheLane: a group that is canceled while it waits ends canceled and leaves no request.
func TestCanceledInTheLane(t *testing.T) {
	t.Parallel()
	s := newSite()
	p := newInProcess(t, 8, s)
	open := s.hold("first")
	defer open()
	first := p.begin("m-1", siteSpec(t, "m", "default", at("first")))
	testsuite.WaitFor(t, 20*time.Second, "the first group works", func() bool { return s.present("first") == 1 })
	canceled := p.begin("b-1", siteSpec(t, "b", "default"))
	p.awaitWaiting("default", 1)
	require.NoError(t, p.client.Temporal().CancelWorkflow(t.Context(), canceled.GetID(), ""))
	require.Error(t, canceled.Get(t.Context(), nil))
	assert.Empty(t, p.waiting("default"))
	open()
	assert.Equal(t, contract.OutcomeCompleted, p.end(first).Outcome)
}

// TestClaims: a key with a job in one run gets no job in another run of the type.
func TestClaims(t *testing.T) {
	t.Parallel()
	s := newSite()
	p := newInProcess(t, 8, s)
	open := s.hold("x")
	defer open()
	first := p.begin("scrub-1", siteSpec(t, "scrub", "", at("x"), at("y")))
	testsuite.WaitFor(t, 20*time.Second, "the first run is at x", func() bool { return s.present("x") == 1 })
	second := p.end(p.begin("scrub-2", siteSpec(t, "scrub", "", at("x"), at("y"), at("z"), jobtype.Proposal{Params: []byte(`{"object":"keyless"}`)})))
	assert.Equal(t, contract.OutcomeCompleted, second.Outcome)
	assert.Equal(t, contract.GroupCounts{Detected: 4, Accepted: 2, AlreadyActive: 2, Completed: 2}, second.Counts)
	other := p.begin("other-1", siteSpec(t, "other", "", at("x")))
	testsuite.WaitFor(t, 20*time.Second, "keys are per type", func() bool { return s.present("x") == 2 })
	open()
	assert.Equal(t, 2, p.end(first).Counts.Completed)
	assert.Equal(t, 1, p.end(other).Counts.Completed)
	assert.Equal(t, 2, p.end(p.begin("scrub-3", siteSpec(t, "scrub", "", at("x"), at("y")))).Counts.Accepted)
	assert.Zero(t, p.admission().Keys)
}

// TestObjectsAndPools: thirty groups use ten objects, and five holders are terminated. No two jobs are at an
// object at once, and fences only grow.
func TestObjectsAndPools(t *testing.T) {
	t.Parallel()
	const groups, objects, each, toTerminate = 30, 10, 3, 5
	s := newSite()
	s.stay = 20 * time.Millisecond
	p := newInProcess(t, 100, s)
	runs := map[string]client.WorkflowRun{}
	for g := range groups {
		var found []jobtype.Proposal
		for i := range each {
			object := fmt.Sprintf("volume/%d", (g*3+i*7)%objects)
			found = append(found, jobtype.Proposal{
				Exclusive: []string{object}, Params: fmt.Appendf(nil, `{"object":%q}`, object),
				Resources: map[string]int{"db": 1 + g%3},
			})
		}
		spec := siteSpec(t, fmt.Sprintf("type-%d", g), "", found...)
		spec.Resources = map[string]int{"db": 15}
		run := p.begin(fmt.Sprintf("many-%d", g), spec)
		runs[run.GetID()] = run
	}
	testsuite.WaitFor(t, time.Minute, "some jobs are done", func() bool { return s.entered() > groups/2 })
	terminated := map[string]bool{}
	for _, pool := range p.admission().Pools {
		for _, use := range pool.Holders[:min(toTerminate, len(pool.Holders))] {
			// A group that has ended cannot be terminated.
			if err := p.client.Temporal().TerminateWorkflow(t.Context(), use.WorkflowID, "", "test"); err == nil {
				terminated[use.WorkflowID] = true
			}
		}
	}
	require.NotEmpty(t, terminated)
	done := 0
	for id, run := range runs {
		if terminated[id] {
			require.Error(t, run.Get(t.Context(), nil))
			continue
		}
		result := p.end(run)
		done += result.Counts.Completed
		assert.Equal(t, contract.OutcomeCompleted, result.Outcome, "%+v", result)
	}
	assert.Equal(t, (groups-len(terminated))*each, done)
	assert.Len(t, s.crowds(), objects)
	for object, most := range s.crowds() {
		assert.Equal(t, 1, most, object)
	}
	assert.Zero(t, s.outdated(), "an object never saw a fence that was not greater")
	testsuite.WaitFor(t, 20*time.Second, "nothing is held by those who ended", func() bool {
		view := p.admission()
		return len(view.Pools) == 0 && len(view.Objects) == 0
	})
}

// TestTooLargeForItsPool: a job larger than its pool fails with the reason. After a resize the next job runs.
func TestTooLargeForItsPool(t *testing.T) {
	t.Parallel()
	p := newInProcess(t, 8, newSite())
	wants := at("x")
	wants.Resources = map[string]int{"db": 3}
	result := p.end(p.begin("large-1", siteSpec(t, "large", "", wants)))
	require.Len(t, result.Errors, 1)
	assert.Contains(t, result.Errors[0].Message, "needs 3 of pool db, whose size is 1")
	pool, err := p.client.Admission().ResizePool(t.Context(), "db", 3, "tester")
	require.NoError(t, err)
	assert.Equal(t, 3, pool.Size)
	assert.Equal(t, 1, p.end(p.begin("large-2", siteSpec(t, "large", "", wants))).Counts.Completed)
}

// TestAdmissionIsTerminated: admission is terminated while three groups hold grants and two wait. The new one
// grants nothing twice, and all groups end well.
func TestAdmissionIsTerminated(t *testing.T) {
	t.Parallel()
	s := newSite()
	p := newInProcess(t, 20, s)
	var opens []func()
	var runs []client.WorkflowRun
	for i, lane := range []string{"one", "two", "three"} {
		object := fmt.Sprintf("object/%d", i)
		opens = append(opens, s.hold(object))
		found := at(object)
		found.Exclusive = []string{object}
		runs = append(runs, p.begin("holder-"+lane, siteSpec(t, "holder-"+lane, lane, found)))
		testsuite.WaitFor(t, 20*time.Second, object+" is held", func() bool { return s.present(object) == 1 })
	}
	defer func() {
		for _, open := range opens {
			open()
		}
	}()
	wants := at("object/0")
	wants.Exclusive = []string{"object/0"}
	runs = append(runs, p.begin("waits-object", siteSpec(t, "waits-object", "", wants)),
		p.begin("waits-lane", siteSpec(t, "waits-lane", "one", at("free"))))
	p.awaitWaiting("one", 1)
	testsuite.WaitFor(t, 20*time.Second, "one waits for the object", func() bool {
		for _, o := range p.admission().Objects {
			if len(o.Waiting) == 1 {
				return true
			}
		}
		return false
	})

	require.NoError(t, p.client.Temporal().TerminateWorkflow(t.Context(), contract.AdmissionWorkflowID, "", "test"))
	// The new group finds no admission, and creates it again.
	newcomer := p.begin("newcomer", siteSpec(t, "newcomer", "one", at("new")))
	testsuite.WaitFor(t, 30*time.Second, "everybody was heard", func() bool {
		answer, err := p.client.Temporal().QueryWorkflow(t.Context(), contract.AdmissionWorkflowID, "", contract.QueryAdmission)
		if err != nil {
			return false
		}
		var view contract.AdmissionView
		return answer.Get(&view) == nil && !view.Recovering && len(view.Lanes) == 3 && len(view.Lanes[0].Waiting) == 2
	})
	assert.Equal(t, 1, s.present("object/0"))
	assert.Len(t, s.order(), 4, "three holders, and the one that waits for an object has detected")
	for _, open := range opens {
		open()
	}
	for _, run := range append(runs, newcomer) {
		assert.Equal(t, contract.OutcomeCompleted, p.end(run).Outcome, run.GetID())
	}
	for object, most := range s.crowds() {
		assert.Equal(t, 1, most, object)
	}
	assert.Zero(t, s.outdated())
}
