package exec

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
)

const (
	flagLabel  = "label"
	flagMax    = "max"
	flagSerial = "serial"
	flagYes    = "yes"

	defaultTimeout = time.Hour
)

type commands struct{ *ui.Program }

// Commands are the commands of this package, in the order of the help.
func Commands(p *ui.Program) []*cli.Command {
	c := &commands{p}
	return []*cli.Command{{
		Name: "exec", ArgsUsage: "PROGRAM [ARGUMENT...]", Usage: "run a program on the workers with a label, now",
		Description: `PROGRAM runs once on each worker that carries all labels. No shell reads it: write sh -c '…' for one. Flags of
exec come before PROGRAM; all after it is the program's. Each line of output begins with the name of the worker.
It is printed when the program has ended there.

The run is a DAG, dag/exec/TIME, with one task for each worker: it has the places, permissions and audit of any other
run, and waits for a free slot of its worker. A program that loses its worker is not started again.
The exit code is 0 only if it succeeded on each worker with these labels. A worker that is not ONLINE counts as failed.
Ctrl-C stops waiting, not the run.

Examples:
  roundsman exec --label role=web -- uptime
  roundsman exec --label role=web --serial -- systemctl restart nginx
  roundsman exec --label rack=r7 --label role=db --max 3 --timeout 5m -- sh -c 'df -h /srv | tail -1'
  roundsman exec --label role=web --yes --output json -- uname -r | jq -r '.workers[] | [.worker, .output] | @tsv'`,
		Flags: ui.With(
			&cli.GenericFlag{Name: flagLabel, Aliases: []string{"l"}, Value: &ui.ParamFlag{}, Usage: "on workers with the label `KEY=VALUE`; may be given several times (required)"},
			&cli.IntFlag{Name: flagMax, Usage: "on at most `N` workers at a time; 0: on all"},
			&cli.BoolFlag{Name: flagSerial, Usage: "on one worker after the other, and on no more after a failure"},
			&cli.DurationFlag{Name: ui.FlagTimeout, Usage: "stop the program on a worker after `DURATION`", Value: defaultTimeout},
			&cli.BoolFlag{Name: flagYes, Aliases: []string{"y"}, Usage: "do not ask, on a terminal, before it runs on several workers"},
		),
		Before: func(ctx *cli.Context) error { _, err := requested(ctx); return err },
		Action: c.Connected(c.exec),
	}}
}

func requested(ctx *cli.Context) (request, error) {
	wanted := request{command: ctx.Args().Slice(), max: ctx.Int(flagMax), serial: ctx.Bool(flagSerial), timeout: ctx.Duration(ui.FlagTimeout)}
	switch {
	case len(labelsOf(ctx)) == 0:
		return wanted, ui.Usagef("--label is missing: name the workers, for example --label role=web")
	case wanted.max < 0:
		return wanted, ui.Usagef("--max %d: must not be negative", wanted.max)
	case wanted.serial && wanted.max > 1:
		return wanted, ui.Usagef("--serial and --max %d exclude each other", wanted.max)
	case wanted.timeout < time.Second:
		return wanted, ui.Usagef("--timeout %s: must be at least 1s", wanted.timeout)
	}
	return wanted, nil
}

func labelsOf(ctx *cli.Context) map[string]string {
	labels := map[string]string{}
	if pairs, ok := ctx.Generic(flagLabel).(*ui.ParamFlag); ok && pairs != nil {
		for _, pair := range pairs.Given {
			labels[pair[0]] = pair[1]
		}
	}
	return labels
}

