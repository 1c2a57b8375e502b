package dag

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/lib/draw"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite/clitest"
)

// fakeRun is the client's side of one run: a sequence of snapshots.
type fakeRun struct {
	looks []starter.Snapshot
	fails error
	tasks []starter.Item
	asked []starter.ItemFilter
}

func (f *fakeRun) Watch(context.Context, starter.RunRef, time.Duration) iter.Seq2[starter.Snapshot, error] {
	return func(yield func(starter.Snapshot, error) bool) {
		for _, look := range f.looks {
			if !yield(look, nil) {
				return
			}
		}
		if f.fails != nil {
			yield(starter.Snapshot{}, f.fails)
		}
	}
}

func (f *fakeRun) Show(context.Context, starter.RunRef) (starter.Snapshot, error) {
	return f.looks[len(f.looks)-1], f.fails
}

func (f *fakeRun) Items(_ context.Context, _ starter.RunRef, filter starter.ItemFilter) ([]starter.Item, int, error) {
	f.asked = append(f.asked, filter)
	return f.tasks, len(f.tasks), nil
}

var errGone = errors.New("the server is gone")

func fakeRef() starter.Run {
	return starter.Run{Kind: starter.KindDAG, RunRef: starter.RunRef{WorkflowID: "dag/nine/x", RunID: "r1"}, DAG: "nine", Status: starter.StatusRunning}
}

func fakeOpen() starter.Snapshot {
	run := fakeRef()
	run.Counts, run.Progress = starter.Counts{"completed": 1, "running": 1, "pending": 1}, &starter.Progress{Total: 3, Ended: 1, Running: 1}
	return starter.Snapshot{Run: run, Phase: "running", DAGStatus: &contract.DAGStatus{DAG: "nine", Total: 3}}
}

func fakeEnded(outcome contract.Outcome, tasks map[string]contract.DAGTask) starter.Snapshot {
	run := fakeRef()
	run.Status, run.Outcome = "Completed", outcome
	run.Counts, run.Progress = starter.Counts{"completed": 2}, &starter.Progress{Total: 2, Ended: 2}
	return starter.Snapshot{Run: run, DurationMS: 42, DAGResult: &contract.DAGResult{
		DAG: "nine", WorkflowID: run.WorkflowID, RunID: run.RunID, Outcome: outcome, Tasks: tasks,
	}}
}

func fakeViews() []starter.Item {
	return []starter.Item{
		{ID: "1", Kind: "command", State: "completed", Attempt: 1, Worker: "node-a", FromRun: "dag/nine/w"},
		{ID: "2", Kind: "command", Needs: []string{"1"}, State: "running", Attempt: 2},
		{ID: "3", Kind: "approval", Needs: []string{"2"}, State: "pending"},
	}
}

// command runs an action as `start` with these flags would, with any client.
func command(t *testing.T, action func(*commands, *cli.Context) error, args ...string) clitest.Outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	env := ui.Env{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Now: time.Now}
	c := &commands{&ui.Program{Env: env}}
	app := &cli.App{
		HideHelp: true, // The help flag is shared by the process.
		Flags:    ui.With(append(StartFlags(), ui.WaitFlag(), &cli.BoolFlag{Name: FlagDev})...),
		Action:   func(ctx *cli.Context) error { return action(c, ctx) }, ExitErrHandler: func(*cli.Context, error) {},
	}
	return clitest.Outcome{T: t, Code: env.Finish(t.Context(), app.RunContext(t.Context(), append([]string{"test"}, args...))), Stdout: stdout.String(), Stderr: stderr.String()}
}

func started(run *fakeRun) func(*commands, *cli.Context) error {
	return func(c *commands, ctx *cli.Context) error { return c.started(ctx, run, "nine", fakeRef().RunRef) }
}

func TestTheJSONOfARunIsExactly(t *testing.T) {
	t.Parallel()
	run := &fakeRun{looks: []starter.Snapshot{fakeOpen(), fakeEnded(contract.OutcomeCompleted, map[string]contract.DAGTask{
		"1": {State: "completed", Attempts: 1, Worker: "node-a"}, "2": {State: "completed", FromRun: "dag/nine/w", Error: "x"},
	})}}
	o := command(t, started(run), "--wait", "--output", "json").OK()
	assert.JSONEq(t, `{"dag": "nine", "workflow_id": "dag/nine/x", "run_id": "r1", "outcome": "completed",
		"counts": {"completed": 2}, "duration_ms": 42, "tasks": {
			"1": {"state": "completed", "attempts": 1, "worker": "node-a", "error": "", "from_run": ""},
			"2": {"state": "completed", "attempts": 0, "worker": "", "error": "x", "from_run": "dag/nine/w"}}}`, o.Stdout)
	o.Complains("nine: started dag/nine/x", "nine: completed in 40ms: 2 completed")
	assert.Empty(t, run.asked, "the result has all tasks")

	o = command(t, started(run), "--output", "json").OK()
	assert.JSONEq(t, `{"dag": "nine", "workflow_id": "dag/nine/x", "run_id": "r1", "outcome": "running",
		"counts": {}, "duration_ms": 0, "tasks": {}}`, o.Stdout)
}

