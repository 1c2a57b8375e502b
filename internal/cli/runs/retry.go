package runs

import (
	"cmp"
	"errors"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
	"github.com/roundsman/roundsman/starter/rerun"
)

// Flags that choose the jobs of a retry.
const (
	FlagFailed = "failed"
	FlagMissed = "missed"
	FlagItem   = "item"

	// The titles of the column that shows whether a job would run.
	titleRuns  = "RUNS"
	titleAgain = "AGAIN"
)

// preview is a retry that was not started, as JSON.
type preview struct {
	Resumes string `json:"resumes,omitempty"`
	DryRun  bool   `json:"dry_run"`
	rerun.Plan
}

// Retry starts a run with the jobs of an ended run that were not done, or with the named ones.
func Retry(p *ui.Program, ctx *cli.Context, client *starter.Client, ref starter.RunRef, jobs ...string) error {
	choice := rerun.Choice{Failed: ctx.Bool(FlagFailed), Missed: ctx.Bool(FlagMissed), Items: slices.Concat(ui.Texts(ctx, FlagItem), jobs)}
	if ctx.Bool(ui.FlagDryRun) {
		plan, err := rerun.Of(client).Preview(ctx.Context, ref, choice)
		if err != nil {
			return faulty(err)
		}
		return showPlan(p, ctx, preview{Resumes: ref.WorkflowID, DryRun: true, Plan: plan}, titleAgain)
	}
	started, err := rerun.Of(client).Start(ctx.Context, ref, choice, p.Operator())
	if err != nil {
		return faulty(err)
	}
	if ctx.Bool(ui.FlagWait) {
		p.Complain("%s executes %s of %s again", started.WorkflowID, ui.Plural(started.Plan.AgainTotal, "job"), ref.WorkflowID)
		if ui.WantsData(ctx) {
			return ui.GoesOn(started.RunRef, WaitJSON(p, ctx, client, started.RunRef))
		}
		return ui.GoesOn(started.RunRef, Watch(p, ctx, client, started.RunRef))
	}
	if !ui.WantsData(ctx) {
		printKept(p, started.Plan)
	}
	return p.Done(ctx, started, "%s executes %s again (follow it with `roundsman watch %s`)", started.WorkflowID, ui.Plural(started.Plan.AgainTotal, "job"), started.WorkflowID)
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
		listed.Add(ui.Text(one.Job), ui.Text(cmp.Or(one.DedupeKey, one.Summary)), ui.Text(one.State), ui.Cell{Text: "no", Paint: ui.Odd}, ui.Text(p.Env.Own.Code(one.Detail)))
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
			p.Complain("not again: %s: %s", cmp.Or(one.DedupeKey, one.Job, one.Summary), p.Env.Own.Code(one.Detail))
		}
	}
	noteUnchecked(p, plan)
}

func noteUnchecked(p *ui.Program, plan rerun.Plan) {
	if plan.Unchecked != "" {
		p.Complain("note: keys of other runs and retry budgets were not checked; the new run checks them: %s", plan.Unchecked)
	}
}
