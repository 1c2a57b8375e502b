package workers

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/target"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/engine/ref"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/workerview"
)

// drainLook is the interval between two reads of a draining worker.
const drainLook = time.Second

func (c *commands) drain() *cli.Command {
	return &cli.Command{
		Name: "drain", ArgsUsage: "WORKER", Usage: "pause a worker and wait until it is idle",
		Description: `It takes no new work; running jobs may finish. Ctrl-C ends the waiting, the worker stays paused. --dry-run reports
whether and when its node may be rebooted.

Examples:
  roundsman drain node-a --dry-run
  roundsman drain node-a -r kernel --timeout 1h
  roundsman resume node-a`,
		Flags: ui.With(&cli.DurationFlag{Name: ui.FlagTimeout, Usage: "stop waiting after `DURATION`, with exit code 1"}, ui.ReasonFlag(), ui.DryRunFlag()),
		Action: target.All(c.Program, target.Accepts{Named: []ref.Kind{ref.Worker}}, func(ctx *cli.Context, client *starter.Client, t target.Target) error {
			if ctx.Bool(ui.FlagDryRun) {
				return c.foretellDrain(ctx, client, t.Name)
			}
			after, err := client.Workers().Operate(ctx.Context, t.Name, starter.ActionDrain, c.Operator(), ctx.String(ui.FlagReason))
			if err != nil {
				return err
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

// Resize changes how much a worker runs at once, over restarts of the worker. settings are max_detect=N and max_execute=N;
// one without N restores the caps from the start of the worker. A job that runs above a smaller cap continues.
func Resize(p *ui.Program, ctx *cli.Context, client *starter.Client, id string, settings []string) error {
	input, err := resizing(settings)
	if err != nil {
		return err
	}
	input.ID, input.By, input.Reason = id, p.Operator(), ctx.String(ui.FlagReason)
	after, err := client.Workers().Resize(ctx.Context, input)
	if err != nil {
		return err
	}
	caps, note := after.Registration.Caps(), ""
	if !inForce(ctx.Context, client, id, caps) {
		note = "; its process has not confirmed it yet and will take it over within a minute, or when it is back"
	}
	return p.Done(ctx, after, "%s runs at most %d detect, %d execute%s", id, caps.MaxDetect, caps.MaxExecute, note)
}

func resizing(settings []string) (input contract.ResizeWorkerInput, err error) {
	for _, pair := range settings {
		key, value, ok := strings.Cut(pair, "=")
		limit, known := map[string]*int{"max_detect": &input.MaxDetect, "max_execute": &input.MaxExecute}[key]
		switch {
		case !ok || !known:
			return input, ui.Usagef("%s: a worker has max_execute=N and max_detect=N", pair)
		case value == "":
			input.Reset = true
			continue
		}
		if *limit, err = strconv.Atoi(value); err != nil || *limit < 1 || *limit > contract.MaxWorkerCap {
			return input, ui.Usagef("%s: must be between 1 and %d; to run nothing there, pause the worker", pair, contract.MaxWorkerCap)
		}
	}
	if input.Reset && input.MaxDetect+input.MaxExecute > 0 {
		return input, ui.Usagef("a setting without a value restores both: give new caps for both, or for none")
	}
	return input, nil
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
