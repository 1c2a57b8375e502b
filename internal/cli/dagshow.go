package cli

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
		Flags: with(
			&cli.BoolFlag{Name: "running", Usage: "only runs that are going on"},
			&cli.BoolFlag{Name: "sub-dags", Usage: "also the runs of sub-DAGs and of jobs"},
			&cli.IntFlag{Name: flagLimit, Usage: "at most `N` runs", Value: starter.DefaultRunLimit},
		),
		Before: func(ctx *cli.Context) error {
			if limit := ctx.Int(flagLimit); limit < 1 || limit > 10_000 {
				return usagef("--limit %d: must be 1 to 10000", limit)
			}
			if name := ctx.Args().First(); name != "" && jobtype.ValidateName(name) != nil {
				return usagef("DAG %s: %w", name, jobtype.ValidateName(name))
			}
			return nil
		},
		Action: c.connected(c.listDAGs),
	}
}

func (c *commands) listDAGs(ctx *cli.Context, client *starter.Client) error {
	filter := starter.DAGFilter{
		Name: ctx.Args().First(), Running: ctx.Bool("running"), SubDAGs: ctx.Bool("sub-dags"), Limit: ctx.Int(flagLimit),
	}
	runs, err := client.ListDAGs(ctx.Context, filter)
	if err != nil {
		return err
	}
	if wantsJSON(ctx) {
		return printJSON(c.env.Stdout, map[string]any{"runs": orEmpty(runs)})
	}
	now, listed := c.env.Now(), newTable("RUN", "DAG", "OUTCOME", "STARTED", "TOOK")
	for _, run := range runs {
		listed.add(text(run.WorkflowID), text(run.DAG), dagOutcomeCell(run), text(ago(run.Started, now)), text(dagTook(run, now)))
	}
	empty := "no runs yet: start one with `roundsman dag run FILE`"
	if filter.Name != "" || filter.Running {
		empty = "no runs match"
	}
	listed.write(c.env.Stdout, c.env.colors(), empty)
	return nil
}

func dagOutcomeCell(run starter.DAGRun) cell {
	switch {
	case run.Status == starter.StatusPaused:
		return frozenCell()
	case run.Open():
		return cell{text: "running", paint: bold}
	case run.Outcome != "":
		return cell{text: string(run.Outcome), paint: outcomePaint(run.Outcome)}
	}
	return cell{text: strings.ToLower(string(run.Status)), paint: bad}
}

func dagTook(run starter.DAGRun, now time.Time) string {
	switch {
	case run.Started.IsZero():
		return "-"
	case run.Ended.IsZero():
		return span(now.Sub(run.Started))
	}
	return span(run.Ended.Sub(run.Started))
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
		Flags: with(
			&cli.StringSliceFlag{Name: flagState, Aliases: []string{"s"}, Usage: "only tasks in `STATE`: " + strings.Join(taskStates(), ", ") + "; may be given several times"},
			&cli.StringFlag{Name: flagTask, Usage: "only `TASK`, or all tasks of a fan-out"},
			&cli.IntFlag{Name: flagLimit, Usage: "at most `N` tasks", Value: 200},
		),
		Before: func(ctx *cli.Context) error {
			for _, state := range ctx.StringSlice(flagState) {
				if !slices.Contains(taskStates(), state) {
					return usagef("--state %s: must be one of %s", state, strings.Join(taskStates(), ", "))
				}
			}
			if limit := ctx.Int(flagLimit); limit < 1 {
				return usagef("--limit %d: must be at least 1", limit)
			}
			return nil
		},
		Action: c.onRun(c.showDAG),
	}
}

func (c *commands) showDAG(ctx *cli.Context, client *starter.Client, ref starter.RunRef) error {
	snapshot, err := client.ShowDAG(ctx.Context, ref)
	if err != nil {
		return err
	}
	if wantsJSON(ctx) {
		report, err := reportOfDAG(ctx.Context, client, snapshot, c.env.Now())
		if err != nil {
			return err
		}
		tasks, _, err := shownTasks(ctx, client, snapshot)
		if err != nil {
			return err
		}
		return printJSON(c.env.Stdout, struct {
			dagReport

			State  *contract.DAGStatus `json:"state,omitempty"`
			Active []starter.ActiveJob `json:"active,omitempty"`
			Result *jobtype.Result     `json:"result,omitempty"`
		}{report, snapshot.State, snapshot.Active, c.taskResult(ctx, client, ref, tasks)})
	}
	c.printDAG(snapshot)
	tasks, total, err := shownTasks(ctx, client, snapshot)
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
	shown := &fields{}
	shown.add("result", text(oneLine(result.Summary)))
	if len(result.Data) > 0 {
		shown.add("data", text(compactJSON(result.Data)))
	}
	if result.Summary != "" || len(result.Data) > 0 {
		fmt.Fprintln(c.env.Stdout)
		shown.write(c.env.Stdout, c.env.colors())
	}
	c.showOutput(result)
}

