package runs

import (
	"fmt"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
)

const runArgument = "RUN is a workflow id as `roundsman runs` shows it (the group/ or dag/ may be left out), the\n" +
	"name of a job type, which means its running group or else its last one, or the name of a DAG, which\n" +
	"means its newest run."

func (c *commands) runsCommand() *cli.Command {
	return &cli.Command{
		Name: "runs", Usage: "list, show, watch, pause, change and cancel runs of job types and of DAGs",
		Subcommands: []*cli.Command{c.runsList(), c.runsShow(), c.runsWatch(), c.runsPause(), c.runsResume(), c.runsSet(), c.runsCancel(), c.runsRetry()},
	}
}

func (c *commands) runsList() *cli.Command {
	return &cli.Command{
		Name: "list", Aliases: []string{"ls"}, Usage: "list runs of job types and of DAGs, newest first",
		Description: `Examples:
  roundsman runs
  roundsman runs scrub --limit 5
  roundsman runs rolling-maintenance
  roundsman runs -s open
  roundsman runs -s failed,timeout,partial --since 12h
  roundsman runs scrub -s failed --output name
  roundsman runs --since 24h --limit 1000 --sort -took
  roundsman runs --output json | jq -r '.runs[] | [.workflow_id, .progress.failed] | @tsv'`,
		Flags: ui.ListFlags(append([]cli.Flag{
			jobTypeFlag(),
			&cli.StringFlag{Name: "dag", Usage: "only runs of the DAG `NAME`"},
			&cli.StringFlag{Name: "kind", Usage: "only runs of `KIND`: group (of a job type) or dag"},
			OutcomeFlag("only runs that ended"),
			&cli.BoolFlag{Name: "running", Usage: "only runs that are going on"},
			&cli.BoolFlag{Name: "dry-runs", Usage: "also dry runs (see jobtypes detect)"},
			&cli.BoolFlag{Name: "sub-dags", Usage: "also the runs of sub-DAGs and of jobs"},
			&cli.IntFlag{Name: ui.FlagLimit, Usage: "at most `N` runs", Value: starter.DefaultRunLimit},
			c.runSorting().Flag(),
		}, ui.PeriodFlags()...)...),
		Before: func(ctx *cli.Context) error {
			_, err := c.runFilter(ctx)
			return err
		},
		Action: c.Connected(c.listRuns),
	}
}

func jobTypeFlag() cli.Flag {
	return &cli.StringFlag{Name: ui.FlagJobType, Aliases: []string{"t"}, Usage: "only runs of job type `NAME`"}
}

func (c *commands) runFilter(ctx *cli.Context) (starter.RunFilter, error) {
	since, until, err := c.Period(ctx)
	if err != nil {
		return starter.RunFilter{}, ui.Faulty(err)
	}
	filter := starter.RunFilter{
		JobType: ctx.String(ui.FlagJobType), DAG: ctx.String("dag"), Kind: starter.Kind(ctx.String("kind")), Running: ctx.Bool("running"),
		Since: since, Until: until, DryRuns: ctx.Bool("dry-runs"), SubDAGs: ctx.Bool("sub-dags"), Outcomes: Outcomes(ctx), Limit: ctx.Int(ui.FlagLimit), Counts: true,
	}
	return filter, checkFilter(filter)
}

func checkFilter(filter starter.RunFilter) error {
	switch {
	case filter.Limit < 1 || filter.Limit > ui.Everything:
		return ui.Usagef("--limit %d: must be 1 to %d", filter.Limit, ui.Everything)
	case filter.Kind != "" && filter.Kind != starter.KindGroup && filter.Kind != starter.KindDAG:
		return ui.Usagef("--kind %s: must be group or dag", filter.Kind)
	case filter.JobType != "" && (filter.DAG != "" || filter.Kind == starter.KindDAG), filter.DAG != "" && filter.Kind == starter.KindGroup:
		return ui.Usagef("a run is of a job type or of a DAG: give one of --job-type, --dag and --kind")
	}
	for flag, name := range map[string]string{ui.FlagJobType: filter.JobType, "dag": filter.DAG} {
		if name != "" && jobtype.ValidateName(name) != nil {
			return ui.Usagef("--%s: %w", flag, jobtype.ValidateName(name))
		}
	}
	return nil
}

func (c *commands) listRuns(ctx *cli.Context, client *starter.Client) error {
	filter, err := c.runFilter(ctx)
	if err != nil {
		return err
	}
	return c.printRuns(ctx, client, filter)
}

