package e2e

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/explainer"
	"github.com/roundsman/roundsman/starter/jobtypes"
	"github.com/roundsman/roundsman/testsuite"
)

// walker does a job in steps with a checkpoint each, as many as its params require. It remembers the first step
// of each attempt.
type walker struct {
	mu    sync.Mutex
	began map[string][]int
	at    map[string]int
	steps map[string]int
	takes map[string]time.Duration
}

func (*walker) Descriptor() jobtype.Descriptor { return jobtype.Descriptor{Name: "walker"} }

func (w *walker) Detect(ctx context.Context, in jobtype.DetectInput, out jobtype.ProposalSink) error {
	var keys []string
	if err := json.Unmarshal(in.Params, &struct{ Keys *[]string }{&keys}); err != nil {
		return err
	}
	for _, key := range keys {
		p := jobtype.Proposal{DedupeKey: key, Summary: key, EstimatedRuntime: jobtype.Duration(w.takes[key])}
		if err := out.Emit(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

type position struct {
	Step int `json:"step"`
}

func (w *walker) Execute(ctx context.Context, job jobtype.Job, progress jobtype.Progress) (jobtype.Result, error) {
	var here position
	if len(job.Checkpoint) > 0 {
		if err := json.Unmarshal(job.Checkpoint, &here); err != nil {
			return jobtype.Result{}, err
		}
	}
	w.mu.Lock()
	w.began[job.DedupeKey] = append(w.began[job.DedupeKey], here.Step)
	w.mu.Unlock()
	for ; here.Step < w.stepsOf(job.DedupeKey); here.Step++ {
		if err := progress.Checkpoint(here); err != nil {
			return jobtype.Result{}, err
		}
		progress.Report(float64(here.Step), "walking", "")
		w.mu.Lock()
		w.at[job.DedupeKey] = here.Step
		w.mu.Unlock()
		select {
		case <-ctx.Done():
			return jobtype.Result{}, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	return jobtype.Result{}, nil
}

func (w *walker) stepsOf(key string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.steps[key]
}

func (w *walker) walk(key string, steps int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.steps[key] = steps
}

func (w *walker) reached(key string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at[key]
}

func (w *walker) beginnings(key string) []int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]int(nil), w.began[key]...)
}

// shut is a blackout from and to these durations after now.
func shut(from, to time.Duration) *jobtype.Calendar {
	return &jobtype.Calendar{Blackouts: []jobtype.Blackout{{
		From: time.Now().Add(from).Format(time.RFC3339), To: time.Now().Add(to).Format(time.RFC3339), Note: "backup",
	}}}
}

// instant is a time of a blackout.
func instant(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	require.NoError(t, err)
	return at
}

func (p *inProcess) apply(spec contract.JobTypeSpec) {
	p.t.Helper()
	spec.Hash = time.Now().String() // Any other value is a change.
	plan, err := jobtypes.Of(p.client).Plan(p.t.Context(), []contract.JobTypeSpec{spec}, nil)
	require.NoError(p.t, err)
	_, err = jobtypes.Of(p.client).Apply(p.t.Context(), plan)
	require.NoError(p.t, err)
}

func (p *inProcess) outcomeOf(run jobtypes.Triggered) contract.JobGroupResult {
	p.t.Helper()
	ctx, cancel := testsuite.Within(p.t, 2*time.Minute)
	defer cancel()
	result, err := p.client.Runs().Result(ctx, starter.RunRef{WorkflowID: run.WorkflowID})
	require.NoError(p.t, err)
	return result
}

func walkSpec(keys string, policy jobtype.Policy) contract.JobTypeSpec {
	policy.CatchupWindow = jobtype.Duration(time.Hour)
	return contract.JobTypeSpec{
		Name: "walk", Handler: "walker", Lane: "default", Params: json.RawMessage(`{"Keys":` + keys + `}`), Policy: policy.WithDefaults(),
		Schedule: contract.ScheduleSpec{Every: jobtype.Duration(365 * 24 * time.Hour)}, Interval: jobtype.Duration(time.Hour),
	}
}

func newWalker() *walker {
	return &walker{began: map[string][]int{}, at: map[string]int{}, steps: map[string]int{}, takes: map[string]time.Duration{}}
}

// codes lists the codes of a thing's reasons.
func (p *inProcess) codes(thing string) []contract.Code {
	explanation, err := explainer.Explain(p.t.Context(), p.client, thing)
	require.NoError(p.t, err)
	var codes []contract.Code
	for _, reason := range explanation.Reasons {
		codes = append(codes, reason.Code)
	}
	return codes
}

// clears: two seconds after the remedy the code is gone.
func (p *inProcess) clears(thing string, code contract.Code, remedy func()) {
	p.t.Helper()
	remedy()
	testsuite.GoneWithin(p.t, time.Now(), clearsWithin, thing+": "+string(code), func() bool {
		return slices.Contains(p.codes(thing), code)
	})
}

// TestClosedWindow: a due run is skipped or waits. An apply opens the window for it, and an operator may
// override the window.
func TestClosedWindow(t *testing.T) {
	t.Parallel()
	w := newWalker()
	p := newInProcess(t, 4, w)
	spec := walkSpec(`["a"]`, jobtype.Policy{})
	closed := spec
	closed.LaneCalendar = shut(-time.Second, 24*time.Hour)
	opens := instant(t, closed.LaneCalendar.Blackouts[0].To)
	p.apply(closed)
	trigger := func(how func(context.Context, string) (jobtypes.Triggered, error)) jobtypes.Triggered {
		t.Helper()
		run, err := how(t.Context(), "walk")
		require.NoError(t, err)
		return run
	}

	result := p.outcomeOf(trigger(jobtypes.Of(p.client).Trigger))
	assert.Equal(t, contract.OutcomeSkipped, result.Outcome)
	assert.Contains(t, result.Reason, "WINDOW_CLOSED_UNTIL "+opens.UTC().Format("2006-01-02T15:04"))
	assert.Contains(t, result.Reason, "lane default: a blackout: backup")
	reason := p.explains("walk", contract.CodeWindowClosed)
	assert.Equal(t, "walk", reason.Object)
	assert.WithinDuration(t, opens, reason.Until, 0)
	assert.Contains(t, reason.Detail, "a blackout: backup")
	known, err := jobtypes.Of(p.client).Get(t.Context(), "walk")
	require.NoError(t, err)
	require.NotNil(t, known.Window)
	assert.False(t, known.Window.Open)

	insisted := p.outcomeOf(trigger(jobtypes.Of(p.client).TriggerIgnoringWindow))
	assert.Equal(t, contract.OutcomeCompleted, insisted.Outcome, insisted.Reason)
	assert.True(t, insisted.IgnoredWindow)
	plan, err := jobtypes.Of(p.client).Plan(t.Context(), []contract.JobTypeSpec{known.Spec}, nil)
	require.NoError(t, err)
	assert.True(t, plan.Empty(), "the mark of one run is no change: %s", plan)
	assert.Equal(t, contract.OutcomeSkipped, p.outcomeOf(trigger(jobtypes.Of(p.client).Trigger)).Outcome, "the next one is bound again")
	p.clears("walk", contract.CodeWindowClosed, func() { p.apply(spec) })

	// The opening is near enough to wait for, and then an apply makes it earlier.
	near := spec
	near.Calendar = shut(-time.Second, 20*time.Minute)
	p.apply(near)
	waits := trigger(jobtypes.Of(p.client).Trigger)
	reason = p.explains(waits.WorkflowID, contract.CodeWindowClosed)
	assert.WithinDuration(t, instant(t, near.Calendar.Blackouts[0].To), reason.Until, 0)
	assert.Equal(t, []contract.Code{contract.CodeWindowClosed}, p.codes("walk"))
	p.clears(waits.WorkflowID, contract.CodeWindowClosed, func() { p.apply(spec) })
	assert.Equal(t, contract.OutcomeCompleted, p.outcomeOf(waits).Outcome)
	assert.Len(t, w.beginnings("a"), 2)
}

// TestWindowClosesOverRunningJobs: jobs that do not fit wait, and running jobs are stopped with their
// checkpoints. The next run continues from there.
func TestWindowClosesOverRunningJobs(t *testing.T) {
	t.Parallel()
	w := newWalker()
	w.takes["large"] = 2 * time.Hour
	w.walk("small", 1<<20)
	p := newInProcess(t, 4, w)
	spec := walkSpec(`["small","large"]`, jobtype.Policy{
		OnWindowEnd: jobtype.WindowEndCheckpoint, GlobalExecutionConcurrency: 2, PerWorkerExecutionConcurrency: 2, MaxRuntime: jobtype.Duration(4 * time.Hour),
	})
	spec.Calendar = shut(30*time.Minute, 40*time.Minute)
	p.apply(spec)
	run, err := jobtypes.Of(p.client).Trigger(t.Context(), "walk")
	require.NoError(t, err)

	reason := p.explains(run.WorkflowID+"/job-00002", contract.CodeWindowFit)
	assert.Equal(t, "job-00002", reason.Object)
	assert.WithinDuration(t, instant(t, spec.Calendar.Blackouts[0].From), reason.Until, 0)
	assert.Contains(t, reason.Detail, "its estimated_runtime of 2 h does not fit")
	spec.Calendar = nil
	p.clears(run.WorkflowID+"/job-00002", contract.CodeWindowFit, func() { p.apply(spec) })
	testsuite.WaitFor(t, 20*time.Second, "the large job is done", func() bool { return len(w.beginnings("large")) == 1 })

	testsuite.WaitFor(t, 20*time.Second, "the small job gets somewhere", func() bool { return w.reached("small") > 10 })
	spec.Calendar = shut(-time.Second, time.Hour)
	p.apply(spec)
	first := p.outcomeOf(run)
	assert.Equal(t, contract.OutcomePartial, first.Outcome)
	assert.Contains(t, first.Reason, "WINDOW_CLOSED: ")
	assert.Equal(t, 1, first.Counts.Canceled)
	require.Len(t, first.Record.Checkpoints, 1)
	assert.Equal(t, "small", first.Record.Checkpoints[0].Key)

	known, err := jobtypes.Of(p.client).Get(t.Context(), "walk")
	require.NoError(t, err)
	learned, err := jobtypes.Of(p.client).Learned(t.Context(), known)
	require.NoError(t, err)
	assert.Equal(t, jobtypes.Learned{Of: 1, Checkpoints: []string{"small"}}, learned)

	stopped := w.reached("small")
	w.walk("small", stopped+5)
	spec.Calendar = nil
	p.apply(spec)
	again, err := jobtypes.Of(p.client).Trigger(t.Context(), "walk")
	require.NoError(t, err)
	second := p.outcomeOf(again)
	assert.Equal(t, contract.OutcomeCompleted, second.Outcome, second.Reason)
	assert.Empty(t, second.Record.Checkpoints)
	began := w.beginnings("small")
	require.Len(t, began, 2)
	assert.Zero(t, began[0])
	assert.InDelta(t, stopped, began[1], 3, "it continues where it was stopped")
	assert.Len(t, second.Record.TookMS, 2, "of whole jobs: large twice")
}
