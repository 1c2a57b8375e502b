package dag

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/cli/progress"
	"github.com/roundsman/roundsman/internal/cli/runs"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
)

func (c *commands) dagList() *cli.Command {
	return &cli.Command{
		Name: "list", Aliases: []string{"ls"}, ArgsUsage: "[DAG]", Usage: "list runs of DAGs, newest first",
		Description: `Examples:
  roundsman dag list
  roundsman dag list rolling-maintenance --limit 5
  roundsman dag list --running
  roundsman dag list --output json | jq -r '.runs[] | select(.outcome == "failed") | .workflow_id'`,
		Flags: ui.With(
			&cli.BoolFlag{Name: "running", Usage: "only runs that are going on"},
			&cli.BoolFlag{Name: "sub-dags", Usage: "also the runs of sub-DAGs and of jobs"},
			&cli.IntFlag{Name: ui.FlagLimit, Usage: "at most `N` runs", Value: starter.DefaultRunLimit},
		),
		Before: func(ctx *cli.Context) error {
			if limit := ctx.Int(ui.FlagLimit); limit < 1 || limit > 10_000 {
				return ui.Usagef("--limit %d: must be 1 to 10000", limit)
			}
			if name := ctx.Args().First(); name != "" && jobtype.ValidateName(name) != nil {
				return ui.Usagef("DAG %s: %w", name, jobtype.ValidateName(name))
			}
			return nil
		},
		Action: c.Connected(c.listDAGs),
	}
}

func (c *commands) listDAGs(ctx *cli.Context, client *starter.Client) error {
	filter := starter.DAGFilter{
		Name: ctx.Args().First(), Running: ctx.Bool("running"), SubDAGs: ctx.Bool("sub-dags"), Limit: ctx.Int(ui.FlagLimit),
	}
	runs, err := client.DAGs().List(ctx.Context, filter)
	if err != nil {
		return err
	}
	if ui.WantsJSON(ctx) {
		return ui.PrintJSON(c.Env.Stdout, map[string]any{"runs": ui.OrEmpty(runs)})
	}
	now, listed := c.Env.Now(), ui.NewTable("RUN", "DAG", "OUTCOME", "STARTED", "TOOK")
	for _, run := range runs {
		listed.Add(ui.Text(run.WorkflowID), ui.Text(run.DAG), dagOutcomeCell(run), ui.Text(ui.Ago(run.Started, now)), ui.Text(dagTook(run, now)))
	}
	empty := "no runs yet: start one with `roundsman dag run FILE`"
	if filter.Name != "" || filter.Running {
		empty = "no runs match"
	}
	listed.Write(c.Env.Stdout, c.Env.Colors(), empty)
	return nil
}

func dagOutcomeCell(run starter.DAGRun) ui.Cell {
	switch {
	case run.Status == starter.StatusPaused:
		return runs.FrozenCell()
	case run.Open():
		return ui.Cell{Text: "running", Paint: ui.Bold}
	case run.Outcome != "":
		return ui.Cell{Text: string(run.Outcome), Paint: ui.OutcomePaint(run.Outcome)}
	}
	return ui.Cell{Text: strings.ToLower(string(run.Status)), Paint: ui.Bad}
}

func dagTook(run starter.DAGRun, now time.Time) string {
	switch {
	case run.Started.IsZero():
		return "-"
	case run.Ended.IsZero():
		return ui.Span(now.Sub(run.Started))
	}
	return ui.Span(run.Ended.Sub(run.Started))
}

// taskStates are the values of --state.
func taskStates() []string {
	var names []string
	for _, state := range dag.States() {
		names = append(names, state.String())
	}
	return names
}

func (c *commands) dagShow() *cli.Command {
	return &cli.Command{
		Name: "show", ArgsUsage: "RUN", Usage: "show one run with its tasks: state, attempts, worker, error, run it came from",
		Description: dagRunArgument + `

FROM names the earlier run that produced a task's state, where ` + "`dag retry`" + ` took it over.
With --output json the answer is that of ` + "`dag run`" + `, and for an open run "state" says what it waits
for and "active" what the workers report. With --task, one that has ended shows what it returned and printed.

Examples:
  roundsman dag show rolling-maintenance
  roundsman dag show nightly --state failed --state upstream_failed
  roundsman dag show nightly --task load
  roundsman dag show dag/nightly/20261120T090000-1f2e3d --output json | jq '.tasks[] | select(.attempts > 1)'`,
		Flags:  showFlags(),
		Before: checkShow,
		Action: c.onRun(c.showDAG),
	}
}

func showFlags() []cli.Flag {
	return ui.With(
		&cli.StringSliceFlag{Name: ui.FlagState, Aliases: []string{"s"}, Usage: "of a DAG, only tasks in `STATE`: " + strings.Join(taskStates(), ", ") + "; may be given several times"},
		&cli.StringFlag{Name: ui.FlagTask, Usage: "of a DAG, only `TASK`, or all tasks of a fan-out; one that has ended shows its result and output"},
		&cli.IntFlag{Name: ui.FlagLimit, Usage: "of a DAG, at most `N` tasks", Value: 200},
	)
}

