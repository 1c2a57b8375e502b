package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/refs"
)

func (c *commands) jobsCommand() *cli.Command {
	return &cli.Command{
		Name: "jobs", Usage: "list, search, show, submit, cancel and expire jobs and tasks; disabled keys",
		Subcommands: []*cli.Command{c.jobsList(), c.jobsShow(), c.jobsLogs(), c.jobsSubmit(), c.jobsCancel(), c.jobsExpire(), c.jobsDisabled(), c.jobsForgive(), c.jobsMarkDone()},
	}
}

func (c *commands) jobsList() *cli.Command {
	return &cli.Command{
		Name: "list", Aliases: []string{"ls"}, ArgsUsage: "[RUN]", Usage: "list the jobs or tasks of a run, open or closed, or search them over runs",
		Description: runArgument + `

Without RUN the newest runs are searched: of one job type, since a time, for a node, a state or a key.

Examples:
  roundsman jobs scrub
  roundsman jobs group/scrub-2026-11-20T09:00:00Z -s failed -s stale
  roundsman jobs rolling-maintenance -s failed
  roundsman jobs node-7 -s running
  roundsman jobs scrub -s failed --since 12h
  roundsman jobs scrub --output json | jq '.items[] | select(.attempt > 1)'`,
		Flags: ui.ListFlags(append([]cli.Flag{
			stateFlag(starter.ItemStates()),
			&cli.StringFlag{Name: FlagKey, Usage: "only the job with dedupe key `KEY`, alone or in its batch"},
			&cli.IntFlag{Name: ui.FlagLimit, Usage: "at most `N` jobs", Value: 200},
			&cli.StringFlag{Name: flagNode, Usage: "search: only items that the worker `ID` runs or ran last"},
			jobTypeFlag(), runFlag(), c.itemSorting().Flag(),
		}, ui.PeriodFlags()...)...),
		Before: c.checkListJobs,
		Action: ui.Recalling(c.Connected(c.listJobs)),
	}
}

const searchedRuns = 200

func runFlag() cli.Flag {
	return &cli.StringFlag{Name: ui.FlagRun, Usage: "the `RUN`, where it is not given as an argument"}
}

func (c *commands) checkListJobs(ctx *cli.Context) error {
	if err := checkItems(starter.ItemStates())(ctx); err != nil {
		return err
	}
	named := ctx.String(ui.FlagRun) != "" || ctx.Args().Len() > 0
	for _, flag := range []string{flagNode, ui.FlagJobType, "since", "until"} {
		if named && ctx.IsSet(flag) {
			return ui.Usagef("--%s searches over runs: leave the RUN out", flag)
		}
	}
	searches := ctx.IsSet(flagNode) || ctx.IsSet(ui.FlagJobType) || ctx.IsSet("since") || ctx.IsSet(FlagKey) || ctx.IsSet(ui.FlagState)
	if !named && !searches {
		return ui.Usagef("RUN is missing, or a flag to search by: see %s --help", ctx.Command.HelpName)
	}
	_, err := c.search(ctx)
	return err
}

func (c *commands) search(ctx *cli.Context) (starter.ItemSearch, error) {
	since, until, err := c.Period(ctx)
	if err != nil {
		return starter.ItemSearch{}, ui.Faulty(err)
	}
	search := starter.ItemSearch{
		Runs:   starter.RunFilter{JobType: ctx.String(ui.FlagJobType), Since: since, Until: until, Limit: searchedRuns},
		States: ctx.StringSlice(ui.FlagState), DedupeKey: ctx.String(FlagKey), Worker: ctx.String(flagNode), Limit: ctx.Int(ui.FlagLimit),
	}
	return search, checkFilter(search.Runs)
}

