package runs

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/progress"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
)

const runArgument = "RUN is a workflow id as `roundsman runs list` shows it (the group/ may be left out), or the\n" +
	"name of a job type, which means its running group or else its last one."

// maxWatched bounds how many runs are followed at once: each costs the server a
// few requests a second.
const maxWatched = 20

func (c *commands) runsCommand() *cli.Command {
	return &cli.Command{
		Name: "runs", Usage: "list, show, watch, pause, change and cancel runs (job groups)",
		Subcommands: []*cli.Command{c.runsList(), c.runsShow(), c.runsWatch(), c.runsPause(), c.runsResume(), c.runsSet(), c.runsCancel()},
	}
}

func (c *commands) runsList() *cli.Command {
	return &cli.Command{
		Name: "list", Aliases: []string{"ls"}, Usage: "list runs, newest first",
		Description: `Examples:
  roundsman runs list
  roundsman runs list --job-type scrub --limit 5
  roundsman runs list --running
  roundsman runs list --outcome failed --output json | jq -r '.runs[].workflow_id'`,
		Flags: ui.With(
			&cli.StringFlag{Name: ui.FlagJobType, Aliases: []string{"t"}, Usage: "only runs of job type `NAME`"},
			&cli.StringFlag{Name: "outcome", Usage: "only runs that ended as `OUTCOME`: completed, partial, failed, timeout, canceled or skipped"},
			&cli.BoolFlag{Name: "running", Usage: "only runs that are going on"},
			&cli.BoolFlag{Name: "dry-runs", Usage: "also dry runs (see jobtypes detect)"},
			&cli.IntFlag{Name: ui.FlagLimit, Usage: "at most `N` runs", Value: starter.DefaultRunLimit},
		),
		Before: checkListRuns,
		Action: c.Connected(c.listRuns),
	}
}

func checkListRuns(ctx *cli.Context) error {
	if outcome := contract.Outcome(ctx.String("outcome")); outcome != "" && !slices.Contains(outcomes(), outcome) {
		return ui.Usagef("--outcome %s: must be completed, partial, failed, timeout, canceled or skipped", outcome)
	}
	if limit := ctx.Int(ui.FlagLimit); limit < 1 || limit > 10_000 {
		return ui.Usagef("--limit %d: must be 1 to 10000", limit)
	}
	return nil
}

func (c *commands) listRuns(ctx *cli.Context, client *starter.Client) error {
	outcome := contract.Outcome(ctx.String("outcome"))
	runs, err := client.Runs().List(ctx.Context, starter.RunFilter{
		JobType: ctx.String(ui.FlagJobType), Running: ctx.Bool("running"), Outcome: outcome,
		DryRuns: ctx.Bool("dry-runs"), Limit: ctx.Int(ui.FlagLimit),
	})
	if err != nil {
		return err
	}
	if ui.WantsJSON(ctx) {
		return ui.PrintJSON(c.Env.Stdout, map[string]any{"runs": ui.OrEmpty(runs)})
	}
	now := c.Env.Now()
	listed := ui.NewTable("RUN", "JOB TYPE", "OUTCOME", "STARTED", "TOOK")
	for _, run := range runs {
		listed.Add(ui.Text(run.WorkflowID), ui.Text(run.JobType), RunOutcome(run), ui.Text(ui.Ago(run.Started, now)), ui.Text(took(run, now)))
	}
	empty := "no runs yet: start one with `roundsman jobtypes run NAME`"
	if ctx.Bool("running") || outcome != "" || ctx.String(ui.FlagJobType) != "" {
		empty = "no runs match"
	}
	listed.Write(c.Env.Stdout, c.Env.Colors(), empty)
	return nil
}

// outcomes are the values of --outcome.
func outcomes() []contract.Outcome {
	return []contract.Outcome{
		contract.OutcomeCompleted, contract.OutcomePartial, contract.OutcomeFailed,
		contract.OutcomeTimeout, contract.OutcomeCanceled, contract.OutcomeSkipped,
	}
}

// FrozenCell is the outcome of a run that is paused in Temporal itself.
func FrozenCell() ui.Cell { return ui.Cell{Text: "paused in Temporal", Paint: ui.Odd} }

// RunOutcome is the outcome, or what Temporal says where there is none.
func RunOutcome(run starter.Run) ui.Cell {
	switch {
	case run.Status == starter.StatusPaused:
		return FrozenCell()
	case run.Open():
		return ui.Cell{Text: "running", Paint: ui.Bold}
	case run.Outcome != "":
		return ui.Cell{Text: string(run.Outcome), Paint: ui.OutcomePaint(run.Outcome)}
	}
	return ui.Cell{Text: string(run.Status), Paint: ui.Bad}
}