func checkShow(ctx *cli.Context) error {
	for _, state := range ctx.StringSlice(ui.FlagState) {
		if !slices.Contains(taskStates(), state) {
			return ui.Usagef("--state %s: must be one of %s", state, strings.Join(taskStates(), ", "))
		}
	}
	if limit := ctx.Int(ui.FlagLimit); limit < 1 {
		return ui.Usagef("--limit %d: must be at least 1", limit)
	}
	return nil
}

func (c *commands) showDAG(ctx *cli.Context, client *starter.Client, ref starter.RunRef) error {
	snapshot, err := client.DAGs().Show(ctx.Context, ref)
	if err != nil {
		return err
	}
	if ui.WantsJSON(ctx) {
		report, err := reportOfDAG(ctx.Context, client.DAGs(), snapshot, c.Env.Now())
		if err != nil {
			return err
		}
		tasks, _, err := shownTasks(ctx, client.DAGs(), snapshot)
		if err != nil {
			return err
		}
		return ui.PrintJSON(c.Env.Stdout, struct {
			Report

			State  *contract.DAGStatus `json:"state,omitempty"`
			Active []starter.ActiveJob `json:"active,omitempty"`
			Result *jobtype.Result     `json:"result,omitempty"`
		}{report, snapshot.State, snapshot.Active, c.taskResult(ctx, client, ref, tasks)})
	}
	c.printDAG(snapshot)
	tasks, total, err := shownTasks(ctx, client.DAGs(), snapshot)
	if err != nil {
		return err
	}
	c.printTasks(snapshot, tasks, total)
	if result := c.taskResult(ctx, client, ref, tasks); result != nil {
		c.showResult(*result)
	}
	return nil
}

// showResult prints below a list what its only task returned and printed.
func (c *commands) showResult(result jobtype.Result) {
	shown := &ui.Fields{}
	shown.Add("result", ui.Text(ui.OneLine(result.Summary)))
	if len(result.Data) > 0 {
		shown.Add("data", ui.Text(runs.CompactJSON(result.Data)))
	}
	if result.Summary != "" || len(result.Data) > 0 {
		fmt.Fprintln(c.Env.Stdout)
		shown.Write(c.Env.Stdout, c.Env.Colors())
	}
	runs.ShowOutput(c.Program, result)
}

// taskResult is what the task left that --task names, nil unless it is one task
// that has ended.
func (c *commands) taskResult(ctx *cli.Context, client *starter.Client, ref starter.RunRef, tasks []contract.TaskView) *jobtype.Result {
	if ctx.String(ui.FlagTask) == "" || len(tasks) != 1 {
		return nil
	}
	switch tasks[0].State {
	case dag.Succeeded.String(), dag.Failed.String(), dag.Canceled.String():
	default:
		return nil
	}
	result, err := client.DAGs().TaskResult(ctx.Context, ref, tasks[0])
	c.Note(err)
	return result
}

// shownTasks are the tasks that the flags leave. Those of a closed run come with
// its result; it does not need a control plane.
func shownTasks(ctx *cli.Context, client taskLister, snapshot starter.DAGSnapshot) ([]contract.TaskView, int, error) {
	limit := ctx.Int(ui.FlagLimit)
	filter := contract.TasksQueryInput{States: ctx.StringSlice(ui.FlagState), Task: ctx.String(ui.FlagTask)}
	switch {
	case snapshot.Result != nil && len(snapshot.Result.Tasks) > 0:
		tasks := closedTasks(snapshot.Result.Tasks, filter)
		return tasks[:min(len(tasks), limit)], len(tasks), nil
	case snapshot.Result == nil && snapshot.State == nil:
		return nil, 0, nil // Nobody can tell; printDAG says why.
	}
	return allTasks(ctx.Context, client, snapshot.RunRef, filter, limit)
}

// closedTasks filters and orders the tasks of a result, which has no order: by
// entry, the tasks of a fan-out by length and then by name, so that 10 follows 9.
func closedTasks(all map[string]contract.DAGTask, filter contract.TasksQueryInput) []contract.TaskView {
	var tasks []contract.TaskView
	for id, task := range maps.All(all) {
		if len(filter.States) > 0 && !slices.Contains(filter.States, task.State) {
			continue
		}
		if filter.Task != "" && filter.Task != id && filter.Task != spec.Entry(id) {
			continue
		}
		tasks = append(tasks, contract.TaskView{ID: id, DAGTask: task})
	}
	slices.SortFunc(tasks, func(a, b contract.TaskView) int {
		return cmp.Or(cmp.Compare(spec.Entry(a.ID), spec.Entry(b.ID)), cmp.Compare(len(a.ID), len(b.ID)), cmp.Compare(a.ID, b.ID))
	})
	return tasks
}

