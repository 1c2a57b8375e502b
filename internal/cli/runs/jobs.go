package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
)

func (c *commands) jobsCommand() *cli.Command {
	return &cli.Command{
		Name: "jobs", Usage: "list, show, submit, cancel and expire jobs; disabled keys",
		Subcommands: []*cli.Command{c.jobsList(), c.jobsShow(), c.jobsSubmit(), c.jobsCancel(), c.jobsExpire(), c.jobsDisabled(), c.jobsForgive(), c.jobsMarkDone()},
	}
}

func (c *commands) jobsList() *cli.Command {
	return &cli.Command{
		Name: "list", Aliases: []string{"ls"}, ArgsUsage: "[RUN]", Usage: "list the jobs of a run, open or closed",
		Description: runArgument + `

Examples:
  roundsman jobs list scrub
  roundsman jobs list group/scrub-2026-11-20T09:00:00Z --state failed --state stale
  roundsman jobs list scrub --output json | jq '.jobs[] | select(.attempt > 1)'`,
		Flags: ui.With(
			&cli.StringSliceFlag{Name: "state", Aliases: []string{"s"}, Usage: "only jobs in `STATE`: " + strings.Join(starter.JobStates(), ", ") + "; may be given several times"},
			&cli.StringFlag{Name: FlagKey, Usage: "only the job with dedupe key `KEY`, alone or in its batch"},
			&cli.IntFlag{Name: ui.FlagLimit, Usage: "at most `N` jobs", Value: 200},
			runFlag(),
		),
		Before: checkListJobs,
		Action: c.Connected(c.listJobs),
	}
}

func runFlag() cli.Flag {
	return &cli.StringFlag{Name: ui.FlagRun, Usage: "the `RUN`, where it is not given as an argument"}
}

func checkListJobs(ctx *cli.Context) error {
	if ctx.String(ui.FlagRun) == "" && ctx.Args().Len() == 0 {
		return ui.Usagef("RUN is missing: see %s --help", ctx.Command.HelpName)
	}
	for _, state := range ctx.StringSlice("state") {
		if !slices.Contains(starter.JobStates(), state) {
			return ui.Usagef("--state %s: must be one of %s", state, strings.Join(starter.JobStates(), ", "))
		}
	}
	if limit := ctx.Int(ui.FlagLimit); limit < 1 {
		return ui.Usagef("--limit %d: must be at least 1", limit)
	}
	return nil
}

func (c *commands) listJobs(ctx *cli.Context, client *starter.Client) error {
	ref, err := client.Runs().Resolve(ctx.Context, cmp.Or(ctx.String(ui.FlagRun), ctx.Args().First()))
	if err != nil {
		return err
	}
	jobs, total, err := client.Runs().Jobs(ctx.Context, ref, starter.JobFilter{
		States: ctx.StringSlice("state"), DedupeKey: ctx.String(FlagKey), Limit: ctx.Int(ui.FlagLimit),
	})
	if err != nil {
		return err
	}
	if ui.WantsJSON(ctx) {
		return ui.PrintJSON(c.Env.Stdout, map[string]any{"jobs": ui.OrEmpty(jobs), "total": total})
	}
	none := "no jobs match"
	if len(ctx.StringSlice("state")) == 0 && ctx.String(FlagKey) == "" {
		none = fmt.Sprintf("%s has no jobs (`roundsman runs show %s` says why; other runs: `roundsman runs list`)", ref.WorkflowID, ref.WorkflowID)
	}
	c.printJobs(jobs, total, none)
	return nil
}

func (c *commands) printJobs(jobs []starter.Job, total int, none string) {
	now, listed := c.Env.Now(), ui.NewTable("JOB", "STATE", "WORKER", "TRY", "TOOK", "PROGRESS", "WHAT")
	for _, job := range jobs {
		percent := ""
		if job.Active != nil {
			percent = PercentOf(*job.Active)
		}
		listed.Add(ui.Text(job.JobID), ui.Cell{Text: job.State, Paint: statePaint(job.State)}, ui.Text(job.Worker),
			ui.Text(attempts(job)), ui.Text(jobTook(job, now)), ui.Text(percent), ui.Text(ui.Shorten(what(job), 80)))
	}
	listed.Write(c.Env.Stdout, c.Env.Colors(), none)
	if total > len(jobs) {
		c.Print("%d of %d jobs; see more with --limit", len(jobs), total)
	}
}