func took(run starter.Run, now time.Time) string {
	switch {
	case run.Started.IsZero():
		return "-"
	case run.Ended.IsZero():
		return ui.Span(now.Sub(run.Started))
	}
	return ui.Span(run.Ended.Sub(run.Started))
}

func (c *commands) runsShow() *cli.Command {
	return &cli.Command{
		Name: "show", ArgsUsage: "RUN", Usage: "show one run: what it does, or what came of it",
		Description: runArgument + `

Examples:
  roundsman runs show scrub
  roundsman runs show group/scrub-2026-11-20T09:00:00Z --output json`,
		Flags: ui.With(),
		Action: c.Connected(func(ctx *cli.Context, client *starter.Client) error {
			ref, err := client.Runs().Resolve(ctx.Context, ctx.Args().First())
			if err != nil {
				return err
			}
			snapshot, err := client.Runs().Show(ctx.Context, ref)
			if err != nil {
				return err
			}
			if ui.WantsJSON(ctx) {
				return ui.PrintJSON(c.Env.Stdout, snapshot)
			}
			c.showRun(snapshot)
			return nil
		}),
	}
}

func (c *commands) showRun(snapshot starter.Snapshot) {
	now, shown := c.Env.Now(), &ui.Fields{}
	shown.Add("run", ui.Text(snapshot.WorkflowID))
	shown.Add("job type", ui.Text(snapshot.JobType))
	shown.Add("outcome", RunOutcome(snapshot.Run))
	shown.Add("started", ui.Textf("%s (%s)", ui.Stamp(snapshot.Started), ui.Ago(snapshot.Started, now)))
	if !snapshot.Ended.IsZero() {
		shown.Add("ended", ui.Textf("%s (%s)", ui.Stamp(snapshot.Ended), ui.Ago(snapshot.Ended, now)))
	}
	shown.Add("took", ui.Text(took(snapshot.Run, now)))
	shown.Add("failure", ui.Cell{Text: snapshot.Failure, Paint: ui.Bad})
	shown.Add("unanswered", ui.Cell{Text: snapshot.Unanswered, Paint: ui.Odd})
	if group := snapshot.Group; group != nil {
		c.addGroup(shown, group)
	}
	if result := snapshot.Result; result != nil {
		if result.Submission != "" {
			shown.Add("ad hoc", ui.Textf("%s, by %s", result.Submission, cmp.Or(result.SubmittedBy, "nobody knows whom")))
		}
		if result.IgnoredWindow {
			shown.Add("window", ui.Cell{Text: "ignored, as an operator asked", Paint: ui.Odd})
		}
		if result.Dropped != nil {
			shown.Add("dropped", ui.Cell{Text: droppedText(*result.Dropped), Paint: ui.Odd})
		}
		shown.Add("reason", ui.Text(ui.OneLine(result.Reason)))
		shown.Add("jobs", ui.Text(progress.Counts(result.Counts)))
		shown.Add("detector", ui.Text(result.Detector))
		for _, worker := range ui.SortedKeys(result.ByWorker) {
			shown.Add("worker", ui.Textf("%s completed %d", worker, result.ByWorker[worker]))
		}
	}
	shown.Write(c.Env.Stdout, c.Env.Colors())
	c.showActive(snapshot.Active)
	c.showHeldBack(snapshot)
	if snapshot.Result != nil {
		c.showErrors(snapshot)
	}
}

func (c *commands) addGroup(shown *ui.Fields, group *contract.GroupStatus) {
	shown.Add("phase", ui.Text(group.Phase))
	if group.Paused {
		shown.Add("paused", ui.Cell{Text: cmp.Or(group.PauseNote, "yes"), Paint: ui.Odd})
	}
	shown.Add("waiting", ui.Cell{Text: group.Waiting, Paint: ui.Odd})
	shown.Add("jobs", ui.Textf("%s; %d pending, %d running", progress.Counts(group.Counts), group.Pending, group.Running))
	shown.Add("deadline", ui.Text(ui.Stamp(group.Deadline)))
	switch {
	case group.IgnoresWindow:
		shown.Add("window", ui.Cell{Text: "ignored, as an operator asked", Paint: ui.Odd})
	case group.Window != nil:
		shown.Add("window closes", ui.Text(ui.Stamp(group.Window.Closes)))
	}
	shown.Add("detector", ui.Text(group.Detector))
	for _, worker := range group.Workers {
		state := fmt.Sprintf("%s %s, %d of %d slots", worker.ID, worker.State, min(worker.Running, worker.Slots), worker.Slots)
		if more := worker.Running - worker.Slots; more > 0 {
			state += fmt.Sprintf(" and %d more", more) // sent ahead, or begun under a larger cap
		}
		if !worker.Usable {
			state += ", not used: " + cmp.Or(worker.Reason, "unknown reason")
		}
		shown.Add("worker", ui.Textf("%s", state))
	}
}