func (c *commands) printDAG(snapshot starter.DAGSnapshot) {
	now, shown := c.Env.Now(), &ui.Fields{}
	shown.Add("run", ui.Cell{Text: snapshot.WorkflowID, Paint: ui.Bold})
	shown.Add("DAG", ui.Text(snapshot.DAG))
	shown.Add("outcome", dagOutcomeCell(snapshot.DAGRun))
	shown.Add("started", ui.Textf("%s (%s)", ui.Stamp(snapshot.Started), ui.Ago(snapshot.Started, now)))
	if !snapshot.Ended.IsZero() {
		shown.Add("ended", ui.Textf("%s (%s)", ui.Stamp(snapshot.Ended), ui.Ago(snapshot.Ended, now)))
	}
	shown.Add("took", ui.Text(dagTook(snapshot.DAGRun, now)))
	shown.Add("failure", ui.Cell{Text: snapshot.Failure, Paint: ui.Bad})
	shown.Add("unanswered", ui.Cell{Text: snapshot.Unanswered, Paint: ui.Odd})
	if snapshot.Result != nil {
		shown.Add("reason", ui.Text(snapshot.Result.Reason))
		shown.Add("tasks", ui.Text(progress.DAGCounts(snapshot.Result.Counts)))
	}
	if state := snapshot.State; state != nil {
		addDAGState(shown, snapshot.WorkflowID, state)
	}
	shown.Write(c.Env.Stdout, c.Env.Colors())
}

func addDAGState(shown *ui.Fields, id string, state *contract.DAGStatus) {
	shown.Add("phase", ui.Text(state.Phase))
	shown.Add("goes on from", ui.Text(state.Resumes))
	if state.Paused {
		shown.Add("paused", ui.Cell{Text: cmp.Or(state.PauseNote, "yes"+ui.ByWhom(state.PausedBy)) + " (roundsman runs resume " + id + ")", Paint: ui.Odd})
	}
	shown.Add("waiting", ui.Cell{Text: state.Waiting, Paint: ui.Odd})
	shown.Add("tasks", ui.Textf("%d: %s", state.Total, progress.DAGCounts(state.Counts)))
	shown.Add("concurrency", ui.Text(strconv.Itoa(state.Concurrency)))
	shown.Add("deadline", ui.Text(ui.Stamp(state.Deadline)))
	if !state.HeldUntil.IsZero() {
		shown.Add("held", ui.Cell{Text: fmt.Sprintf("until %s: `roundsman dag retry %s` tries again, `roundsman dag release %s` ends it", ui.Stamp(state.HeldUntil), id, id), Paint: ui.Odd})
	}
	for _, task := range state.Approvals {
		shown.Add("approval", ui.Cell{Text: fmt.Sprintf("%s waits for %s (roundsman dag approve %s %s)", task.ID, cmp.Or(task.Waiting, "an approval"), id, task.ID), Paint: ui.Odd})
	}
	for _, worker := range state.Workers {
		said := fmt.Sprintf("%s %s, %d of %d slots", worker.ID, worker.State, worker.Running, worker.Slots)
		if !worker.Usable {
			said += ", not used: " + cmp.Or(worker.Reason, "unknown reason")
		}
		shown.Add("worker", ui.Text(said))
	}
}

func (c *commands) printTasks(snapshot starter.DAGSnapshot, tasks []contract.TaskView, total int) {
	active := map[string]starter.ActiveJob{}
	for _, task := range snapshot.Active {
		active[task.JobID] = task
	}
	now, listed := c.Env.Now(), ui.NewTable("TASK", "STATE", "TRY", "WORKER", "TOOK", "FROM", "WHAT")
	for _, task := range tasks {
		try, took, what := "", "", cmp.Or(task.Error, task.Waiting)
		if task.Attempts > 0 {
			try = strconv.Itoa(task.Attempts)
		}
		if running, ok := active[task.ID]; ok && task.State == dag.Running.String() {
			took = runs.RunningFor(running, now)
			task.Worker = cmp.Or(task.Worker, runs.WorkerOf(running))
			what = cmp.Or(strings.TrimSpace(runs.PercentOf(running)+" "+runs.MessageOf(running)), what)
		}
		listed.Add(ui.Text(task.ID), ui.Cell{Text: task.State, Paint: taskPaint(task.State)}, ui.Text(try), ui.Text(task.Worker),
			ui.Text(took), ui.Text(task.FromRun), ui.Text(ui.Shorten(what, 100)))
	}
	fmt.Fprintln(c.Env.Stdout)
	listed.Write(c.Env.Stdout, c.Env.Colors(), "no tasks match")
	if total > len(tasks) {
		c.Print("%d of %d tasks; see more with --limit", len(tasks), total)
	}
}
