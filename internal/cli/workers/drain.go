package workers

import (
	"context"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/workerview"
)

// drainLook is the interval between two reads of a draining worker.
const drainLook = time.Second

func (c *commands) workersDrain() *cli.Command {
	return &cli.Command{
		Name: "drain", ArgsUsage: "WORKER", Usage: "take no new work and wait until nothing runs there; the process is meant to end",
		Description: `Running jobs may finish. A line is printed whenever they change. Interrupting the command
or --timeout ends the waiting, not the drain: uncordon does that. --dry-run drains nothing and estimates when the
worker is free, by the progress of its jobs, the estimates of their proposals and the durations of past jobs of
their types. It names the jobs without an estimate.

Examples:
  roundsman drain node-a
  roundsman drain node-a --dry-run
  roundsman drain node-a --reason "new disks" --timeout 30m && ssh node-a systemctl stop roundsman-worker
  roundsman drain node-a --no-wait`,
		Flags: ui.With(
			&cli.StringFlag{Name: ui.FlagReason, Usage: "`TEXT` to keep in the worker's history"},
			&cli.BoolFlag{Name: ui.FlagDryRun, Usage: "drain nothing: print when the worker would be free"},
			&cli.BoolFlag{Name: "no-wait", Usage: "return at once"},
			&cli.DurationFlag{Name: ui.FlagTimeout, Usage: "stop waiting after `DURATION`, with exit code 1 (default: wait as long as it takes)"},
		),
		Action: c.Named(func(ctx *cli.Context, client *starter.Client, id string) error {
			if ctx.Bool(ui.FlagDryRun) {
				return c.foretellDrain(ctx, client, id)
			}
			after, err := client.Workers().Operate(ctx.Context, id, starter.ActionDrain, c.Operator(), ctx.String(ui.FlagReason))
			if err != nil {
				return err
			}
			if ctx.Bool("no-wait") {
				// The worker stops its shared queues itself. Without an answer now it does so within a minute.
				_, _ = client.Workers().Refresh(ctx.Context, id)
				return c.Done(ctx, after, "%s", operated(after))
			}
			return c.awaitDrained(ctx, client, after)
		}),
	}
}

// awaitDrained waits until the worker has no attempts left, or until its process has ended.
func (c *commands) awaitDrained(ctx *cli.Context, client *starter.Client, worker contract.WorkerDetail) error {
	limited, cancel := ctx.Context, context.CancelFunc(func() {})
	if limit := ctx.Duration(ui.FlagTimeout); limit > 0 {
		limited, cancel = context.WithTimeout(limited, limit)
	}
	defer cancel()
	id, said := worker.Registration.ID, ""
	watch := workerview.WatchDrain(client, id)
	for {
		drain, err := watch.Look(limited)
		switch {
		case ctx.Context.Err() != nil:
			return fmt.Errorf("interrupted; %s stays DRAINING until `roundsman resume %s`", id, id)
		case limited.Err() != nil:
			return fmt.Errorf("%s is still busy after %s (%s); it stays DRAINING until `roundsman resume %s`", id, ctx.Duration(ui.FlagTimeout), said, id)
		case err != nil:
			return err
		case drain.Over:
			return c.Done(ctx, map[string]any{"worker": id, "drained": true}, "%s is drained: %s; stop its process, or `roundsman resume %s`", id, drain.Text, id)
		case drain.Text != said && !ui.WantsData(ctx):
			c.Print("%s: %s", id, drain.Text)
		}
		said = drain.Text
		select {
		case <-time.After(drainLook):
		case <-limited.Done():
		}
	}
}

func (c *commands) workersResize() *cli.Command {
	return &cli.Command{
		Name: "resize", ArgsUsage: "WORKER", Usage: "change how much a worker runs at once, without a restart",
		Description: `The new caps hold at once, and over restarts of the worker, until the next resize. A job that runs above
a smaller cap continues.

Examples:
  roundsman set node-a max_execute=8
  roundsman set node-a max_execute=1 --max-detect 1 --reason "rebuilding the array"
  roundsman workers resize node-a --reset`,
		Flags: ui.With(
			&cli.IntFlag{Name: ui.FlagMaxDetect, Usage: "at most `N` detections at once (default: as it is)"},
			&cli.IntFlag{Name: ui.FlagMaxExecute, Usage: "at most `N` jobs at once (default: as it is)"},
			&cli.BoolFlag{Name: "reset", Usage: "restore the limits from the start of the worker"},
			&cli.StringFlag{Name: ui.FlagReason, Usage: "`TEXT` to keep in the worker's history"},
		),
		Action: c.Named(func(ctx *cli.Context, client *starter.Client, id string) error {
			if err := checkResize(ctx); err != nil {
				return err
			}
			after, err := client.Workers().Resize(ctx.Context, contract.ResizeWorkerInput{
				ID: id, MaxDetect: ctx.Int(ui.FlagMaxDetect), MaxExecute: ctx.Int(ui.FlagMaxExecute), Reset: ctx.Bool("reset"),
				By: c.Operator(), Reason: ctx.String(ui.FlagReason),
			})
			if err != nil {
				return err
			}
			caps, note := after.Registration.Caps(), ""
			if !inForce(ctx.Context, client, id, caps) {
				note = "; its process has not confirmed it yet and will take it over within a minute, or when it is back"
			}
			return c.Done(ctx, after, "%s runs at most %d detect, %d execute%s", id, caps.MaxDetect, caps.MaxExecute, note)
		}),
	}
}

func checkResize(ctx *cli.Context) error {
	if err := ui.CheckCaps(ctx); err != nil {
		return err
	}
	given := ctx.IsSet(ui.FlagMaxDetect) || ctx.IsSet(ui.FlagMaxExecute)
	switch {
	case given && ctx.Bool("reset"):
		return ui.Usagef("give either --reset or new caps, not both")
	case !given && !ctx.Bool("reset"):
		return ui.Usagef("nothing to change: give --max-detect, --max-execute or --reset")
	}
	return nil
}

// inForce refreshes the worker and reports whether it uses the caps within a few seconds.
func inForce(ctx context.Context, client *starter.Client, id string, caps contract.WorkerCaps) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	ask := client.Workers().Refresh
	for {
		report, err := ask(ctx, id)
		if err != nil || report.Caps == caps {
			return err == nil
		}
		ask = client.Workers().Ask
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return false
		}
	}
}