func attempts(job starter.Job) string {
	if job.Attempt == 0 {
		return ""
	}
	return fmt.Sprint(job.Attempt)
}

// what is the most useful sentence about a job: why it failed or waits, what
// it reports, or else what it is about.
func what(job starter.Job) string {
	about := job.Summary
	if about == "" {
		about = job.DedupeKey
	}
	switch {
	case job.Error != "":
		return strings.TrimPrefix(about+": "+job.Error, ": ")
	case job.Waiting != "":
		return strings.TrimPrefix(about+" ("+job.Waiting+")", " ")
	case job.Active != nil && MessageOf(*job.Active) != "":
		return strings.TrimPrefix(about+": "+MessageOf(*job.Active), ": ")
	}
	return about
}

func statePaint(state string) ui.Paint {
	switch state {
	case "completed":
		return ui.Good
	case "failed", "stale":
		return ui.Bad
	case "canceled":
		return ui.Odd
	case "running":
		return ui.Bold
	}
	return ui.Plain
}

func jobTook(job starter.Job, now time.Time) string {
	switch {
	case job.StartedAt.IsZero():
		return ""
	case job.State == "pending" && job.Active == nil:
		return "" // It waits for its next attempt; nothing takes time.
	case job.EndedAt.IsZero():
		return ui.Span(now.Sub(job.StartedAt))
	}
	return ui.Span(job.EndedAt.Sub(job.StartedAt))
}

// WorkerOf names the worker of a running attempt. Before its first heartbeat
// only the identity of its process is known, which begins with the id.
func WorkerOf(job starter.ActiveJob) string {
	if job.Progress != nil && job.Progress.Worker != "" {
		return job.Progress.Worker
	}
	id, _, _ := strings.Cut(job.Identity, "@")
	return id
}

// RunningFor is how long the attempt of a job has been running.
func RunningFor(job starter.ActiveJob, now time.Time) string {
	if !job.Started {
		return "not taken yet"
	}
	return ui.Span(now.Sub(job.StartedAt))
}

// PercentOf is the progress that a job has reported, or "".
func PercentOf(job starter.ActiveJob) string {
	if job.Progress == nil || job.Progress.Percent < 0 {
		return ""
	}
	return fmt.Sprintf("%.0f%%", job.Progress.Percent)
}

// MessageOf is the newest message of a job.
func MessageOf(job starter.ActiveJob) string {
	if job.Progress == nil {
		return ""
	}
	said := strings.TrimSpace(job.Progress.Stage + " " + job.Progress.Message)
	if job.Progress.Stalled > 0 {
		said = strings.TrimSpace(said + " (its handler has reported nothing for " + job.Progress.Stalled.String() + ")")
	}
	return said
}

const jobArgument = "RUN/JOB names the job, for instance group/scrub-2026-11-20T09:00:00Z/job-00012; or give JOB\n" +
	"alone and --run RUN; or RUN and --key KEY, the dedupe key of the job or of one item of its batch. RUN may also be\n" +
	"the name of a job type: its running group, or its last one."

func jobKeyFlag() cli.Flag {
	return &cli.StringFlag{Name: FlagKey, Usage: "the job with dedupe key `KEY`, alone or in its batch"}
}

