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
	"github.com/roundsman/roundsman/internal/explain"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
)

const runArgument = "RUN is a workflow id as `roundsman runs list` shows it (the group/ or dag/ may be left out), the\n" +
	"name of a job type, which means its running group or else its last one, or the name of a DAG, which\n" +
	"means its newest run."

// maxWatched bounds how many runs are followed at once: each costs the server a
// few requests a second.
const maxWatched = 20

func (c *commands) runsCommand() *cli.Command {
	return &cli.Command{
		Name: "runs", Usage: "list, show, watch, pause, change and cancel runs of job types and of DAGs",
		Subcommands: []*cli.Command{c.runsList(), c.runsShow(), c.runsWatch(), c.runsPause(), c.runsResume(), c.runsSet(), c.runsCancel()},
	}
}

func (c *commands) runsList() *cli.Command {
	return &cli.Command{
		Name: "list", Aliases: []string{"ls"}, Usage: "list runs of job types and of DAGs, newest first",
		Description: `Examples:
  roundsman runs list
  roundsman runs list --job-type scrub --limit 5
  roundsman runs list --dag rolling-maintenance
  roundsman runs list --running
  roundsman runs list --outcome failed,timeout,partial --since 12h
  roundsman runs list --outcome failed --output json | jq -r '.runs[].workflow_id'`,
		Flags: ui.With(append([]cli.Flag{
			&cli.StringFlag{Name: ui.FlagJobType, Aliases: []string{"t"}, Usage: "only runs of job type `NAME`"},
			&cli.StringFlag{Name: "dag", Usage: "only runs of the DAG `NAME`"},
			&cli.StringFlag{Name: "kind", Usage: "only runs of `KIND`: group (of a job type) or dag"},
			&cli.StringFlag{Name: "outcome", Usage: "only runs that ended as one of `OUTCOME,...`: completed, partial, failed, timeout, canceled or skipped"},
			&cli.BoolFlag{Name: "running", Usage: "only runs that are going on"},
			&cli.BoolFlag{Name: "dry-runs", Usage: "also dry runs (see jobtypes detect)"},
			&cli.BoolFlag{Name: "sub-dags", Usage: "also the runs of sub-DAGs and of jobs"},
			&cli.IntFlag{Name: ui.FlagLimit, Usage: "at most `N` runs", Value: starter.DefaultRunLimit},
		}, ui.PeriodFlags()...)...),
		Before: func(ctx *cli.Context) error {
			_, err := c.runFilter(ctx)
			return err
		},
		Action: c.Connected(c.listRuns),
	}
}

func (c *commands) runFilter(ctx *cli.Context) (starter.RunFilter, error) {
	since, until, err := c.Period(ctx)
	if err != nil {
		return starter.RunFilter{}, ui.Faulty(err)
	}
	filter := starter.RunFilter{
		JobType: ctx.String(ui.FlagJobType), DAG: ctx.String("dag"), Kind: starter.Kind(ctx.String("kind")), Running: ctx.Bool("running"),
		Since: since, Until: until, DryRuns: ctx.Bool("dry-runs"), SubDAGs: ctx.Bool("sub-dags"), Limit: ctx.Int(ui.FlagLimit),
	}
	for _, written := range ui.SplitList(ctx.String("outcome")) {
		outcome := contract.Outcome(written)
		if !slices.Contains(outcomes(), outcome) {
			return filter, ui.Usagef("--outcome %s: must be completed, partial, failed, timeout, canceled or skipped", written)
		}
		filter.Outcomes = append(filter.Outcomes, outcome)
	}
	switch {
	case filter.Limit < 1 || filter.Limit > 10_000:
		return filter, ui.Usagef("--limit %d: must be 1 to 10000", filter.Limit)
	case filter.Kind != "" && filter.Kind != starter.KindGroup && filter.Kind != starter.KindDAG:
		return filter, ui.Usagef("--kind %s: must be group or dag", filter.Kind)
	case filter.JobType != "" && (filter.DAG != "" || filter.Kind == starter.KindDAG), filter.DAG != "" && filter.Kind == starter.KindGroup:
		return filter, ui.Usagef("a run is of a job type or of a DAG: give one of --job-type, --dag and --kind")
	}
	for flag, name := range map[string]string{ui.FlagJobType: filter.JobType, "dag": filter.DAG} {
		if name != "" && jobtype.ValidateName(name) != nil {
			return filter, ui.Usagef("--%s: %w", flag, jobtype.ValidateName(name))
		}
	}
	return filter, nil
}

