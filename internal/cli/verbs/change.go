package verbs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/dag"
	typecli "github.com/roundsman/roundsman/internal/cli/jobtypes"
	"github.com/roundsman/roundsman/internal/cli/runs"
	"github.com/roundsman/roundsman/internal/cli/target"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/cli/workers"
	"github.com/roundsman/roundsman/internal/engine/ref"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/explainer"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

func holdable() target.Accepts {
	return target.Accepts{Named: []ref.Kind{ref.JobType, ref.Worker}, Runs: true, Changes: true}
}

func (c *commands) pause() *cli.Command {
	return &cli.Command{
		Name: "pause", ArgsUsage: "REF...", Usage: "start nothing new: job type, run or worker",
		Description: `Running jobs continue. A name is the job type or the worker; NAME@ is the open run of a job type. The command
fails if the run already has its outcome.

Examples:
  roundsman pause scrub -r "disk swap"
  roundsman pause scrub@
  roundsman pause node-a -r "slow disk"`,
		Flags: ui.With(ui.ReasonFlag()),
		Action: target.On(c.Program, holdable(), func(ctx *cli.Context, client *starter.Client, t target.Target) (target.Effect, error) {
			switch {
			case t.Kind == ref.Worker:
				return target.Act(t.Name, func() error { return workers.Operate(c.Program, ctx, client, t.Name, starter.ActionCordon) }).Uses(ui.FlagReason), nil
			case t.IsRun():
				return target.Act(t.Run.WorkflowID, func() error { return runs.Pause(c.Program, ctx, client, t.Run) }).Uses(ui.FlagReason), nil
			}
			if known, err := jobtypes.Of(client).Get(ctx.Context, t.Name); err == nil {
				for _, run := range known.Running {
					open := ref.OfRun(run.WorkflowID)
					c.Complain("note: %s continues; to pause it: roundsman pause %s", open, open)
				}
			}
			return target.Act(t.Name, func() error { return typecli.Pause(c.Program, ctx, client, t.Name) }).Uses(ui.FlagReason), nil
		}),
	}
}

const (
	holdPause   = "pause"
	holdBudget  = "budget"
	holdFailure = "failure"
	holdDone    = "done"
	holdAll     = "all"
)

func (c *commands) resume() *cli.Command {
	a := holdable()
	a.Keys = true
	return &cli.Command{
		Name: "resume", ArgsUsage: "REF...", Usage: "lift a pause or another hold",
		Description: `A job type can be paused, or disabled by its retry budget. A run can be paused, or held after a failure. A worker can be
paused. TYPE:KEY forgets the failures of a dedupe key, and a mark as done. If several holds are on one REF, --kind says
which: pause or budget of a job type, pause or failure of a run, budget or done of a key, or all.

Examples:
  roundsman resume scrub
  roundsman resume scrub --kind budget
  roundsman resume scrub@
  roundsman resume node-a
  roundsman resume scrub:/srv/a.bin`,
		Flags: ui.With(&cli.StringFlag{Name: flagKind, Usage: "only the hold of `KIND`: pause, budget, done, failure or all"}, ui.ReasonFlag()),
		Before: func(ctx *cli.Context) error {
			switch kind := ctx.String(flagKind); kind {
			case "", holdPause, holdBudget, holdFailure, holdDone, holdAll:
				return nil
			default:
				return ui.Usagef("--kind %s: must be pause, budget, done, failure or all", kind)
			}
		},
		Action: target.On(c.Program, a, func(ctx *cli.Context, client *starter.Client, t target.Target) (target.Effect, error) {
			if err := checkKind(t, ctx.String(flagKind)); err != nil {
				return target.Effect{}, err
			}
			switch {
			case t.IsKey() && ctx.String(flagKind) == holdBudget:
				return target.Act(t.Text, func() error { return typecli.ReEnable(c.Program, ctx, client, t.Parsed.Name, t.Parsed.Key) }).Uses(flagKind), nil
			case t.IsKey():
				return target.Act(t.Text, func() error { return runs.Forgive(c.Program, ctx, client, t.Parsed.Name, t.Parsed.Key) }).Uses(flagKind), nil
			case t.Kind == ref.Worker:
				return target.Act(t.Name, func() error { return workers.Operate(c.Program, ctx, client, t.Name, starter.ActionUncordon) }).Uses(ui.FlagReason, flagKind), nil
			case t.IsRun():
				return c.resumeRun(ctx, client, t.Run)
			}
			return c.resumeType(ctx, client, t.Name)
		}),
	}
}

func checkKind(t target.Target, kind string) error {
	what, kinds := "a job type", []string{holdPause, holdBudget}
	switch {
	case t.IsKey():
		what, kinds = "a key", []string{holdBudget, holdDone}
	case t.Kind == ref.Worker:
		what, kinds = "a worker", []string{holdPause}
	case t.IsRun():
		what, kinds = "a run", []string{holdPause, holdFailure}
	}
	if kind == "" || kind == holdAll || slices.Contains(kinds, kind) {
		return nil
	}
	return ui.Usagef("--kind %s: the kinds of %s are %s and %s", kind, what, strings.Join(kinds, ", "), holdAll)
}

