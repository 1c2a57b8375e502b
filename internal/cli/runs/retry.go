package runs

import (
	"cmp"
	"errors"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
	"github.com/roundsman/roundsman/starter/refs"
	"github.com/roundsman/roundsman/starter/rerun"
)

const (
	flagFailed = "failed"
	flagMissed = "missed"
	flagItem   = "item"

	// The titles of the column that shows whether a job would run.
	titleRuns  = "RUNS"
	titleAgain = "AGAIN"
)

func (c *commands) runsRetry() *cli.Command {
	return &cli.Command{
		Name: "retry", ArgsUsage: "RUN", Usage: "start a run with the jobs of an ended run that were not done",
		Description: runArgument + `

--failed takes the jobs that failed, --missed those that were never executed: not started, expired or canceled.

Examples:
  roundsman retry scrub@bad --failed --dry-run
  roundsman retry scrub@bad --failed`,
		Flags: ui.With(
			&cli.BoolFlag{Name: flagFailed, Usage: "only jobs that failed"},
			&cli.BoolFlag{Name: flagMissed, Usage: "only jobs that were never executed"},
			&cli.GenericFlag{Name: flagItem, Value: &ui.TextsFlag{}, Usage: "only the job with this id or `KEY`"},
			ui.DryRunFlag(), &cli.BoolFlag{Name: ui.FlagWatch, Usage: "follow the new run"}, &cli.BoolFlag{Name: ui.FlagDetach, Hidden: true},
		),
		Action: c.onRun(refs.Resolver.Run, c.retryRun),
	}
}

// preview is a retry that was not started, as JSON.
type preview struct {
	Resumes string `json:"resumes,omitempty"`
	DryRun  bool   `json:"dry_run"`
	rerun.Plan
}

func (c *commands) retryRun(ctx *cli.Context, client *starter.Client, ref starter.RunRef) error {
	choice := rerun.Choice{Failed: ctx.Bool(flagFailed), Missed: ctx.Bool(flagMissed), Items: ui.Texts(ctx, flagItem)}
	if ctx.Bool(ui.FlagDryRun) {
		plan, err := rerun.Of(client).Preview(ctx.Context, ref, choice)
		if err != nil {
			return faulty(err)
		}
		return showPlan(c.Program, ctx, preview{Resumes: ref.WorkflowID, DryRun: true, Plan: plan}, titleAgain)
	}
	started, err := rerun.Of(client).Start(ctx.Context, ref, choice, c.Operator())
	if err != nil {
		return faulty(err)
	}
	if ctx.Bool(ui.FlagWatch) {
		c.Complain("%s executes %s of %s again", started.WorkflowID, ui.Plural(started.Plan.AgainTotal, "job"), ref.WorkflowID)
		if ui.WantsData(ctx) {
			return ui.GoesOn(started.RunRef, WaitJSON(c.Program, ctx, client, started.RunRef))
		}
		return ui.GoesOn(started.RunRef, Watch(c.Program, ctx, client, starter.DefaultWatchInterval, started.RunRef))
	}
	if !ui.WantsData(ctx) {
		printKept(c.Program, started.Plan)
	}
	return c.Done(ctx, started, "%s executes %s again (follow it with `roundsman watch %s`)", started.WorkflowID, ui.Plural(started.Plan.AgainTotal, "job"), started.WorkflowID)
}

func faulty(err error) error {
	if _, wrong := errors.AsType[*jobtypes.SubmissionError](err); wrong {
		return ui.Faulty(err)
	}
	return err
}

func showPlan(p *ui.Program, ctx *cli.Context, plan preview, title string) error {
	if ui.WantsData(ctx) {
		return p.Answer(ctx, plan)
	}
	printPlan(p, plan.Plan, title)
	return nil
}

// printPlan lists the jobs to execute, and the others with the reason.
func printPlan(p *ui.Program, plan rerun.Plan, title string) {
	listed := ui.NewTable("JOB", "KEY", "STATE", title, "WHY")
	for _, one := range plan.Again {
		listed.Add(ui.Text(one.Job), ui.Text(cmp.Or(one.DedupeKey, one.Summary)), ui.Text(one.State), ui.Cell{Text: "yes", Paint: ui.Good}, ui.Cell{Text: ui.OneLine(one.Error), Cause: true})
	}
	for _, one := range plan.Kept {
		listed.Add(ui.Text(one.Job), ui.Text(cmp.Or(one.DedupeKey, one.Summary)), ui.Text(one.State), ui.Cell{Text: "no", Paint: ui.Odd}, ui.Text(one.Detail))
	}
	empty := "all jobs were done"
	if plan.Done == 0 {
		empty = "the run has no jobs; to detect again: roundsman start " + plan.JobType
	}
	p.PrintTable(listed, empty)
	if title == titleRuns {
		p.Print("%s would run, %d not", ui.Plural(plan.AgainTotal, "job"), plan.KeptTotal)
	} else {
		p.Print("%s again, %d not, %d done", ui.Plural(plan.AgainTotal, "job"), plan.KeptTotal, plan.Done)
	}
	noteUnchecked(p, plan)
}

// printKept names the jobs that a retry left out although they were chosen.
func printKept(p *ui.Program, plan rerun.Plan) {
	for _, one := range plan.Kept {
		if one.Why.Chosen() {
			p.Complain("not again: %s: %s", cmp.Or(one.DedupeKey, one.Job, one.Summary), one.Detail)
		}
	}
	noteUnchecked(p, plan)
}

func noteUnchecked(p *ui.Program, plan rerun.Plan) {
	if plan.Unchecked != "" {
		p.Complain("note: keys of other runs and retry budgets were not checked; the new run checks them: %s", plan.Unchecked)
	}
}
