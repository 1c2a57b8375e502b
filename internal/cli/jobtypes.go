package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/starter"
)

func (c *commands) jobTypesCommand() *cli.Command {
	return &cli.Command{
		Name: "jobtypes", Usage: "list, show, change, pause, resume, re-enable and run job types",
		Subcommands: []*cli.Command{
			c.jobTypesList(), c.jobTypesShow(), c.jobTypesSet(), c.jobTypesPause(), c.jobTypesResume(), c.jobTypesReEnable(),
			c.jobTypesRun(), c.jobTypesDetect(), c.jobTypesBackfill(),
		},
	}
}

func (c *commands) jobTypesList() *cli.Command {
	return &cli.Command{
		Name: "list", Aliases: []string{"ls"}, Usage: "list the applied job types and when they are due",
		Description: `Examples:
  roundsman jobtypes list
  roundsman jobtypes list --output json | jq -r '.job_types[] | select(.paused) | .name'
  roundsman jobtypes list --output json | jq -r '.job_types[] | select(.recent[0].outcome == "failed") | .name'`,
		Flags: with(),
		Action: c.connected(func(ctx *cli.Context, client *starter.Client) error {
			types, err := client.JobTypes(ctx.Context)
			if err != nil {
				return err
			}
			c.note(client.AddHolds(ctx.Context, types))
			client.AddOutcomes(ctx.Context, types, 1)
			if wantsJSON(ctx) {
				return printJSON(c.env.Stdout, map[string]any{"job_types": orEmpty(types)})
			}
			c.printJobTypes(types)
			return nil
		}),
	}
}

func (c *commands) printJobTypes(types []starter.JobType) {
	now, listed := c.env.Now(), newTable("JOB TYPE", "HANDLER", "WHEN", "NEXT RUN", "LAST RUN", "OUTCOME", "WINDOW", "STATE")
	for _, known := range types {
		last, outcome := "never", text("-")
		if len(known.Recent) > 0 {
			last, outcome = ago(known.Recent[0].StartedAt, now), scheduledOutcome(known.Recent[0])
		}
		listed.add(text(known.Name), text(known.Spec.Handler), text(known.Times), text(nextRun(known, now)), text(last), outcome, windowState(known.Window, now), jobTypeState(known))
	}
	listed.write(c.env.Stdout, c.env.colors(), "no job types: write a configuration and `roundsman apply` it")
}

// scheduledOutcome is how a run of the Schedule ended; "-" where that is not known.
func scheduledOutcome(run starter.ScheduledRun) cell {
	if run.Status == "" {
		return text("-")
	}
	return runOutcome(starter.Run{Status: run.Status, Outcome: run.Outcome})
}

// note tells what could not be found out beside an answer.
func (c *commands) note(err error) {
	if err != nil {
		fmt.Fprintln(c.env.Stderr, "note: "+err.Error())
	}
}

func nextRun(known starter.JobType, now time.Time) string {
	if len(known.Next) == 0 {
		return "-"
	}
	return ago(known.Next[0], now)
}

// pauseOf says why a job type is paused and who did that, as far as it is known.
func pauseOf(known starter.JobType) string {
	text := byWhom(known.PausedBy)
	if known.PauseNote != "" {
		text += " (" + known.PauseNote + ")"
	}
	return text
}

func jobTypeState(known starter.JobType) cell {
	switch {
	case known.Fault != "":
		return cell{text: "FAULT: " + known.Fault, paint: bad}
	case known.DisabledByConfig:
		return cell{text: "disabled", paint: faint}
	case known.Paused:
		return cell{text: strings.TrimSuffix("paused: "+known.PauseNote, ": "), paint: odd}
	case known.HeldBack != nil:
		return cell{text: "disabled until " + stamp(known.HeldBack.Until) + " by its retry budget", paint: bad}
	case len(known.Running) > 0:
		return cell{text: "running", paint: bold}
	}
	return cell{text: "ready", paint: good}
}

func (c *commands) jobTypesShow() *cli.Command {
	return &cli.Command{
		Name: "show", ArgsUsage: "NAME", Usage: "show one job type: its policy, schedule and runs",
		Description: `Examples:
  roundsman jobtypes show scrub
  roundsman jobtypes show scrub --output json | jq .spec.policy`,
		Flags: with(),
		Action: c.connected(func(ctx *cli.Context, client *starter.Client) error {
			name, err := oneName(ctx)
			if err != nil {
				return err
			}
			known, err := client.JobType(ctx.Context, name)
			if err != nil {
				return err
			}
			one := []starter.JobType{known}
			c.note(client.AddHolds(ctx.Context, one))
			client.AddOutcomes(ctx.Context, one, len(known.Recent))
			known = one[0]
			learned, err := client.Learned(ctx.Context, known)
			if err != nil {
				return err
			}
			if wantsJSON(ctx) {
				return printJSON(c.env.Stdout, struct {
					starter.JobType
					Learned starter.Learned `json:"learned"`
				}{known, learned})
			}
			c.showJobType(known, learned)
			return nil
		}),
	}
}

