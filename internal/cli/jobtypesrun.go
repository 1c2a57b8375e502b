package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/progress"
	"github.com/roundsman/roundsman/starter"
)

func (c *commands) jobTypesRun() *cli.Command {
	return &cli.Command{
		Name: "run", ArgsUsage: "NAME", Usage: "start a run now, as if the job type were due",
		Description: `A paused job type runs too. If a group of the type is running, policy.overlap decides.
If its maintenance window is closed, the run ends as skipped, unless the opening is near;
--ignore-window runs it all the same, and the run shows that.
With --wait the exit code is 0 only if the run completed.

Examples:
  roundsman jobtypes run scrub
  roundsman jobtypes run scrub --ignore-window
  roundsman jobtypes run scrub --wait
  roundsman jobtypes run scrub --wait --output json | jq .counts`,
		Flags: with(
			&cli.BoolFlag{Name: flagWait, Aliases: []string{flagWatch}, Usage: "show the run and wait until it has ended"},
			&cli.BoolFlag{Name: flagIgnoreWindow, Usage: "run although the maintenance window is closed"},
		),
		Action: c.connected(c.runJobType),
	}
}

func (c *commands) runJobType(ctx *cli.Context, client *starter.Client) error {
	name, err := oneName(ctx)
	if err != nil {
		return err
	}
	known, err := client.JobType(ctx.Context, name)
	if err != nil {
		return err
	}
	if known.Paused {
		fmt.Fprintf(c.env.Stderr, "note: %s is paused%s; this run is an exception\n", name, pauseOf(known))
	}
	trigger := client.Trigger
	switch {
	case ctx.Bool(flagIgnoreWindow):
		trigger = client.TriggerIgnoringWindow
	case known.Window != nil && !known.Window.Open:
		fmt.Fprintf(c.env.Stderr, "note: the window of %s is %s; --ignore-window runs it all the same\n", name, windowState(known.Window, c.env.Now()).text)
	}
	triggered, err := trigger(ctx.Context, name)
	if err != nil {
		return err
	}
	if !ctx.Bool(flagWait) {
		how := "started"
		if triggered.Buffered {
			how = "waits for the running group:"
		}
		return c.done(ctx, map[string]any{"job_type": name, "workflow_id": triggered.WorkflowID, "run_id": triggered.RunID, "buffered": triggered.Buffered},
			"%s %s (follow it with `roundsman runs watch %s`)", how, triggered.WorkflowID, triggered.WorkflowID)
	}
	ref := starter.RunRef{WorkflowID: triggered.WorkflowID}
	if !wantsJSON(ctx) {
		return goesOn("runs", ref, c.watch(ctx, client, starter.DefaultWatchInterval, ref))
	}
	return goesOn("runs", ref, c.waitJSON(ctx, client, ref))
}

// goesOn says of a run whose end was waited for that an interrupt ended only the
// waiting. group is the group of commands about such runs.
func goesOn(group string, ref starter.RunRef, err error) error {
	if !errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("interrupted: %s goes on; follow it with `roundsman %s watch %s`, end it with `roundsman %s cancel %s`",
		ref.WorkflowID, group, ref.WorkflowID, group, ref.WorkflowID)
}

// waitJSON waits for a run and prints its result as one object.
func (c *commands) waitJSON(ctx *cli.Context, client *starter.Client, ref starter.RunRef) error {
	result, err := client.Result(ctx.Context, ref)
	if err != nil {
		return err
	}
	if err := printJSON(c.env.Stdout, struct {
		starter.RunRef
		contract.JobGroupResult
	}{ref, result}); err != nil {
		return err
	}
	if result.Outcome != contract.OutcomeCompleted {
		return silent(ExitFailed)
	}
	return nil
}

func (c *commands) jobTypesDetect() *cli.Command {
	return &cli.Command{
		Name: "detect", ArgsUsage: "NAME", Usage: "dry run: show what a run would do, and do nothing",
		Description: `Without --config it detects with the applied settings; with --config FILE with those of the file,
which need not be applied.

A dry run returns the first 200 proposals; --output json has all of them.

Examples:
  roundsman jobtypes detect scrub
  roundsman jobtypes detect scrub --limit 200
  roundsman jobtypes detect compress_logs --config roundsman.yaml --output json | jq -r '.proposals[].dedupe_key'`,
		Flags: with(
			&cli.DurationFlag{Name: flagTimeout, Usage: "give up after `DURATION`", Value: 10 * time.Minute},
			&cli.IntFlag{Name: flagLimit, Usage: "show at most `N` proposals in the table", Value: 20},
			allowUnregisteredFlag(),
		),
		Before: func(ctx *cli.Context) error {
			if limit := ctx.Int(flagLimit); limit < 1 {
				return usagef("--limit %d: must be at least 1", limit)
			}
			return nil
		},
		Action: c.connected(c.detect),
	}
}