func (c *commands) printRuns(ctx *cli.Context, client *starter.Client, filter starter.RunFilter) error {
	runs, err := client.Runs().List(ctx.Context, filter)
	if err != nil {
		return err
	}
	c.runSorting().Sort(ctx, runs)
	if ui.WantsData(ctx) {
		return c.Answer(ctx, map[string]any{"runs": ui.OrEmpty(runs)}, ui.Names(runs, func(run starter.Run) string { return run.WorkflowID })...)
	}
	now := c.Env.Now()
	listed := ui.NewTable("RUN", "OF", "STATE", "ITEMS", "STARTED", "TOOK", "PACE", "+ENDED", "+RUN ID", "+SUBMISSION", "+CAUSE")
	for _, run := range runs {
		of := ui.Text(run.Name())
		if run.Kind == starter.KindDAG {
			of.Text = "dag " + run.DAG
		}
		listed.Add(ui.Text(run.WorkflowID), of, StateCell(run.Standing), ProgressCell(run.Progress), ui.Text(ui.Ago(run.Started, now)), ui.Text(took(run, now)), PaceCell(run.Pace), ui.Text(ui.Stamp(run.Ended)), ui.Text(run.RunID), ui.Text(run.AdHoc), ui.Text(ui.OneLine(run.Standing.Line())))
	}
	empty := "no runs yet: start one with `roundsman start NAME` or `roundsman start FILE -w`"
	if filter.JobType+filter.DAG+string(filter.Kind) != "" || filter.Running || len(filter.Outcomes) > 0 || !filter.Since.IsZero() || !filter.Until.IsZero() {
		empty = "no runs match"
	}
	c.PrintTable(listed, empty)
	return nil
}

func (c *commands) runSorting() ui.Sorting[starter.Run] {
	counted := func(of func(p starter.Progress) int) func(run starter.Run) int {
		return func(run starter.Run) int {
			if run.Progress == nil {
				return 0
			}
			return of(*run.Progress)
		}
	}
	return ui.Sorting[starter.Run]{
		ui.ByTime("started", func(run starter.Run) time.Time { return run.Started }),
		ui.ByTime("ended", func(run starter.Run) time.Time { return run.Ended }),
		ui.By("took", func(run starter.Run) time.Duration { return since(run.Started, run.Ended, c.Env.Now()) }),
		ui.By("of", starter.Run.Name),
		ui.By("outcome", func(run starter.Run) string { return string(run.Outcome) }),
		ui.By("items", counted(func(p starter.Progress) int { return p.Total })),
		ui.By("failed", counted(func(p starter.Progress) int { return p.Failed })),
	}
}

// since returns a duration, up to now without an end, and 0 without a start.
func since(started, ended, now time.Time) time.Duration {
	switch {
	case started.IsZero():
		return 0
	case ended.IsZero():
		return now.Sub(started)
	}
	return ended.Sub(started)
}

// ProgressCell shows the ended, all and failed items of a run.
func ProgressCell(p *starter.Progress) ui.Cell {
	if p == nil {
		return ui.Cell{Text: "-", Paint: ui.Faint}
	}
	cell := ui.Textf("%d/%d", p.Ended, p.Total)
	if p.HeldBack > 0 {
		cell.Text, cell.Paint = cell.Text+fmt.Sprintf(", %d held back", p.HeldBack), ui.Odd
	}
	if p.Failed > 0 {
		cell.Text, cell.Paint = cell.Text+fmt.Sprintf(", %d failed", p.Failed), ui.Bad
	}
	return cell
}

// FlagOutcome is --outcome of the commands that list.
const FlagOutcome = "outcome"

// OutcomeFlag is --outcome. only describes its effect on the list.
func OutcomeFlag(only string) cli.Flag {
	return &cli.StringFlag{
		Name: FlagOutcome, Usage: only + " as one of `OUTCOME,...`: completed, partial, failed, timeout, canceled or skipped",
		Action: func(_ *cli.Context, written string) error {
			for _, each := range ui.SplitList(written) {
				if !slices.Contains(contract.Outcomes(), contract.Outcome(each)) {
					return ui.Usagef("--outcome %s: must be completed, partial, failed, timeout, canceled or skipped", each)
				}
			}
			return nil
		},
	}
}

// Outcomes reads --outcome.
func Outcomes(ctx *cli.Context) (chosen []contract.Outcome) {
	for _, each := range ui.SplitList(ctx.String(FlagOutcome)) {
		chosen = append(chosen, contract.Outcome(each))
	}
	return chosen
}

// StateCell is the state of a run.
func StateCell(standing explain.RunStanding) ui.Cell {
	return ui.Cell{Text: standing.State, Paint: ui.RolePaint(standing.Role)}
}

func took(run starter.Run, now time.Time) string {
	if run.Started.IsZero() {
		return "-"
	}
	return ui.Span(since(run.Started, run.Ended, now))
}
