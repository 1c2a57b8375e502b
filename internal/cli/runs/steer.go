package runs

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/progress"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/lib/override"
	"github.com/roundsman/roundsman/starter"
)

// Pause starts no more jobs until [Resume]. Running jobs continue. Paused time does not count against max_runtime, but
// against the deadline of a DAG. A repeated pause replaces the reason.
func Pause(p *ui.Program, ctx *cli.Context, client *starter.Client, run starter.RunRef) error {
	if err := client.Runs().Pause(ctx.Context, run, ctx.String(ui.FlagReason)); err != nil {
		return seeEnded(err, run.WorkflowID)
	}
	return requested(p, ctx, run, "pause", "(resume it with `roundsman resume %s`)")
}

// Resume ends a pause.
func Resume(p *ui.Program, ctx *cli.Context, client *starter.Client, run starter.RunRef) error {
	if err := client.Runs().Resume(ctx.Context, run); err != nil {
		return seeEnded(err, run.WorkflowID)
	}
	return requested(p, ctx, run, "resume", "")
}

// requested confirms that the server has taken a request; advice names the run with %s.
func requested(p *ui.Program, ctx *cli.Context, run starter.RunRef, verb, advice string) error {
	line := verb + " requested: " + run.WorkflowID
	if advice != "" {
		line += " " + fmt.Sprintf(advice, run.WorkflowID)
	}
	return p.Done(ctx, map[string]any{"workflow_id": run.WorkflowID, "requested": verb}, "%s", p.Env.Own.Text(line))
}

// Set changes settings of an open run, for this run only. A run of a DAG has concurrency, and concurrency.FANOUT for each of
// its fan-outs.
func Set(p *ui.Program, ctx *cli.Context, client *starter.Client, run starter.RunRef, settings []string) error {
	change, err := override.Parse(settings)
	if err != nil {
		return ui.Faulty(err)
	}
	changed, err := client.Runs().Set(ctx.Context, run, change)
	if err != nil {
		return seeEnded(err, run.WorkflowID)
	}
	return p.SettingsChanged(ctx, map[string]any{"workflow_id": run.WorkflowID}, run.WorkflowID, changed)
}

// Cancel stops the running jobs of a run; the others never start. Of a DAG, tasks with trigger_rule always still run; a
// second cancel stops them, too.
func Cancel(p *ui.Program, ctx *cli.Context, client *starter.Client, run starter.RunRef) error {
	if err := client.Runs().Cancel(ctx.Context, run, ctx.String(ui.FlagReason)); err != nil {
		return seeEnded(err, run.WorkflowID)
	}
	if !ctx.Bool(ui.FlagWait) {
		return requested(p, ctx, run, "cancel", "(follow it with `roundsman watch %s`)")
	}
	ended, err := client.Runs().Await(ctx.Context, run)
	if err != nil {
		return err
	}
	return p.Done(ctx, map[string]any{"workflow_id": run.WorkflowID, "requested": "cancel", "outcome": ended.Outcome},
		"cancel requested: %s has ended as %s with %s", run.WorkflowID, ended.Outcome, progress.Counts(ended))
}
