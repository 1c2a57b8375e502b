package cli

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/progress"
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
		Flags: with(
			&cli.StringFlag{Name: flagJobType, Aliases: []string{"t"}, Usage: "only runs of job type `NAME`"},
			&cli.StringFlag{Name: "outcome", Usage: "only runs that ended as `OUTCOME`: completed, partial, failed, timeout, canceled or skipped"},
			&cli.BoolFlag{Name: "running", Usage: "only runs that are going on"},
			&cli.BoolFlag{Name: "dry-runs", Usage: "also dry runs (see jobtypes detect)"},
			&cli.IntFlag{Name: flagLimit, Usage: "at most `N` runs", Value: starter.DefaultRunLimit},
		),
		Before: checkListRuns,
		Action: c.connected(c.listRuns),
	}
}

func checkListRuns(ctx *cli.Context) error {
	if outcome := contract.Outcome(ctx.String("outcome")); outcome != "" && !slices.Contains(outcomes(), outcome) {
		return usagef("--outcome %s: must be completed, partial, failed, timeout, canceled or skipped", outcome)
	}
	if limit := ctx.Int(flagLimit); limit < 1 || limit > 10_000 {
		return usagef("--limit %d: must be 1 to 10000", limit)
	}
	return nil
}

func (c *commands) listRuns(ctx *cli.Context, client *starter.Client) error {
	outcome := contract.Outcome(ctx.String("outcome"))
	runs, err := client.Runs(ctx.Context, starter.RunFilter{
		JobType: ctx.String(flagJobType), Running: ctx.Bool("running"), Outcome: outcome,
		DryRuns: ctx.Bool("dry-runs"), Limit: ctx.Int(flagLimit),
	})
	if err != nil {
		return err
	}
	if wantsJSON(ctx) {
		return printJSON(c.env.Stdout, map[string]any{"runs": orEmpty(runs)})
	}
	now := c.env.Now()
	listed := newTable("RUN", "JOB TYPE", "OUTCOME", "STARTED", "TOOK")
	for _, run := range runs {
		listed.add(text(run.WorkflowID), text(run.JobType), runOutcome(run), text(ago(run.Started, now)), text(took(run, now)))
	}
	empty := "no runs yet: start one with `roundsman jobtypes run NAME`"
	if ctx.Bool("running") || outcome != "" || ctx.String(flagJobType) != "" {
		empty = "no runs match"
	}
	listed.write(c.env.Stdout, c.env.colors(), empty)
	return nil
}

// outcomes are the values of --outcome.
func outcomes() []contract.Outcome {
	return []contract.Outcome{
		contract.OutcomeCompleted, contract.OutcomePartial, contract.OutcomeFailed,
		contract.OutcomeTimeout, contract.OutcomeCanceled, contract.OutcomeSkipped,
	}
}

// orEmpty makes an empty list of JSON out of nil.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// frozenCell is the outcome of a run that is paused in Temporal itself.
func frozenCell() cell { return cell{text: "paused in Temporal", paint: odd} }

// runOutcome is the outcome, or what Temporal says where there is none.
func runOutcome(run starter.Run) cell {
	switch {
	case run.Status == starter.StatusPaused:
		return frozenCell()
	case run.Open():
		return cell{text: "running", paint: bold}
	case run.Outcome != "":
		return cell{text: string(run.Outcome), paint: outcomePaint(run.Outcome)}
	}
	return cell{text: string(run.Status), paint: bad}
}

func took(run starter.Run, now time.Time) string {
	switch {
	case run.Started.IsZero():
		return "-"
	case run.Ended.IsZero():
		return span(now.Sub(run.Started))
	}
	return span(run.Ended.Sub(run.Started))
}

func (c *commands) runsShow() *cli.Command {
	return &cli.Command{
		Name: "show", ArgsUsage: "RUN", Usage: "show one run: what it does, or what came of it",
		Description: runArgument + `

Examples:
  roundsman runs show scrub
  roundsman runs show group/scrub-2026-11-20T09:00:00Z --output json`,
		Flags: with(),
		Action: c.connected(func(ctx *cli.Context, client *starter.Client) error {
			ref, err := client.ResolveRun(ctx.Context, ctx.Args().First())
			if err != nil {
				return err
			}
			snapshot, err := client.Show(ctx.Context, ref)
			if err != nil {
				return err
			}
			if wantsJSON(ctx) {
				return printJSON(c.env.Stdout, snapshot)
			}
			c.showRun(snapshot)
			return nil
		}),
	}
}

func (c *commands) showRun(snapshot starter.Snapshot) {
	now, shown := c.env.Now(), &fields{}
	shown.add("run", text(snapshot.WorkflowID))
	shown.add("job type", text(snapshot.JobType))
	shown.add("outcome", runOutcome(snapshot.Run))
	shown.add("started", textf("%s (%s)", stamp(snapshot.Started), ago(snapshot.Started, now)))
	if !snapshot.Ended.IsZero() {
		shown.add("ended", textf("%s (%s)", stamp(snapshot.Ended), ago(snapshot.Ended, now)))
	}
	shown.add("took", text(took(snapshot.Run, now)))
	shown.add("failure", cell{text: snapshot.Failure, paint: bad})
	shown.add("unanswered", cell{text: snapshot.Unanswered, paint: odd})
	if group := snapshot.Group; group != nil {
		c.addGroup(shown, group)
	}
	if result := snapshot.Result; result != nil {
		if result.Submission != "" {
			shown.add("ad hoc", textf("%s, by %s", result.Submission, cmp.Or(result.SubmittedBy, "nobody knows whom")))
		}
		if result.IgnoredWindow {
			shown.add("window", cell{text: "ignored, as an operator asked", paint: odd})
		}
		if result.Dropped != nil {
			shown.add("dropped", cell{text: droppedText(*result.Dropped), paint: odd})
		}
		shown.add("reason", text(oneLine(result.Reason)))
		shown.add("jobs", text(progress.Counts(result.Counts)))
		shown.add("detector", text(result.Detector))
		for _, worker := range sortedKeys(result.ByWorker) {
			shown.add("worker", textf("%s completed %d", worker, result.ByWorker[worker]))
		}
	}
	shown.write(c.env.Stdout, c.env.colors())
	c.showActive(snapshot.Active)
	c.showHeldBack(snapshot)
	if snapshot.Result != nil {
		c.showErrors(snapshot)
	}
}

