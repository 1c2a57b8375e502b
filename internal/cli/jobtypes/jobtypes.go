package jobtypes

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/runs"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/internal/lib/override"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

func (c *commands) jobTypesCommand() *cli.Command {
	return &cli.Command{
		Name: "jobtypes", Usage: "list job types: state, last run, next run",
		Description: `STATE is an outcome of the last run, or bad: failed, partial or timeout.

Examples:
  roundsman jobtypes
  roundsman jobtypes -s bad
  roundsman jobtypes --output json | jq -r '.job_types[] | select(.paused) | .name'`,
		Flags: ui.ListFlags(ui.StateFlag("bad or the outcome of the last run", ui.OutcomeStates(ui.StateBad)...)),
		Before: func(ctx *cli.Context) error {
			_, err := ui.States(ctx)
			return err
		},
		Action:      c.Connected(c.list),
		Subcommands: []*cli.Command{c.jobTypesImport()},
	}
}

func (c *commands) list(ctx *cli.Context, client *starter.Client) error {
	types, err := jobtypes.Of(client).List(ctx.Context)
	if err != nil {
		return err
	}
	c.addLive(ctx, client, types)
	jobtypes.Of(client).AddOutcomes(ctx.Context, types, 1)
	outcomes, err := ui.States(ctx)
	if err != nil {
		return err
	}
	if len(outcomes) > 0 {
		types = slices.DeleteFunc(types, func(known jobtypes.JobType) bool { return !slices.Contains(outcomes, string(lastOf(known).Outcome)) })
	}
	if ui.WantsData(ctx) {
		return c.Answer(ctx, map[string]any{"job_types": lists.OrEmpty(types)}, ui.Names(types, func(known jobtypes.JobType) string { return known.Name })...)
	}
	c.printJobTypes(types, len(outcomes) > 0)
	return nil
}

func lastOf(known jobtypes.JobType) jobtypes.ScheduledRun {
	if len(known.Recent) == 0 {
		return jobtypes.ScheduledRun{}
	}
	return known.Recent[0]
}

func (c *commands) printJobTypes(types []jobtypes.JobType, filtered bool) {
	now, listed := c.Env.Now(), ui.NewTable("JOB TYPE", "HANDLER", "WHEN", "NEXT RUN", "LAST RUN", "OUTCOME", "WINDOW", "+LANE", "+ABOUT", "STATE")
	for _, known := range types {
		last, outcome := "never", ui.Text("-")
		if len(known.Recent) > 0 {
			last, outcome = ui.Ago(known.Recent[0].StartedAt, now), scheduledOutcome(known.Recent[0])
		}
		listed.Add(ui.Text(known.Name), ui.Text(known.Spec.String()), ui.Text(known.Times), ui.Text(nextRun(known, now)), ui.Text(last), outcome, runs.WindowState(known.Window, now),
			ui.Text(known.Spec.Lane), ui.Text(known.Spec.Description), State(known))
	}
	empty := "no job types: write a configuration and `roundsman apply` it"
	if filtered {
		empty = "no job types match"
	}
	c.PrintTable(listed, empty)
}

func scheduledOutcome(run jobtypes.ScheduledRun) ui.Cell {
	if run.Status == "" {
		return ui.Text("-")
	}
	return runs.StateCell(starter.Run{Status: run.Status, Outcome: run.Outcome}.WithStanding().Standing)
}

func nextRun(known jobtypes.JobType, now time.Time) string {
	if len(known.Next) == 0 {
		return "-"
	}
	return ui.Ago(known.Next[0], now)
}