func (c *commands) detect(ctx *cli.Context, client *starter.Client) error {
	name, err := oneName(ctx)
	if err != nil {
		return err
	}
	spec, err := c.specOf(ctx, client, name)
	if err != nil {
		return err
	}
	ref, err := client.StartDryRun(ctx.Context, spec, newRunName(c.env.Now()))
	if err != nil {
		return err
	}
	result, err := c.awaitDryRun(ctx, client, ref)
	if err != nil {
		return err
	}
	if wantsJSON(ctx) {
		result.Proposals = orEmpty(result.Proposals)
		err = printJSON(c.env.Stdout, result)
	} else {
		c.printProposals(result, ctx.Int(flagLimit))
	}
	if err == nil && result.Outcome != contract.OutcomeCompleted {
		return silent(ExitFailed)
	}
	return err
}

// specOf is the spec of the file if one was named, or else the applied one.
func (c *commands) specOf(ctx *cli.Context, client *starter.Client, name string) (contract.JobTypeSpec, error) {
	if len(ctx.StringSlice(flagConfig)) == 0 {
		known, err := client.JobType(ctx.Context, name)
		return known.Spec, err
	}
	loaded, err := c.load(ctx, nil)
	if err != nil {
		return contract.JobTypeSpec{}, err
	}
	specs, err := loaded.Specs()
	if err != nil {
		return contract.JobTypeSpec{}, err
	}
	for _, spec := range specs {
		if spec.Name == name {
			return spec, nil
		}
	}
	return contract.JobTypeSpec{}, usagef("the configuration has no job type %s: it has %s", name, strings.Join(sortedKeys(loaded.JobTypes), ", "))
}

// awaitDryRun waits for the result and cancels the dry run when the operator
// gives up: nobody else would want it.
func (c *commands) awaitDryRun(ctx *cli.Context, client *starter.Client, ref starter.RunRef) (contract.JobGroupResult, error) {
	limit := ctx.Duration(flagTimeout)
	waiting, cancel := context.WithTimeout(ctx.Context, limit)
	defer cancel()
	telling, told := context.WithCancel(waiting)
	silent := make(chan struct{})
	go func() {
		defer close(silent)
		c.tellWaiting(telling, client, ref)
	}()
	result, err := client.Result(waiting, ref)
	told()
	<-silent
	if waiting.Err() == nil {
		return result, err
	}
	cleanup, done := context.WithTimeout(context.WithoutCancel(ctx.Context), starter.DialTimeout)
	defer done()
	snapshot, showErr := client.Show(cleanup, ref)
	cancelErr := client.CancelRun(cleanup, ref, "the operator no longer waits")
	if ctx.Err() != nil {
		return result, ctx.Err()
	}
	why := "nobody detected: is a worker with the handler online? see `roundsman workers list`"
	if showErr == nil && snapshot.Group != nil && snapshot.Group.Waiting != "" {
		why = snapshot.Group.Waiting
	} else if snapshot.Unanswered != "" {
		why = snapshot.Unanswered
	}
	return result, errors.Join(fmt.Errorf("no result within %s: %s", limit, why), cancelErr)
}

// detectPatience is how long a dry run may wait for somebody to detect before the
// operator is told what it waits for, and how often that is looked at.
const detectPatience = 3 * time.Second

// tellWaiting notes what a dry run waits for, whenever that changes, until ctx ends.
func (c *commands) tellWaiting(ctx context.Context, client *starter.Client, ref starter.RunRef) {
	last, tick := "", time.NewTicker(detectPatience)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		snapshot, err := client.Show(ctx, ref)
		if err != nil || ctx.Err() != nil {
			continue
		}
		why := snapshot.Unanswered
		if snapshot.Group != nil {
			why = snapshot.Group.Waiting
		}
		if why != "" && why != last {
			fmt.Fprintf(c.env.Stderr, "waiting: %s (see `roundsman explain %s`)\n", oneLine(why), ref.WorkflowID)
			last = why
		}
	}
}

// printProposals shows the first ones, and what there is beside them.
func (c *commands) printProposals(result contract.JobGroupResult, limit int) {
	listed := newTable("KEY", "PRIORITY", "NODE", "WHAT")
	shown := result.Proposals[:min(limit, len(result.Proposals))]
	for _, proposal := range shown {
		listed.add(text(shorten(proposal.DedupeKey, 80)), text(string(cmp.Or(proposal.Priority, "normal"))), text(proposal.Node), text(shorten(proposal.Summary, 80)))
	}
	listed.write(c.env.Stdout, c.env.colors(), "nothing to do")
	fmt.Fprintf(c.env.Stdout, "%s: %s", result.Outcome, progress.Counts(result.Counts))
	if result.Detector != "" {
		fmt.Fprintf(c.env.Stdout, ", by %s", result.Detector)
	}
	if result.Reason != "" {
		fmt.Fprintf(c.env.Stdout, ": %s", oneLine(result.Reason))
	}
	fmt.Fprintln(c.env.Stdout)
	all := result.Counts.Accepted + result.Counts.Batched
	switch {
	case len(shown) < len(result.Proposals):
		fmt.Fprintf(c.env.Stdout, "the first %d of %d; see more with --limit\n", len(shown), all)
	case all > len(shown):
		fmt.Fprintf(c.env.Stdout, "the first %d of %d; a dry run returns no more than %d\n", len(shown), all, contract.MaxDryRunProposals)
	}
}