func (c *commands) addGroup(shown *fields, group *contract.GroupStatus) {
	shown.add("phase", text(group.Phase))
	if group.Paused {
		shown.add("paused", cell{text: cmp.Or(group.PauseNote, "yes"), paint: odd})
	}
	shown.add("waiting", cell{text: group.Waiting, paint: odd})
	shown.add("jobs", textf("%s; %d pending, %d running", progress.Counts(group.Counts), group.Pending, group.Running))
	shown.add("deadline", text(stamp(group.Deadline)))
	switch {
	case group.IgnoresWindow:
		shown.add("window", cell{text: "ignored, as an operator asked", paint: odd})
	case group.Window != nil:
		shown.add("window closes", text(stamp(group.Window.Closes)))
	}
	shown.add("detector", text(group.Detector))
	for _, worker := range group.Workers {
		state := fmt.Sprintf("%s %s, %d of %d slots", worker.ID, worker.State, min(worker.Running, worker.Slots), worker.Slots)
		if more := worker.Running - worker.Slots; more > 0 {
			state += fmt.Sprintf(" and %d more", more) // sent ahead, or begun under a larger cap
		}
		if !worker.Usable {
			state += ", not used: " + cmp.Or(worker.Reason, "unknown reason")
		}
		shown.add("worker", textf("%s", state))
	}
}

func (c *commands) showActive(active []starter.ActiveJob) {
	if len(active) == 0 {
		return
	}
	now, listed := c.env.Now(), newTable("JOB", "WORKER", "RUNNING", "PROGRESS", "MESSAGE")
	for _, job := range active {
		listed.add(text(job.JobID), text(workerOf(job)), text(runningFor(job, now)), text(percentOf(job)), text(messageOf(job)))
	}
	fmt.Fprintln(c.env.Stdout)
	listed.write(c.env.Stdout, c.env.colors(), "")
}

func (c *commands) showErrors(snapshot starter.Snapshot) {
	if len(snapshot.Result.Errors) == 0 {
		return
	}
	listed := newTable("JOB", "KEY", "WORKER", "ERROR")
	for _, failed := range snapshot.Result.Errors {
		listed.add(text(failed.JobID), text(failedKey(failed)), text(failed.Worker), cell{text: failed.Message, paint: bad})
	}
	fmt.Fprintln(c.env.Stdout)
	listed.write(c.env.Stdout, c.env.colors(), "")
}

// failedKey names a failed job by its dedupe key, or the first of its batch.
func failedKey(failed contract.JobError) string {
	key := shorten(failed.DedupeKey, 60)
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
		Flags:  with(intervalFlag()),
		Before: checkInterval,
		Action: c.connected(func(ctx *cli.Context, client *starter.Client) error {
			refs, err := watchedRuns(ctx, client)
			if err != nil {
				return err
			}
			if len(refs) == 0 {
				fmt.Fprintln(c.env.Stderr, "nothing is running")
				return nil
			}
			return c.watch(ctx, client, ctx.Duration(flagInterval), refs...)
		}),
	}
}

// watchedRuns are those that were named, or else all that are going on.
func watchedRuns(ctx *cli.Context, client *starter.Client) ([]starter.RunRef, error) {
	var refs []starter.RunRef
	for _, arg := range ctx.Args().Slice() {
		ref, err := client.ResolveRun(ctx.Context, arg)
		if err != nil {
			return nil, err
		}
		refs = append(refs, ref)
	}
	if len(refs) > 0 {
		return refs, nil
	}
	runs, err := client.Runs(ctx.Context, starter.RunFilter{Running: true, Limit: maxWatched})
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
		Flags: with(
			&cli.StringFlag{Name: flagReason, Usage: "`TEXT` to keep in the run's result"},
			&cli.BoolFlag{Name: flagWait, Usage: "wait until the run has ended"},
		),
		Action: c.connected(func(ctx *cli.Context, client *starter.Client) error {
			ref, err := client.ResolveRun(ctx.Context, ctx.Args().First())
			if err != nil {
				return err
			}
			if err := client.CancelRun(ctx.Context, ref, ctx.String(flagReason)); err != nil {
				return err
			}
			if ctx.Bool(flagWait) {
				if _, err := client.Result(ctx.Context, ref); err != nil {
					return err
				}
			}
			return c.done(ctx, map[string]any{"workflow_id": ref.WorkflowID, "requested": "cancel"},
				"cancel requested: %s (follow it with `roundsman runs watch %s`)", ref.WorkflowID, ref.WorkflowID)
		}),
	}
}

// done confirms an action: value as JSON, or a line for people.
func (c *commands) done(ctx *cli.Context, value any, format string, args ...any) error {
	if wantsJSON(ctx) {
		return printJSON(c.env.Stdout, value)
	}
	fmt.Fprintf(c.env.Stdout, format+"\n", args...)
	return nil
}