func (c *commands) listJobs(ctx *cli.Context, client *starter.Client) error {
	var (
		items []starter.Item
		total int
		more  bool
		none  = "no jobs match"
		run   = cmp.Or(ctx.String(ui.FlagRun), ctx.Args().First())
	)
	if run != "" {
		ref, err := refs.Of(client).Run(ctx.Context, run)
		if err != nil {
			return err
		}
		items, total, err = client.Runs().Items(ctx.Context, ref, starter.ItemFilter{
			States: ctx.StringSlice(ui.FlagState), DedupeKey: ctx.String(FlagKey), Limit: ctx.Int(ui.FlagLimit),
		})
		if err != nil {
			return err
		}
		if len(ctx.StringSlice(ui.FlagState)) == 0 && ctx.String(FlagKey) == "" {
			none = fmt.Sprintf("%s has no jobs (reason: `roundsman show %s`; other runs: `roundsman runs`)", ref.WorkflowID, ref.WorkflowID)
		}
	} else {
		search, err := c.search(ctx)
		if err != nil {
			return err
		}
		limit := min(search.Limit, ui.Everything)
		search.Limit = limit + 1
		items, err = client.Runs().Search(ctx.Context, search)
		if len(items) == 0 && err != nil {
			return err
		}
		c.Note(err)
		more = len(items) > limit
		items = items[:min(len(items), limit)]
		total = len(items)
	}
	c.Note(starter.RecallOf(ctx.Context))
	c.itemSorting().Sort(ctx, items)
	if ui.WantsData(ctx) {
		answer := map[string]any{"items": ui.OrEmpty(items), "total": total}
		if more {
			answer["more"] = true
		}
		if at := starter.AsOf(ctx.Context); !at.IsZero() {
			answer["as_of"] = at
		}
		return c.Answer(ctx, answer, ui.Names(items, func(item starter.Item) string { return item.Ref().String() })...)
	}
	c.printItems(items, total, none, run == "")
	if more {
		c.Remark("only the first %d; see more with --limit", total)
	}
	return nil
}

// printItems lists jobs or tasks. Results from several runs start with the run.
func (c *commands) printItems(items []starter.Item, total int, none string, several bool) {
	isTasks := len(items) > 0 && items[0].Run.Kind() == starter.KindDAG
	now, columns := c.Env.Now(), []string{"JOB", "STATE", "WORKER", "TRY", "TOOK", "PROGRESS", "+KEY", "+PRIORITY", "+STARTED", "WHAT"}
	if isTasks && !several {
		columns = []string{"TASK", "STATE", "WORKER", "TRY", "TOOK", "PROGRESS", "FROM", "+READY", "STARTED", "WHAT"}
	}
	listed := ui.NewTable(columns...)
	for _, item := range items {
		percent, worker := "", item.Worker
		if item.Active != nil {
			percent, worker = PercentOf(*item.Active), cmp.Or(worker, item.Active.Worker())
		}
		name := ui.Text(item.ID)
		if several {
			name.Text = item.Ref().String()
		}
		cells := []ui.Cell{name, {Text: item.State, Paint: statePaint(item.State)}, ui.Text(worker), ui.Text(attempts(item)), ui.Text(itemTook(item, now)), ui.Text(percent)}
		if isTasks && !several {
			cells = append(cells, ui.Text(item.FromRun), ui.Text(ui.Stamp(item.ReadyAt)))
		} else {
			cells = append(cells, ui.Text(item.DedupeKey), ui.Text(string(item.Priority)))
		}
		listed.Add(append(cells, ui.Text(ui.Stamp(item.StartedAt)), ui.Cell{Text: what(item), Cause: item.Error != ""})...)
	}
	c.PrintTable(listed, none)
	c.More(len(items), total)
}