// checkJobRef judges what jobOf will read, without a server.
func checkJobRef(ctx *cli.Context) error {
	arg, run := ctx.Args().First(), ctx.String(ui.FlagRun)
	switch {
	case ctx.IsSet(FlagKey) && ctx.String(FlagKey) == "":
		return ui.Usagef("--key is empty: jobs without a dedupe key are named by RUN/JOB")
	case ctx.IsSet(FlagKey) && (arg == "") == (run == ""):
		return ui.Usagef("with --key, name the run as the argument or with --run: see %s --help", ctx.Command.HelpName)
	case ctx.IsSet(FlagKey):
		return nil
	case arg == "":
		return ui.Usagef("RUN/JOB is missing: see %s --help", ctx.Command.HelpName)
	case run == "":
		if _, err := starter.ParseJobRef(arg); err != nil {
			return ui.Faulty(err)
		}
	case !starter.IsJobID(arg):
		return ui.Usagef("job %q: with --run, give the job's id alone, for instance job-00012", arg)
	}
	return nil
}

// jobOf reads the job of a command line.
func jobOf(ctx *cli.Context, client *starter.Client) (starter.JobRef, error) {
	arg, run := ctx.Args().First(), ctx.String(ui.FlagRun)
	if key := ctx.String(FlagKey); key != "" {
		ref, err := client.Runs().Resolve(ctx.Context, cmp.Or(run, arg))
		if err != nil {
			return starter.JobRef{}, err
		}
		job, err := client.Runs().JobByKey(ctx.Context, ref, key)
		return job.Ref(), err
	}
	if run == "" {
		return client.Runs().ResolveJob(ctx.Context, arg)
	}
	ref, err := client.Runs().Resolve(ctx.Context, run)
	return starter.JobRef{Run: ref, JobID: arg}, err
}

func (c *commands) jobsCancel() *cli.Command {
	return &cli.Command{
		Name: "cancel", ArgsUsage: "[RUN/JOB]", Usage: "cancel one job; the others go on",
		Description: jobArgument + `

A running job hears of it with its next heartbeat. A batch is one job: all of its items are canceled.

Examples:
  roundsman jobs cancel group/scrub-2026-11-20T09:00:00Z/job-00012
  roundsman jobs cancel job-00012 --run scrub --reason "file is being written"
  roundsman jobs cancel compress_logs --key /var/log/app/big.log`,
		Flags:  ui.With(runFlag(), jobKeyFlag(), jobReasonFlag()),
		Before: checkJobRef,
		Action: c.endJob("cancel", starter.Runs.CancelJob),
	}
}

func (c *commands) jobsExpire() *cli.Command {
	return &cli.Command{
		Name: "expire", ArgsUsage: "[RUN/JOB]", Usage: "give up one job at once, whatever its handler does; the others go on",
		Description: jobArgument + `

For a job that cancel does not end, or not soon enough, because its node is gone or its handler does not
listen. Its handler is told to stop, but not waited for: it may still run, and what it reports is ignored.
A job that had begun ends as stale, another as expired. What it held, its dedupe key too, is free for
others; a handler that writes with its fence cannot disturb them.

Examples:
  roundsman jobs expire group/scrub-2026-11-20T09:00:00Z/job-00012
  roundsman jobs expire job-00012 --run scrub --reason "node-7 burned down"`,
		Flags:  ui.With(runFlag(), jobKeyFlag(), jobReasonFlag()),
		Before: checkJobRef,
		Action: c.endJob("expire", starter.Runs.ExpireJob),
	}
}

func jobReasonFlag() cli.Flag {
	return &cli.StringFlag{Name: ui.FlagReason, Usage: "`TEXT` to keep with the job"}
}

// endJob asks for the end of the job that the command line names.
func (c *commands) endJob(verb string, ask func(starter.Runs, context.Context, starter.JobRef, string) error) cli.ActionFunc {
	return c.Connected(func(ctx *cli.Context, client *starter.Client) error {
		ref, err := jobOf(ctx, client)
		if err != nil {
			return err
		}
		err = ask(client.Runs(), ctx.Context, ref, ctx.String(ui.FlagReason))
		if errors.Is(err, starter.ErrAlreadyEnded) {
			return fmt.Errorf("%w (see `roundsman jobs show %s`)", err, ref)
		}
		if err != nil {
			return err
		}
		return c.Done(ctx, map[string]any{"job": ref.String(), "requested": verb}, "%s requested: %s", verb, ref)
	})
}