// taskResult is what the task left that --task names, nil unless it is one task
// that has ended.
func (c *commands) taskResult(ctx *cli.Context, client *starter.Client, ref starter.RunRef, tasks []contract.TaskView) *jobtype.Result {
	if ctx.String(flagTask) == "" || len(tasks) != 1 {
		return nil
	}
	switch tasks[0].State {
	case dag.Succeeded.String(), dag.Failed.String(), dag.Canceled.String():
	default:
		return nil
	}
	result, err := client.TaskResult(ctx.Context, ref, tasks[0])
	c.note(err)
	return result
}

// shownTasks are the tasks that the flags leave. Those of a closed run come with
// its result; it does not need a control plane.
func shownTasks(ctx *cli.Context, client taskLister, snapshot starter.DAGSnapshot) ([]contract.TaskView, int, error) {
	limit := ctx.Int(flagLimit)
	filter := contract.TasksQueryInput{States: ctx.StringSlice(flagState), Task: ctx.String(flagTask)}
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
	now, shown := c.env.Now(), &fields{}
	shown.add("run", cell{text: snapshot.WorkflowID, paint: bold})
	shown.add("DAG", text(snapshot.DAG))
	shown.add("outcome", dagOutcomeCell(snapshot.DAGRun))
	shown.add("started", textf("%s (%s)", stamp(snapshot.Started), ago(snapshot.Started, now)))
	if !snapshot.Ended.IsZero() {
		shown.add("ended", textf("%s (%s)", stamp(snapshot.Ended), ago(snapshot.Ended, now)))
	}
	shown.add("took", text(dagTook(snapshot.DAGRun, now)))
	shown.add("failure", cell{text: snapshot.Failure, paint: bad})
	shown.add("unanswered", cell{text: snapshot.Unanswered, paint: odd})
	if snapshot.Result != nil {
		shown.add("reason", text(snapshot.Result.Reason))
		shown.add("tasks", text(progress.DAGCounts(snapshot.Result.Counts)))
	}
	if state := snapshot.State; state != nil {
		addDAGState(shown, snapshot.WorkflowID, state)
	}
	shown.write(c.env.Stdout, c.env.colors())
}

func addDAGState(shown *fields, id string, state *contract.DAGStatus) {
	shown.add("phase", text(state.Phase))
	shown.add("goes on from", text(state.Resumes))
	if state.Paused {
		shown.add("paused", cell{text: cmp.Or(state.PauseNote, "yes"+byWhom(state.PausedBy)) + " (roundsman dag resume " + id + ")", paint: odd})
	}
	shown.add("waiting", cell{text: state.Waiting, paint: odd})
	shown.add("tasks", textf("%d: %s", state.Total, progress.DAGCounts(state.Counts)))
	shown.add("concurrency", text(strconv.Itoa(state.Concurrency)))
	shown.add("deadline", text(stamp(state.Deadline)))
	if !state.HeldUntil.IsZero() {
		shown.add("held", cell{text: fmt.Sprintf("until %s: `roundsman dag retry %s` tries again, `roundsman dag release %s` ends it", stamp(state.HeldUntil), id, id), paint: odd})
	}
	for _, task := range state.Approvals {
		shown.add("approval", cell{text: fmt.Sprintf("%s waits for %s (roundsman dag approve %s %s)", task.ID, cmp.Or(task.Waiting, "an approval"), id, task.ID), paint: odd})
	}
	for _, worker := range state.Workers {
		said := fmt.Sprintf("%s %s, %d of %d slots", worker.ID, worker.State, worker.Running, worker.Slots)
		if !worker.Usable {
			said += ", not used: " + cmp.Or(worker.Reason, "unknown reason")
		}
		shown.add("worker", text(said))
	}
}

func (c *commands) printTasks(snapshot starter.DAGSnapshot, tasks []contract.TaskView, total int) {
	active := map[string]starter.ActiveJob{}
	for _, task := range snapshot.Active {
		active[task.JobID] = task
	}
	now, listed := c.env.Now(), newTable("TASK", "STATE", "TRY", "WORKER", "TOOK", "FROM", "WHAT")
	for _, task := range tasks {
		try, took, what := "", "", cmp.Or(task.Error, task.Waiting)
		if task.Attempts > 0 {
			try = strconv.Itoa(task.Attempts)
		}
		if running, ok := active[task.ID]; ok && task.State == dag.Running.String() {
			took = runningFor(running, now)
			task.Worker = cmp.Or(task.Worker, workerOf(running))
			what = cmp.Or(strings.TrimSpace(percentOf(running)+" "+messageOf(running)), what)
		}
		listed.add(text(task.ID), cell{text: task.State, paint: taskPaint(task.State)}, text(try), text(task.Worker),
			text(took), text(task.FromRun), text(shorten(what, 100)))
	}
	fmt.Fprintln(c.env.Stdout)
	listed.write(c.env.Stdout, c.env.colors(), "no tasks match")
	if total > len(tasks) {
		fmt.Fprintf(c.env.Stdout, "%d of %d tasks; see more with --limit\n", len(tasks), total)
	}
}

// byWhom adds who did something, if that is known.
func byWhom(who string) string {
	if who == "" {
		return ""
	}
	return " by " + who
}