func (c *commands) itemSorting() ui.Sorting[starter.Item] {
	return ui.Sorting[starter.Item]{
		ui.By("id", func(i starter.Item) string { return i.Ref().String() }),
		ui.By("state", func(i starter.Item) string { return i.State }),
		ui.By("worker", func(i starter.Item) string { return i.Worker }),
		ui.By("try", func(i starter.Item) int { return i.Attempt }),
		ui.By("took", func(i starter.Item) time.Duration { took, _ := itemSpan(i, c.Env.Now()); return took }),
		ui.ByTime("started", func(i starter.Item) time.Time { return i.StartedAt }),
		ui.By("key", func(i starter.Item) string { return i.DedupeKey }),
		ui.By("priority", func(i starter.Item) int { return i.Priority.Rank() }),
	}
}

func attempts(item starter.Item) string {
	if item.Attempt == 0 {
		return ""
	}
	return fmt.Sprint(item.Attempt)
}

// The most useful sentence is the error, the wait, the progress message or the summary.
func what(item starter.Item) string {
	about := cmp.Or(item.Summary, item.DedupeKey)
	if item.Decision != nil {
		about = item.Decision.String()
	}
	if item.Redefined {
		about = strings.TrimSuffix("redefined: "+about, ": ")
	}
	switch {
	case item.Error != "":
		return strings.TrimPrefix(about+": "+item.Error, ": ")
	case item.Waiting != "":
		return strings.TrimSpace(about + " (" + item.Waiting + ")")
	case item.Active != nil && MessageOf(*item.Active) != "":
		return strings.TrimPrefix(about+": "+MessageOf(*item.Active), ": ")
	}
	return about
}

func statePaint(state string) ui.Paint {
	switch state {
	case "completed":
		return ui.Good
	case "failed", "stale", "upstream_failed":
		return ui.Bad
	case "canceled", "skipped", "warning":
		return ui.Odd
	case "running":
		return ui.Bold
	}
	return ui.Plain
}

func itemTook(item starter.Item, now time.Time) string {
	took, known := itemSpan(item, now)
	switch {
	case item.State == "assigned":
		return "not taken yet"
	case !known:
		return ""
	}
	return ui.Span(took)
}

// The span is unknown between two attempts, for items that take no time, and without a recorded end.
func itemSpan(item starter.Item, now time.Time) (time.Duration, bool) {
	waits := item.Active == nil && (item.State == "pending" || item.State == "ready")
	if item.State == "assigned" || item.StartedAt.IsZero() || item.EndedAt.IsZero() && (item.Ended() || waits) {
		return 0, false
	}
	return since(item.StartedAt, item.EndedAt, now), true
}

// RunningFor returns the duration of an item's open attempt.
func RunningFor(item starter.ActiveItem, now time.Time) string {
	if !item.Started {
		return "not taken yet"
	}
	return ui.Span(now.Sub(item.StartedAt))
}

// PercentOf returns the progress that an item reported, or "".
func PercentOf(item starter.ActiveItem) string {
	if item.Progress == nil || item.Progress.Percent < 0 {
		return ""
	}
	return fmt.Sprintf("%.0f%%", item.Progress.Percent)
}

// MessageOf returns the newest message of an item.
func MessageOf(item starter.ActiveItem) string {
	if item.Progress == nil {
		return ""
	}
	said := strings.TrimSpace(item.Progress.Stage + " " + item.Progress.Message)
	if item.Quiet > 0 {
		said = strings.TrimSpace(said + " (no report, output, CPU or I/O for " + ui.Span(item.Quiet.Std()) + ")")
	} else if item.Progress.Stalled > 0 {
		said = strings.TrimSpace(said + " (its handler has reported nothing for " + item.Progress.Stalled.String() + ")")
	}
	return said
}

const jobArgument = "RUN/JOB names the job, for instance group/scrub-2026-11-20T09:00:00Z/job-00012, or the task of a DAG, as\n" +
	"dag/nightly/x/load; or give JOB alone and --run RUN; or RUN and --key KEY, the dedupe key of the job or of one\n" +
	"item of its batch. RUN may also be the name of a job type or a DAG: its running or newest run."