// State is the state of a job type, or the reason why it does not run.
func State(known jobtypes.JobType) ui.Cell {
	state := ui.Cell{Text: "ready", Paint: ui.Good}
	switch standing := known.Standing(); standing.State {
	case explain.TypeFault:
		return ui.Cell{Text: "FAULT: " + standing.Detail, Paint: ui.Bad}
	case explain.TypeOff:
		return ui.Cell{Text: "disabled", Paint: ui.Faint}
	case explain.TypePaused:
		return ui.Cell{Text: strings.TrimSuffix("paused: "+known.PauseNote, ": "), Paint: ui.Odd}
	case explain.TypeDisabled:
		return ui.Cell{Text: "disabled until " + ui.Stamp(standing.Until) + " by its retry budget", Paint: ui.Bad}
	case explain.TypeNoWorker:
		return ui.Cell{Text: standing.Line(), Paint: ui.Bad, Cause: true}
	case explain.TypeRunning, explain.TypeWaiting:
		state = ui.Cell{Text: standing.State, Paint: ui.Bold}
	}
	if known.HeldKeys > 0 {
		state.Text, state.Paint = state.Text+", "+ui.Plural(known.HeldKeys, "key")+" held back", ui.Odd
	}
	return state
}

// Only a control plane returns holds and workers. A list of names needs neither.
func (c *commands) addLive(ctx *cli.Context, client *starter.Client, types []jobtypes.JobType) {
	if !ui.WantsNames(ctx) {
		c.Note(jobtypes.Of(client).AddHolds(ctx.Context, types))
		c.Note(jobtypes.Of(client).AddServed(ctx.Context, types))
	}
}

// Show shows one job type.
func Show(p *ui.Program, ctx *cli.Context, client *starter.Client, name string) error {
	c := &commands{p}
	known, err := jobtypes.Of(client).Get(ctx.Context, name)
	if err != nil {
		return err
	}
	one := []jobtypes.JobType{known}
	c.addLive(ctx, client, one)
	jobtypes.Of(client).AddOutcomes(ctx.Context, one, len(known.Recent))
	known = one[0]
	var details jobtypes.Details
	if !ui.WantsNames(ctx) {
		details, err = jobtypes.Of(client).Details(ctx.Context, known)
		c.Note(err)
	}
	if ui.WantsData(ctx) {
		return c.Answer(ctx, struct {
			jobtypes.JobType
			jobtypes.Details
		}{known, details}, known.Name)
	}
	c.showJobType(known, details)
	return nil
}

func (c *commands) showJobType(known jobtypes.JobType, details jobtypes.Details) {
	now, spec, shown := c.Env.Now(), known.Spec, &ui.Fields{}
	shown.Add("job type", ui.Text(known.Name))
	shown.Add("about", ui.Text(spec.Description))
	shown.Add("state", State(known))
	if known.Paused && !known.DisabledByConfig {
		shown.Add("paused", ui.Textf("%s%s: %s", ui.Ago(known.PausedAt, now), ui.ByWhom(known.PausedBy), cmp.Or(known.PauseNote, "no reason given")))
	}
	if changed := details.Changed; changed != nil {
		shown.Add("changed", ui.Textf("%s%s: %s", ui.Ago(changed.At, now), ui.ByWhom(changed.By), changed))
	}
	if spec.DAG != nil {
		shown.Add("dag", ui.Textf("%s (%s)", spec.DAG.Name, spec.DAG.File))
	} else {
		shown.Add("handler", ui.Text(spec.Handler))
	}
	shown.Add("lane", ui.Text(spec.Lane))
	shown.Add("when", ui.Text(known.Times+everyFrom(spec)))
	for i, next := range known.Next {
		if i == 3 {
			break
		}
		shown.Add("next run", ui.Textf("%s (%s)", ui.Stamp(next), ui.Ago(next, now)))
	}
	addWindows(shown, known, now)
	addLearned(shown, details.Learned)
	shown.Add("runs", ui.Textf("%d started, %d skipped because one was running, %d missed", known.Counts.Started, known.Counts.Skipped, known.Counts.Missed))
	policy := spec.Policy
	shown.Add("limits", ui.Textf("%d jobs at once, %d per worker, %d per detection; routing %s", policy.GlobalExecutionConcurrency,
		policy.PerWorkerExecutionConcurrency, policy.MaxJobsPerDetection, policy.Routing))
	for _, pool := range slices.Sorted(maps.Keys(spec.JobResources)) {
		shown.Add("each job takes", ui.Textf("%d of pool %s", spec.JobResources[pool], pool))
	}
	shown.Add("timeouts", ui.Textf("detection %s, job %s, group %s (then %s), heartbeat %s, stall %s, progress %s", policy.DetectionTimeout,
		policy.ExecutionTimeout, policy.MaxRuntime, policy.OnDeadline, policy.HeartbeatTimeout, stallText(policy), policy.ProgressTimeout))
	shown.Add("retries", ui.Textf("%d after %s; worker lost: %s, at most %d times; recovery %s", policy.RetryLimit, backoffText(policy), policy.OnWorkerLoss, policy.WorkerLossLimit,
		cmp.Or(policy.Recovery, jobtype.RecoveryResume)))
	shown.Add("retry budget", ui.Text(budgetText(spec.RetryBudget)))
	shown.Add("by its handler", ui.Text(handlerDefaults(spec)))
	if known.HeldBack != nil {
		shown.Add("disabled", ui.Cell{Text: known.HeldBack.String(), Paint: ui.Bad})
	}
	if known.HeldKeys > 0 {
		shown.Add("held back", ui.Textf("%s, see `%s holds %s`", ui.Plural(known.HeldKeys, "key"), c.Env.Own.Name(), known.Name))
	}
	shown.Add("params", ui.Text(jobtypes.ValueText(spec.Params)))
	shown.Add("detect", ui.Text(jobtypes.ValueText(spec.Detect)))
	shown.Add("execute", ui.Text(jobtypes.ValueText(spec.Execute)))
	c.PrintFields(shown)
	c.printStarted(details.Runs, now)
}