func (c *commands) showJobType(known starter.JobType, learned starter.Learned) {
	now, spec, shown := c.env.Now(), known.Spec, &fields{}
	shown.add("job type", text(known.Name))
	shown.add("about", text(spec.Description))
	shown.add("state", jobTypeState(known))
	shown.add("handler", text(spec.Handler))
	shown.add("lane", text(spec.Lane))
	shown.add("when", text(known.Times))
	for i, next := range known.Next {
		if i == 3 {
			break
		}
		shown.add("next run", textf("%s (%s)", stamp(next), ago(next, now)))
	}
	addWindows(shown, known, now)
	addLearned(shown, learned)
	shown.add("runs", textf("%d started, %d skipped because one was running, %d missed", known.Counts.Started, known.Counts.Skipped, known.Counts.Missed))
	policy := spec.Policy
	shown.add("limits", textf("%d jobs at once, %d per worker, %d per detection; routing %s", policy.GlobalExecutionConcurrency,
		policy.PerWorkerExecutionConcurrency, policy.MaxJobsPerDetection, policy.Routing))
	shown.add("timeouts", textf("detection %s, job %s, group %s (then %s), heartbeat %s, progress %s", policy.DetectionTimeout,
		policy.ExecutionTimeout, policy.MaxRuntime, policy.OnDeadline, policy.HeartbeatTimeout, policy.ProgressTimeout))
	shown.add("retries", textf("%d after %s; worker lost: %s, at most %d times", policy.RetryLimit, policy.RetryBackoff, policy.OnWorkerLoss, policy.WorkerLossLimit))
	shown.add("retry budget", text(budgetText(spec.RetryBudget)))
	if known.HeldBack != nil {
		shown.add("disabled", cell{text: known.HeldBack.Detail, paint: bad})
	}
	if known.HeldKeys > 0 {
		shown.add("held back", textf("%s, see `roundsman jobs disabled %s`", plural(known.HeldKeys, "key"), known.Name))
	}
	shown.add("params", text(string(spec.Params)))
	shown.add("detect", text(string(spec.Detect)))
	shown.add("execute", text(string(spec.Execute)))
	shown.write(c.env.Stdout, c.env.colors())
	if len(known.Recent) == 0 {
		return
	}
	listed := newTable("RUN", "OUTCOME", "STARTED", "LATE BY")
	for _, run := range known.Recent {
		listed.add(text(run.WorkflowID), scheduledOutcome(run), text(ago(run.StartedAt, now)), text(span(max(run.StartedAt.Sub(run.ScheduledAt), 0))))
	}
	fmt.Fprintln(c.env.Stdout)
	listed.write(c.env.Stdout, c.env.colors(), "")
}

func (c *commands) jobTypesPause() *cli.Command {
	return &cli.Command{
		Name: "pause", ArgsUsage: "NAME", Usage: "stop a job type from being due; a running group goes on",
		Description: `The pause survives apply and restarts. ` + "`jobtypes run`" + ` still works.

Examples:
  roundsman jobtypes pause scrub --note "until the new disks are in"`,
		Flags: with(&cli.StringFlag{Name: "note", Usage: "`TEXT` that tells others why"}),
		Action: c.connected(func(ctx *cli.Context, client *starter.Client) error {
			name, err := oneName(ctx)
			if err != nil {
				return err
			}
			if err := client.Pause(ctx.Context, name, ctx.String("note")); err != nil {
				return err
			}
			return c.done(ctx, map[string]any{"job_type": name, "paused": true}, "%s is paused", name)
		}),
	}
}

func (c *commands) jobTypesResume() *cli.Command {
	return &cli.Command{
		Name: "resume", ArgsUsage: "NAME", Usage: "end a pause",
		Description: "Examples:\n  roundsman jobtypes resume scrub",
		Flags:       with(),
		Action: c.connected(func(ctx *cli.Context, client *starter.Client) error {
			name, err := oneName(ctx)
			if err != nil {
				return err
			}
			if err := client.Resume(ctx.Context, name); err != nil {
				return err
			}
			known, err := client.JobType(ctx.Context, name)
			if err != nil {
				return err
			}
			next := ""
			if len(known.Next) > 0 {
				next = "; next run " + ago(known.Next[0], c.env.Now())
			}
			return c.done(ctx, map[string]any{"job_type": name, "paused": known.Paused}, "%s is resumed%s", name, next)
		}),
	}
}