func jobKeyFlag() cli.Flag {
	return &cli.StringFlag{Name: FlagKey, Usage: "the job with dedupe key `KEY`, alone or in its batch"}
}

// checkJobRef checks the reference for jobOf, without a server.
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
	case run == "" && !strings.Contains(strings.Trim(arg, "/"), "/"):
		_, err := refs.ParseItem(arg)
		return ui.Faulty(err)
	case run != "" && strings.Contains(arg, "/"):
		return ui.Usagef("job %q: with --run, give the job's id alone, for instance job-00012", arg)
	}
	return nil
}

func jobOf(ctx *cli.Context, client *starter.Client) (starter.ItemRef, error) {
	arg, run := ctx.Args().First(), ctx.String(ui.FlagRun)
	if key := ctx.String(FlagKey); key != "" {
		ref, err := refs.Of(client).Run(ctx.Context, cmp.Or(run, arg))
		if err != nil {
			return starter.ItemRef{}, err
		}
		job, err := client.Runs().ItemByKey(ctx.Context, ref, key)
		return job.Ref(), err
	}
	if run == "" {
		return refs.Of(client).Item(ctx.Context, arg)
	}
	ref, err := refs.Of(client).Run(ctx.Context, run)
	return starter.ItemRef{Run: ref, ID: arg}, err
}

func (c *commands) jobsCancel() *cli.Command {
	return &cli.Command{
		Name: "cancel", ArgsUsage: "[RUN/JOB]", Usage: "cancel one job or task; the others continue",
		Description: jobArgument + `

A running job is canceled with its next heartbeat. A batch is one job: all of its items are canceled.

Examples:
  roundsman cancel group/scrub-2026-11-20T09:00:00Z/job-00012
  roundsman cancel job-00012 --run scrub --reason "file is being written"
  roundsman cancel compress_logs --key /var/log/app/big.log`,
		Flags:  ui.With(runFlag(), jobKeyFlag(), jobReasonFlag()),
		Before: checkJobRef,
		Action: c.endJob("cancel", starter.Runs.CancelItem),
	}
}

func (c *commands) jobsExpire() *cli.Command {
	return &cli.Command{
		Name: "expire", ArgsUsage: "[RUN/JOB]", Usage: "give up one job at once without its handler; the others continue",
		Description: jobArgument + `

For a job that cancel does not end soon enough, because its node is gone or its handler ignores it.
Its handler gets the cancel, but the command does not wait: it may still run, and its report is ignored.
A begun job ends as stale, another as expired. Its resources and its dedupe key are free for others.
A handler that writes with its fence cannot disturb them.

Examples:
  roundsman cancel --force group/scrub-2026-11-20T09:00:00Z/job-00012
  roundsman cancel --force job-00012 --run scrub --reason "node-7 burned down"`,
		Flags:  ui.With(runFlag(), jobKeyFlag(), jobReasonFlag()),
		Before: checkJobRef,
		Action: c.endJob("expire", starter.Runs.ExpireItem),
	}
}

func jobReasonFlag() cli.Flag {
	return &cli.StringFlag{Name: ui.FlagReason, Usage: "`TEXT` to keep with the job"}
}

func (c *commands) endJob(verb string, ask func(starter.Runs, context.Context, starter.ItemRef, string) error) cli.ActionFunc {
	return c.Connected(func(ctx *cli.Context, client *starter.Client) error {
		ref, err := jobOf(ctx, client)
		if err != nil {
			return err
		}
		err = ask(client.Runs(), ctx.Context, ref, ctx.String(ui.FlagReason))
		if errors.Is(err, starter.ErrAlreadyEnded) {
			return fmt.Errorf("%w (see `roundsman show %s`)", err, ref)
		}
		if err != nil {
			return err
		}
		return c.Done(ctx, map[string]any{"job": ref.String(), "requested": verb}, "%s requested: %s", verb, ref)
	})
}