func (c *commands) printStarted(started []jobtypes.StartedRun, now time.Time) {
	if len(started) == 0 {
		return
	}
	listed := ui.NewTable("RUN", "OUTCOME", "STARTED", "BY", "LATE BY")
	for _, run := range started {
		late := "-"
		if !run.DueAt.IsZero() {
			late = ui.Span(max(run.StartedAt.Sub(run.DueAt), 0))
		}
		listed.Add(ui.Text(run.WorkflowID), runs.StateCell(run.Standing), ui.Text(ui.Ago(run.StartedAt, now)), ui.Text(run.StartedBy), ui.Text(late))
	}
	fmt.Fprintln(c.Env.Stdout)
	c.PrintTable(listed, "")
}

func stallText(policy jobtype.Policy) string {
	if policy.Liveness == jobtype.LivenessProcess {
		return "never"
	}
	return policy.StallTimeout.String()
}

// everyFrom marks an interval that is a default of the handler.
func everyFrom(spec contract.JobTypeSpec) string {
	if slices.Contains(spec.FromHandler, contract.PathEvery) {
		return jobtypes.OfHandler(spec)
	}
	return ""
}

func handlerDefaults(spec contract.JobTypeSpec) string {
	var defaults []string
	flat := override.Flat(spec.Policy)
	for _, path := range spec.FromHandler {
		if value, known := flat[path]; known {
			defaults = append(defaults, strings.TrimPrefix(path, "policy.")+" "+value)
		}
	}
	return strings.Join(defaults, ", ")
}

// Pause stops a job type from being due, over applies and restarts. A running group continues.
func Pause(p *ui.Program, ctx *cli.Context, client *starter.Client, name string) error {
	if err := jobtypes.Of(client).Pause(ctx.Context, name, ctx.String(ui.FlagReason)); err != nil {
		return err
	}
	return p.Done(ctx, map[string]any{"job_type": name, "paused": true}, "%s is paused", name)
}

// Resume ends a pause.
func Resume(p *ui.Program, ctx *cli.Context, client *starter.Client, name string) error {
	if err := jobtypes.Of(client).Resume(ctx.Context, name); err != nil {
		return err
	}
	known, err := jobtypes.Of(client).Get(ctx.Context, name)
	if err != nil {
		return err
	}
	next := ""
	if len(known.Next) > 0 {
		next = "; next run " + ui.Ago(known.Next[0], p.Env.Now())
	}
	return p.Done(ctx, map[string]any{"job_type": name, "paused": known.Paused}, "%s is resumed%s", name, next)
}

// backoffText returns "5s", or "5s to 10m" if the wait doubles.
func backoffText(p jobtype.Policy) string {
	if p.RetryMaxBackoff == 0 {
		return p.RetryBackoff.String()
	}
	return p.RetryBackoff.String() + " to " + p.RetryMaxBackoff.String()
}