func (c *commands) listRuns(ctx *cli.Context, client *starter.Client) error {
	filter, err := c.runFilter(ctx)
	if err != nil {
		return err
	}
	runs, err := client.Runs().List(ctx.Context, filter)
	if err != nil {
		return err
	}
	if ui.WantsJSON(ctx) {
		return ui.PrintJSON(c.Env.Stdout, map[string]any{"runs": ui.OrEmpty(runs)})
	}
	now := c.Env.Now()
	listed := ui.NewTable("RUN", "OF", "OUTCOME", "STARTED", "TOOK")
	for _, run := range runs {
		of := ui.Text(run.Name())
		if run.Kind == starter.KindDAG {
			of.Text = "dag " + run.DAG
		}
		listed.Add(ui.Text(run.WorkflowID), of, RunOutcome(run), ui.Text(ui.Ago(run.Started, now)), ui.Text(took(run, now)))
	}
	empty := "no runs yet: start one with `roundsman jobtypes run NAME` or `roundsman dag run FILE`"
	if filter.JobType+filter.DAG+string(filter.Kind) != "" || filter.Running || len(filter.Outcomes) > 0 || !filter.Since.IsZero() || !filter.Until.IsZero() {
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
  roundsman runs show rolling-maintenance --state failed
  roundsman runs show group/scrub-2026-11-20T09:00:00Z --output json`,
		Flags:  c.dags.ShowFlags(),
		Before: c.dags.CheckShow,
		Action: c.Connected(func(ctx *cli.Context, client *starter.Client) error {
			ref, err := client.Runs().Resolve(ctx.Context, ctx.Args().First())
			if err != nil {
				return err
			}
			if ref.Kind() == starter.KindDAG {
				return c.dags.Show(ctx, client, ref)
			}
			snapshot, err := client.Runs().Show(ctx.Context, ref)
			if err != nil {
				return err
			}
			failures, uncounted := client.Runs().Failures(ctx.Context, snapshot)
			if ui.WantsJSON(ctx) {
				return ui.PrintJSON(c.Env.Stdout, struct {
					starter.Snapshot
					Failures []explain.Failure `json:"failures,omitempty"`
				}{snapshot, failures})
			}
			c.showRun(snapshot, failures, uncounted)
			return nil
		}),
	}
}

func (c *commands) showRun(snapshot starter.Snapshot, failures []explain.Failure, uncounted int) {
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
	c.showErrors(failures, uncounted)
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
			state += fmt.Sprintf(" and %d more", more) // prefetched, or begun under a larger cap
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

func (c *commands) showErrors(failures []explain.Failure, uncounted int) {
	if len(failures) == 0 {
		return
	}
	listed := ui.NewTable("FAILED", "JOB", "KEY", "WORKER", "ERROR")
	for i, failure := range failures {
		if i == maxFailures {
			break
		}
		listed.Add(ui.Textf("%d", failure.Count), ui.Text(failure.Example.JobID), ui.Text(failedKey(failure.Example)),
			ui.Text(failure.Example.Worker), ui.Cell{Text: failure.Message, Paint: ui.Bad})
	}
	c.Print("")
	listed.Write(c.Env.Stdout, c.Env.Colors(), "")
	if more := len(failures) - maxFailures; more > 0 {
		c.Print("and %d other messages: roundsman jobs list RUN --state failed", more)
	}
	if uncounted > 0 {
		c.Print("and %s failed whose messages are not known now", ui.Plural(uncounted, "job"))
	}
}

// maxFailures is how many different messages are shown.
const maxFailures = 50

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
  roundsman runs watch rolling-maintenance
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
			return c.watchAll(ctx, client, refs)
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
Of a DAG, tasks with trigger_rule always still run, to clean up; a second cancel stops those too.

Examples:
  roundsman runs cancel scrub
  roundsman runs cancel scrub --reason "disk is being replaced" --wait
  roundsman runs cancel rolling-maintenance --task load.7 --task load.9`,
		Flags: ui.With(
			&cli.StringFlag{Name: ui.FlagReason, Usage: "`TEXT` to keep in the run's result"},
			&cli.StringSliceFlag{Name: ui.FlagTask, Usage: "cancel only `TASK` of a run of a DAG; may be given several times"},
			&cli.BoolFlag{Name: ui.FlagWait, Usage: "wait until the run has ended"},
		),
		Action: c.Connected(func(ctx *cli.Context, client *starter.Client) error {
			ref, err := client.Runs().Resolve(ctx.Context, ctx.Args().First())
			if err != nil {
				return err
			}
			if ref.Kind() == starter.KindDAG {
				return c.dags.Cancel(ctx, client, ref)
			}
			if ctx.IsSet(ui.FlagTask) {
				return ui.Usagef("--task is about runs of DAGs; one job of %s: roundsman jobs cancel", ref.WorkflowID)
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