func (c *commands) showActive(active []starter.ActiveJob) {
	if len(active) == 0 {
		return
	}
	now, listed := c.Env.Now(), ui.NewTable("JOB", "WORKER", "RUNNING", "PROGRESS", "MESSAGE")
	for _, job := range active {
		listed.Add(ui.Text(job.JobID), ui.Text(WorkerOf(job)), ui.Text(RunningFor(job, now)), ui.Text(PercentOf(job)), ui.Text(MessageOf(job)))
	}
	fmt.Fprintln(c.Env.Stdout)
	listed.Write(c.Env.Stdout, c.Env.Colors(), "")
}

func (c *commands) showErrors(snapshot starter.Snapshot) {
	if len(snapshot.Result.Errors) == 0 {
		return
	}
	listed := ui.NewTable("JOB", "KEY", "WORKER", "ERROR")
	for _, failed := range snapshot.Result.Errors {
		listed.Add(ui.Text(failed.JobID), ui.Text(failedKey(failed)), ui.Text(failed.Worker), ui.Cell{Text: failed.Message, Paint: ui.Bad})
	}
	fmt.Fprintln(c.Env.Stdout)
	listed.Write(c.Env.Stdout, c.Env.Colors(), "")
}

// failedKey names a failed job by its dedupe key, or the first of its batch.
func failedKey(failed contract.JobError) string {
	key := ui.Shorten(failed.DedupeKey, 60)
	if failed.Items > 1 {
		key += fmt.Sprintf(" and %d more", failed.Items-1)
	}
	return key
}

func (c *commands) runsWatch() *cli.Command {
	return &cli.Command{
		Name: "watch", ArgsUsage: "[RUN...]", Usage: "follow runs until they end",
		Description: runArgument + `
Without one, every run is followed that is going on.

On a terminal there is a live bar per run, in a pipe a line now and then; with --output json a
line of JSON per look. The exit code is 0 only if every run completed.

Examples:
  roundsman runs watch
  roundsman runs watch scrub
  roundsman runs watch group/scrub-2026-11-20T09:00:00Z | tee scrub.log
  roundsman runs watch scrub --output json | jq -c .group.counts`,
		Flags:  ui.With(ui.IntervalFlag()),
		Before: ui.CheckInterval,
		Action: c.Connected(func(ctx *cli.Context, client *starter.Client) error {
			refs, err := watchedRuns(ctx, client)
			if err != nil {
				return err
			}
			if len(refs) == 0 {
				fmt.Fprintln(c.Env.Stderr, "nothing is running")
				return nil
			}
			return Watch(c.Program, ctx, client, ctx.Duration(ui.FlagInterval), refs...)
		}),
	}
}

// watchedRuns are those that were named, or else all that are going on.
func watchedRuns(ctx *cli.Context, client *starter.Client) ([]starter.RunRef, error) {
	var refs []starter.RunRef
	for _, arg := range ctx.Args().Slice() {
		ref, err := client.Runs().Resolve(ctx.Context, arg)
		if err != nil {
			return nil, err
		}
		refs = append(refs, ref)
	}
	if len(refs) > 0 {
		return refs, nil
	}
	runs, err := client.Runs().List(ctx.Context, starter.RunFilter{Running: true, Limit: maxWatched})
	for _, run := range runs {
		refs = append(refs, starter.RunRef{WorkflowID: run.WorkflowID})
	}
	return refs, err
}

func (c *commands) runsCancel() *cli.Command {
	return &cli.Command{
		Name: "cancel", ArgsUsage: "RUN", Usage: "cancel a run: running jobs are stopped, the rest never starts",
		Description: runArgument + `

The same as the Web UI's cancel button and ` + "`temporal workflow cancel`" + `. Finished jobs stay finished.

Examples:
  roundsman runs cancel scrub
  roundsman runs cancel scrub --reason "disk is being replaced" --wait`,
		Flags: ui.With(
			&cli.StringFlag{Name: ui.FlagReason, Usage: "`TEXT` to keep in the run's result"},
			&cli.BoolFlag{Name: ui.FlagWait, Usage: "wait until the run has ended"},
		),
		Action: c.Connected(func(ctx *cli.Context, client *starter.Client) error {
			ref, err := client.Runs().Resolve(ctx.Context, ctx.Args().First())
			if err != nil {
				return err
			}
			if err := client.Runs().Cancel(ctx.Context, ref, ctx.String(ui.FlagReason)); err != nil {
				return err
			}
			if ctx.Bool(ui.FlagWait) {
				if _, err := client.Runs().Result(ctx.Context, ref); err != nil {
					return err
				}
			}
			return c.Done(ctx, map[string]any{"workflow_id": ref.WorkflowID, "requested": "cancel"},
				"cancel requested: %s (follow it with `roundsman runs watch %s`)", ref.WorkflowID, ref.WorkflowID)
		}),
	}
}