// resumeRun lifts the pause of a run, or lets one end that is held after a failure.
func (c *commands) resumeRun(ctx *cli.Context, client *starter.Client, run starter.RunRef) (target.Effect, error) {
	kind := ctx.String(flagKind)
	if (kind == "" || kind == holdAll) && run.Kind() == starter.KindDAG {
		shown, err := client.Runs().Show(ctx.Context, run)
		if err != nil {
			return target.Effect{}, err
		}
		kind, err = kindOfRun(ref.OfRun(run.WorkflowID), kind, shown.Paused, shown.Phase == contract.PhaseHeld)
		if err != nil {
			return target.Effect{}, err
		}
	}
	pause := target.Act(run.WorkflowID, func() error { return runs.Resume(c.Program, ctx, client, run) }).Uses(flagKind)
	failure := target.Act(run.WorkflowID, func() error { return dag.Release(c.Program, ctx, client, run) }).Uses(flagKind)
	switch {
	case kind == holdAll && run.Kind() == starter.KindDAG:
		lift := failure.Do
		failure.Do = func() error {
			if err := pause.Do(); err != nil {
				return err
			}
			return lift()
		}
		return failure, nil
	case kind == holdFailure:
		return failure, nil
	}
	return pause, nil
}

func kindOfRun(id, kind string, paused, held bool) (string, error) {
	switch {
	case paused && held && kind == "":
		return "", twoHolds(id, holdPause, holdFailure)
	case paused && held:
		return kind, nil
	case held:
		return holdFailure, nil
	}
	return holdPause, nil
}

// twoHolds refuses to guess which hold is meant.
func twoHolds(name, first, second string) error {
	return starter.Invalidf("%s has two holds, write one of:\n  roundsman resume %s --kind %s\n  roundsman resume %s --kind %s", name, name, first, name, second)
}

func (c *commands) resumeType(ctx *cli.Context, client *starter.Client, name string) (target.Effect, error) {
	kind := ctx.String(flagKind)
	if kind == "" || kind == holdAll {
		known, err := jobtypes.Of(client).Get(ctx.Context, name)
		if err != nil {
			return target.Effect{}, err
		}
		types := []jobtypes.JobType{known}
		c.Note(jobtypes.Of(client).AddHolds(ctx.Context, types))
		switch known = types[0]; {
		case known.Paused && known.HeldBack != nil && kind == holdAll:
			return target.Act(name, func() error {
				if err := typecli.Resume(c.Program, ctx, client, name); err != nil {
					return err
				}
				return typecli.ReEnable(c.Program, ctx, client, name, "")
			}).Uses(flagKind), nil
		case known.Paused && known.HeldBack != nil:
			return target.Effect{}, twoHolds(name, holdPause, holdBudget)
		case known.HeldBack != nil:
			kind = holdBudget
		}
	}
	if kind == holdBudget {
		return target.Act(name, func() error { return typecli.ReEnable(c.Program, ctx, client, name, "") }).Uses(flagKind), nil
	}
	return target.Act(name, func() error { return typecli.Resume(c.Program, ctx, client, name) }).Uses(flagKind), nil
}

func (c *commands) decide(name, usage, reason string, decide func(*ui.Program, *cli.Context, *starter.Client, starter.ItemRef) error) *cli.Command {
	return &cli.Command{
		Name: name, ArgsUsage: "RUN/TASK...", Usage: usage,
		Description: `A RUN without a task is refused, with one line for each of its tasks that waits for a person, sub-DAGs included.

Examples:
  roundsman ` + name + ` nightly/gate
  roundsman ` + name + ` nightly@december/sub/gate -r "` + reason + `"`,
		Flags: ui.With(ui.ReasonFlag()),
		Action: target.On(c.Program, target.Accepts{Items: true, Runs: true, Changes: true}, func(ctx *cli.Context, client *starter.Client, t target.Target) (target.Effect, error) {
			if !t.IsItem() {
				return target.Effect{}, openApprovals(ctx.Context, client, name, t.Run)
			}
			return target.Act(t.Item.String(), func() error { return decide(c.Program, ctx, client, t.Item) }).Uses(ui.FlagReason), nil
		}),
	}
}

func openApprovals(ctx context.Context, client *starter.Client, verb string, run starter.RunRef) error {
	explained, err := explainer.Explain(ctx, client, run.WorkflowID)
	if err != nil {
		return err
	}
	var lines strings.Builder
	for _, reason := range explained.Reasons {
		if reason.Code == contract.CodeApproval {
			fmt.Fprintf(&lines, "\n  roundsman %s %s/%s  %s", verb, cmp.Or(reason.Of, run.WorkflowID), reason.Object, ui.OneLine(reason.Detail))
		}
	}
	if lines.Len() == 0 {
		return &starter.RefusedError{Asked: ref.OfRun(run.WorkflowID), Reason: "no task of it waits for a person"}
	}
	return starter.Invalidf("%s is a run, write one of:%s", ref.OfRun(run.WorkflowID), lines.String())
}