func TestTheAdviceHasTheNameOfTheBinary(t *testing.T) {
	t.Parallel()
	run := &fakeRun{looks: []starter.Snapshot{fakeEnded(contract.OutcomeFailed, nil)}, tasks: fakeViews()}
	command(t, func(c *commands, ctx *cli.Context) error {
		c.Env.Own = ui.NewRenaming("acme", []string{"show", "retry"})
		return started(run)(c, ctx)
	}, "--wait").Exits(ui.ExitFailed).Says("see `acme show dag/nine/x`", "`acme retry dag/nine/x`")
}

func TestTheExitCodeIsTheOutcome(t *testing.T) {
	t.Parallel()
	for outcome, code := range map[contract.Outcome]int{
		contract.OutcomeCompleted: ui.ExitOK, contract.OutcomeFailed: ui.ExitFailed, contract.OutcomeCanceled: ui.ExitFailed, "": ui.ExitFailed,
	} {
		run := &fakeRun{looks: []starter.Snapshot{fakeEnded(outcome, nil)}, tasks: fakeViews()}
		o := command(t, started(run), "--wait").Exits(code)
		assert.Empty(t, o.Stderr)
		assert.Equal(t, code != ui.ExitOK, strings.Contains(o.Stdout, "roundsman retry dag/nine/x"), o.Stdout)
	}
	lost := fakeEnded("", nil)
	lost.DAGResult, lost.Progress, lost.Failure = nil, nil, "terminated"
	o := command(t, started(&fakeRun{looks: []starter.Snapshot{lost}}), "--wait", "--output", "json").Exits(ui.ExitFailed)
	report := clitest.Decode[Report](o)
	assert.Equal(t, "failed", report.Outcome)
	assert.NotNil(t, report.Tasks)
	o.Complains("no result: terminated")
}

func TestWaitingEndsWithoutTheRun(t *testing.T) {
	t.Parallel()
	run := &fakeRun{looks: []starter.Snapshot{fakeOpen()}, fails: context.Canceled}
	command(t, started(run), "--wait").Exits(ui.ExitFailed).Complains("dag/nine/x continues", "roundsman watch dag/nine/x", "roundsman cancel dag/nine/x")
	run.fails = errGone
	command(t, started(run), "--wait").Exits(ui.ExitFailed).Complains("the server is gone")
}

func TestReportsOfOpenAndLargeRunsAskForTheItems(t *testing.T) {
	t.Parallel()
	run := &fakeRun{tasks: fakeViews()}
	open := fakeOpen()
	open.Started = time.Now().Add(-time.Minute)
	report, err := reportOfDAG(t.Context(), run, open, open.Started.Add(time.Minute))
	require.NoError(t, err)
	assert.Equal(t, "running", report.Outcome)
	assert.EqualValues(t, 60_000, report.DurationMS)
	assert.Len(t, report.Tasks, 3)
	assert.Equal(t, "dag/nine/w", report.Tasks["1"].FromRun)
	assert.Len(t, run.asked, 1)

	report, err = reportOfDAG(t.Context(), run, fakeEnded(contract.OutcomeCompleted, nil), time.Now())
	require.NoError(t, err)
	assert.Len(t, report.Tasks, 3, "a result that leaves its tasks out is completed")

	unanswered := fakeOpen()
	unanswered.Progress, unanswered.Unanswered = nil, "no control plane"
	report, err = reportOfDAG(t.Context(), run, unanswered, time.Now())
	require.NoError(t, err)
	assert.Empty(t, report.Tasks)
}

func TestPictureOfARun(t *testing.T) {
	t.Parallel()
	ref := fakeRef().RunRef
	run := &fakeRun{looks: []starter.Snapshot{fakeOpen()}, tasks: fakeViews()}
	drawn, err := pictureOfRun(t.Context(), run, ref)
	require.NoError(t, err)
	require.Len(t, drawn.Tasks, 3)
	assert.Equal(t, draw.Task{ID: "2", Needs: []string{"1"}, Kind: "command", State: "running"}, drawn.Tasks[1])
	assert.Equal(t, "dag/nine/x (running)", drawn.Subtitle)

	closed := &fakeRun{looks: []starter.Snapshot{fakeEnded(contract.OutcomeFailed, nil)}, tasks: []starter.Item{{ID: "2", State: "failed", Error: "why"}}}
	drawn, err = pictureOfRun(t.Context(), closed, ref)
	require.NoError(t, err)
	assert.Equal(t, []draw.Task{{ID: "2", State: "failed", Note: "why"}}, drawn.Tasks)

	_, err = pictureOfRun(t.Context(), &fakeRun{looks: closed.looks, fails: errGone}, ref)
	require.ErrorIs(t, err, errGone)
}
