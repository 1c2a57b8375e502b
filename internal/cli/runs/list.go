package runs

import (
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/target"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/ref"
	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/starter"
)

func (c *commands) runs() *cli.Command {
	return &cli.Command{
		Name: "runs", ArgsUsage: "[REF]", Usage: "list runs, newest first",
		Description: `REF is a job type or a DAG. STATE is open, an outcome, or bad: failed, partial or timeout.

Examples:
  roundsman runs
  roundsman runs scrub --limit 5
  roundsman runs -s bad --since 12h
  roundsman runs -s bad --since 12h -o name | roundsman retry -
  roundsman runs --output json | jq -r '.runs[] | [.workflow_id, .progress.failed] | @tsv'`,
		Flags: ui.ListFlags(append([]cli.Flag{ui.StateFlag("open, bad or an outcome", ui.OutcomeStates(ui.StateOpen, ui.StateBad)...), c.runSorting().Flag(), ui.LimitFlag()}, ui.PeriodFlags()...)...),
		Before: func(ctx *cli.Context) error {
			_, err := c.runFilter(ctx)
			return err
		},
		Action: target.Optional(c.Program, target.Accepts{Named: []ref.Kind{ref.JobType, ref.DAG}}, c.listRuns),
	}
}

func (c *commands) runFilter(ctx *cli.Context) (starter.RunFilter, error) {
	wanted, err := ui.States(ctx)
	if err != nil {
		return starter.RunFilter{}, err
	}
	since, until, err := c.Period(ctx)
	if err != nil {
		return starter.RunFilter{}, ui.Faulty(err)
	}
	filter := starter.RunFilter{Since: since, Until: until, Limit: ui.Limit(ctx), Counts: true}
	for _, state := range wanted {
		if state == ui.StateOpen {
			filter.Running = true
		} else {
			filter.Outcomes = append(filter.Outcomes, contract.Outcome(state))
		}
	}
	return filter, checkLimit(filter.Limit)
}

func checkLimit(limit int) error {
	if limit < 1 || limit > ui.Everything {
		return ui.Usagef("--limit %d: must be 1 to %d", limit, ui.Everything)
	}
	return nil
}

func (c *commands) listRuns(ctx *cli.Context, client *starter.Client, of target.Target) error {
	filter, err := c.runFilter(ctx)
	if err != nil {
		return err
	}
	if of.Kind == ref.DAG {
		filter.DAG = of.Name
	} else {
		filter.JobType = of.Name
	}
	runs, err := client.Runs().List(ctx.Context, filter)
	if err != nil {
		return err
	}
	c.runSorting().Sort(ctx, runs)
	if ui.WantsData(ctx) {
		return c.Answer(ctx, map[string]any{"runs": lists.OrEmpty(runs)}, ui.Names(runs, func(run starter.Run) string { return run.WorkflowID })...)
	}
	now := c.Env.Now()
	listed := ui.NewTable("RUN", "OF", "STATE", "ITEMS", "STARTED", "TOOK", "PACE", "+ENDED", "+RUN ID", "+SUBMISSION", "+CAUSE")
	for _, run := range runs {
		of := ui.Text(run.Name())
		if run.Kind == starter.KindDAG {
			of.Text = "dag " + run.DAG
		}
		listed.Add(ui.Text(run.WorkflowID), of, StateCell(run.Standing), progressCell(run.Progress), ui.Text(ui.Ago(run.Started, now)), ui.Text(took(run, now)), PaceCell(run.Pace), ui.Text(ui.Stamp(run.Ended)), ui.Text(run.RunID), ui.Text(run.AdHoc), ui.Text(ui.OneLine(run.Standing.Line())))
	}
	empty := "no runs yet: start one with `roundsman start NAME` or `roundsman start FILE -w`"
	if of.Name != "" || filter.Running || len(filter.Outcomes) > 0 || !filter.Since.IsZero() || !filter.Until.IsZero() {
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

// progressCell shows the ended, all and failed items of a run.
func progressCell(p *starter.Progress) ui.Cell {
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