func (c *commands) skip() *cli.Command {
	return &cli.Command{
		Name: "skip", ArgsUsage: "REF...", Usage: "count a task or a key as done without running it",
		Description: `RUN/TASK that has not started, failed or was blocked counts as done; the tasks that it blocked continue. Detections
leave TYPE:KEY out for a time; a job of it that waits ends as canceled.

Examples:
  roundsman skip nightly/report -r "not needed today"
  roundsman skip scrub:/srv/a.bin --for 7d`,
		Flags: ui.With(
			&cli.StringFlag{Name: runs.FlagFor, Usage: "leave a key out for `DURATION`, 1s to 365d", Value: "24h"}, ui.ReasonFlag(),
		),
		Action: target.On(c.Program, target.Accepts{Items: true, Keys: true, Changes: true}, func(ctx *cli.Context, client *starter.Client, t target.Target) (target.Effect, error) {
			if t.IsKey() {
				return target.Act(t.Text, func() error { return runs.MarkDone(c.Program, ctx, client, t.Parsed.Name, t.Parsed.Key) }).Uses(runs.FlagFor), nil
			}
			return target.Act(t.Item.String(), func() error { return dag.Skip(c.Program, ctx, client, t.Item) }).Uses(ui.FlagReason), nil
		}),
	}
}

func (c *commands) set() *cli.Command {
	return &cli.Command{
		Name: "set", ArgsUsage: "REF [KEY=VALUE...]", Usage: "change settings: job type, run, worker, pool",
		Description: `A job type keeps a setting until the next apply, a run until it ends. --restore puts back the settings that a job type
had before the entry SEQ of the audit log, or before its last change. -f adds the tasks in FILE to an open run of a DAG.

Examples:
  roundsman set scrub every=30m retry_limit=3
  roundsman set scrub --restore last
  roundsman set scrub@ global_execution_concurrency=8
  roundsman set nightly@ -f extra.yaml
  roundsman set node-a max_execute=8
  roundsman set node-a max_execute=
  roundsman set pool/db size=10`,
		Flags: ui.With(
			ui.FileFlag("add the tasks in `FILE` to a run of a DAG"),
			&cli.StringFlag{Name: flagRestore, Usage: "restore the settings before audit entry `SEQ`, or last"}, ui.ReasonFlag(),
		),
		Before: func(ctx *cli.Context) error {
			if ctx.Args().Len() > 1 || ctx.IsSet(ui.FlagFile) || ctx.IsSet(flagRestore) {
				return nil
			}
			return noSetting(ctx)
		},
		Action: c.Connected(func(ctx *cli.Context, client *starter.Client) error {
			t, err := target.Accepts{Named: []ref.Kind{ref.JobType, ref.Worker, ref.Pool}, Runs: true, Changes: true}.Resolve(ctx.Context, client, ctx.Args().First())
			if err != nil {
				return err
			}
			effect, err := c.setTarget(ctx, client, t)
			if err != nil {
				return err
			}
			return effect.Run(ctx)
		}),
	}
}

func noSetting(ctx *cli.Context) error {
	return ui.Usagef("KEY=VALUE is missing: see %s --help", ui.HelpName(ctx))
}

func (c *commands) setTarget(ctx *cli.Context, client *starter.Client, t target.Target) (target.Effect, error) {
	given, restore := ctx.Args().Tail(), ctx.String(flagRestore)
	switch {
	case t.IsRun() && ctx.IsSet(ui.FlagFile):
		return target.Act(t.Run.WorkflowID, func() error { return dag.AddTasks(c.Program, ctx, client, t.Run, ctx.String(ui.FlagFile)) }).Uses(ui.FlagFile), nil
	case t.Kind == ref.JobType && restore != "":
		return target.Act(t.Name, func() error { return typecli.Restore(c.Program, ctx, client, t.Name, restore) }).Uses(flagRestore), nil
	case len(given) == 0:
		return target.Effect{}, noSetting(ctx)
	case t.IsRun():
		return target.Act(t.Run.WorkflowID, func() error { return runs.Set(c.Program, ctx, client, t.Run, given) }), nil
	case t.Kind == ref.JobType && slices.ContainsFunc(given, hasNoValue):
		without := given[slices.IndexFunc(given, hasNoValue)]
		return target.Effect{}, ui.Usagef("%s has no value; to put back the value before the last change: roundsman set %s --restore last", without, t.Name)
	case t.Kind == ref.JobType:
		return target.Act(t.Name, func() error { return typecli.Set(c.Program, ctx, client, t.Name, given) }), nil
	case t.Kind == ref.Pool:
		return target.Act(t.Name, func() error { return workers.ResizePool(c.Program, ctx, client, t.Name, given) }), nil
	}
	return target.Act(t.Name, func() error { return workers.Resize(c.Program, ctx, client, t.Name, given) }).Uses(ui.FlagReason), nil
}

func hasNoValue(pair string) bool {
	_, value, ok := strings.Cut(pair, "=")
	return ok && value == ""
}