func (c *commands) exec(ctx *cli.Context, client *starter.Client) error {
	wanted, err := requested(ctx)
	if err != nil {
		return err
	}
	registry, err := client.Workers().Registry(ctx.Context, contract.WorkersQueryInput{})
	if err != nil {
		return err
	}
	chosen := choose(registry.Workers, labelsOf(ctx))
	if len(chosen.ready)+len(chosen.absent) == 0 {
		return missing(registry.Workers, labelsOf(ctx))
	}
	for _, id := range slices.Sorted(maps.Keys(chosen.absent)) {
		c.Complain("%s: not run: %s", id, chosen.absent[id])
	}
	if len(chosen.ready) == 0 {
		return fmt.Errorf("none of the %d workers with %s can run the command: see `roundsman workers -o wide`", len(chosen.absent), inWords(labelsOf(ctx)))
	}
	for _, id := range chosen.late {
		c.Complain("%s: its last heartbeat is late: the program waits until the worker is back or OFFLINE", id)
	}
	wanted.workers = chosen.ready
	if agreed, err := c.agreed(ctx, wanted); err != nil || !agreed {
		return err
	}
	compiled, err := wanted.compile()
	if err != nil {
		return ui.Faulty(tooLong(err))
	}
	ref, err := client.DAGs().Run(ctx.Context, compiled, starter.DAGOptions{By: c.Operator()})
	if err != nil {
		return err
	}
	return ui.GoesOn(ref, c.follow(ctx, client, ref, chosen))
}

// tooLong removes the position from a fault, because the file is generated.
func tooLong(err error) error {
	if faults, ok := errors.AsType[spec.Faults](err); ok && len(faults) > 0 {
		return errors.New(faults[0].Message)
	}
	return err
}

// agreed requests a confirmation on a terminal, if the program is for several workers.
func (c *commands) agreed(ctx *cli.Context, wanted request) (bool, error) {
	if !c.Env.Terminal || ctx.Bool(flagYes) || ui.WantsData(ctx) || len(wanted.workers) < 2 {
		return true, nil
	}
	const shown = 6
	names := strings.Join(wanted.workers[:min(shown, len(wanted.workers))], ", ")
	if more := len(wanted.workers) - shown; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	c.Complain("run %s on %d workers: %s", strings.Join(wanted.command, " "), len(wanted.workers), names)
	return c.Confirm(ctx.Context, "run it?")
}

// follow prints the output of each worker as soon as its program has ended.
func (c *commands) follow(ctx *cli.Context, client *starter.Client, ref starter.RunRef, chosen selection) error {
	told := &teller{commands: c, quiet: ui.WantsData(ctx), done: map[string]Result{}}
	var last starter.Snapshot
	for snapshot, err := range client.Runs().Watch(ctx.Context, ref, 0) {
		if err != nil {
			return err
		}
		last = snapshot
		if err := told.update(ctx.Context, client, snapshot); err != nil && (!snapshot.Open() || ctx.Context.Err() != nil) {
			return err
		}
	}
	return c.sum(ctx, last, told, chosen)
}

func (c *commands) sum(ctx *cli.Context, last starter.Snapshot, told *teller, chosen selection) error {
	report := Report{Run: last.WorkflowID, Workers: slices.Collect(maps.Values(told.done))}
	for id, why := range chosen.absent {
		report.Workers = append(report.Workers, Result{Worker: id, State: stateAbsent, Error: why})
	}
	slices.SortFunc(report.Workers, func(a, b Result) int { return strings.Compare(a.Worker, b.Worker) })
	report.count()
	var err error
	if ui.WantsData(ctx) {
		err = c.Answer(ctx, report)
	} else {
		c.Complain("%s: %s", report.Run, report.text())
	}
	if err == nil && report.Failed > 0 {
		return ui.Silent(ui.ExitFailed)
	}
	return err
}

type teller struct {
	*commands
	quiet bool
	done  map[string]Result
}

func (t *teller) update(ctx context.Context, client *starter.Client, snapshot starter.Snapshot) error {
	items, _, err := client.Runs().Items(ctx, snapshot.RunRef, starter.ItemFilter{ID: taskID, Limit: starter.All})
	if err != nil {
		return err
	}
	for _, item := range items {
		worker := workerOf(item.ID)
		if _, known := t.done[worker]; known || !item.Ended() {
			continue
		}
		result, err := resultOf(ctx, client, item)
		if err != nil {
			return err
		}
		t.done[worker] = result
		if !t.quiet {
			t.print(result)
		}
	}
	return nil
}

func (t *teller) print(result Result) {
	for line := range strings.Lines(result.Output) {
		t.Print("%s: %s", result.Worker, strings.TrimRight(line, "\r\n"))
	}
	if result.State != stateCompleted {
		first, _, _ := strings.Cut(result.Error, "\n")
		t.Complain("%s: %s: %s", result.Worker, result.State, first)
	}
}
