package workers

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/workerview"
)

func (c *commands) workersCommand() *cli.Command {
	return &cli.Command{
		Name: "workers", Usage: "list, show and operate the worker processes",
		Subcommands: []*cli.Command{
			c.workersList(), c.workersShow(),
			c.workersDrain(),
			c.workersAct(starter.ActionCordon, "take no new work; running jobs may finish"),
			c.workersAct(starter.ActionUncordon, "take work again after drain or cordon"),
			c.workersAct(starter.ActionRemove, "take it out of the registry; a living one registers again"),
			c.workersResize(), c.workersCleanup(),
		},
	}
}

func (c *commands) workersList() *cli.Command {
	return &cli.Command{
		Name: "list", Aliases: []string{"ls"}, Usage: "list workers, their state and slots",
		Description: `Examples:
  roundsman workers
  roundsman workers --sort -executing --limit 10
  roundsman workers -s ONLINE --output json | jq -r '.workers[].registration.host'

AGE is for how long it has been in its state; DETECT and EXECUTE are slots in use and in all, as the
worker said with its last heartbeat.`,
		Flags: ui.ListFlags(workerSorting().Flags(
			&cli.BoolFlag{Name: "online", Usage: "only workers that are ONLINE"},
			&cli.BoolFlag{Name: "deleted", Usage: "also deleted ones"},
			&cli.StringSliceFlag{Name: flagLabel, Aliases: []string{"l"}, Usage: "only workers with the labels `K=V,K!=V`"},
			&cli.StringSliceFlag{Name: flagOnlyState, Usage: "only workers in `STATE`; may be given several times"},
		)...),
		Before: func(ctx *cli.Context) error {
			_, err := readSelector(ctx.StringSlice(flagLabel))
			return err
		},
		Action: c.Connected(func(ctx *cli.Context, client *starter.Client) error {
			labels, err := readSelector(ctx.StringSlice(flagLabel))
			if err != nil {
				return err
			}
			registry, err := client.Workers().Registry(ctx.Context, contract.WorkersQueryInput{Online: ctx.Bool("online"), Deleted: ctx.Bool("deleted")})
			if err != nil {
				return err
			}
			if registry.Incomplete {
				c.Complain("%s: the worker registry is new: living workers may not have registered yet; try again in a moment", c.Env.Own.Name())
			}
			only := ctx.StringSlice(flagOnlyState)
			registry.Workers = slices.DeleteFunc(registry.Workers, func(w contract.WorkerDetail) bool {
				return len(only) > 0 && !slices.Contains(only, string(w.State)) || !labels.has(w.Registration.Labels)
			})
			loads, err := workerview.Loads(ctx.Context, client, registry.Workers)
			if err != nil {
				c.Complain("%s: slots in use are not known: %v", c.Env.Own.Name(), err)
			}
			listed := workerSorting().Arrange(ctx, workerview.ListedWorkers(registry.Workers, loads))
			if ui.WantsData(ctx) {
				return c.Answer(ctx, map[string]any{"workers": listed, "incomplete": registry.Incomplete}, ui.Names(listed, idOf)...)
			}
			if len(listed) == 0 && (len(labels) > 0 || len(only) > 0) {
				c.Remark("no worker matches")
				return nil
			}
			c.printWorkers(listed)
			c.More(len(listed), len(registry.Workers))
			return nil
		}),
	}
}

const (
	// flagOnlyState carries the --state of the verb.
	flagOnlyState = "only-state"
	flagLabel     = "label"
)

func idOf(worker workerview.ListedWorker) string { return worker.Registration.ID }

func workerSorting() ui.Sorting[workerview.ListedWorker] {
	type worker = workerview.ListedWorker
	load := func(w worker) workerview.WorkerLoad {
		if w.Load == nil {
			return workerview.WorkerLoad{}
		}
		return *w.Load
	}
	return ui.Sorting[worker]{
		ui.By("id", idOf),
		ui.By("state", func(w worker) string { return string(w.State) }),
		ui.ByTime("since", func(w worker) time.Time { return w.Since }),
		ui.ByTime("beat", func(w worker) time.Time { return w.LastBeat }),
		ui.By("detecting", func(w worker) int { return load(w).Detecting }),
		ui.By("executing", func(w worker) int { return load(w).Executing }),
		ui.By("free", func(w worker) int { return w.Caps.MaxExecute - load(w).Executing }),
		ui.By("host", func(w worker) string { return w.Registration.Host }),
		ui.By("version", func(w worker) string { return w.Registration.Version }),
		ui.ByTime("registered", func(w worker) time.Time { return w.RegisteredAt }),
	}
}

func (c *commands) printWorkers(workers []workerview.ListedWorker) {
	now, listed := c.Env.Now(), ui.NewTable("WORKER", "STATE", "AGE", "LAST BEAT", "DETECT", "EXECUTE", "HOST", "VERSION", "LABELS", "+HANDLERS", "+REGISTERED")
	for _, worker := range workers {
		known := worker.Registration
		detecting, executing := "-", "-"
		if worker.Load != nil {
			detecting, executing = fmt.Sprint(worker.Load.Detecting), fmt.Sprint(worker.Load.Executing)
		}
		listed.Add(ui.Textf("%s", known.ID), State(worker.WorkerDetail), ui.Text(ui.Span(max(now.Sub(worker.Since), 0))), ui.Text(lastBeat(worker.WorkerDetail, now)),
			ui.Textf("%s/%d", detecting, worker.Caps.MaxDetect), ui.Textf("%s/%d", executing, worker.Caps.MaxExecute),
			ui.Textf("%s pid %d", known.Host, known.PID), ui.Text(known.Version), ui.Textf("%s", labelsOf(known.Labels)), ui.Textf("%s", handlersOf(known)), ui.Text(ui.Stamp(worker.RegisteredAt)))
	}
	c.PrintTable(listed, "no workers: start one with `roundsman worker --id NAME`")
}

// State is the state of a worker as lists show it.
func State(worker contract.WorkerDetail) ui.Cell {
	switch worker.State {
	case contract.WorkerOnline:
		if !worker.Fresh {
			return ui.Cell{Text: "ONLINE, not fresh", Paint: ui.Odd}
		}
		if worker.Trouble != nil {
			return ui.Cell{Text: "ONLINE, " + string(worker.Trouble.Code), Paint: ui.Bad}
		}
		return ui.Cell{Text: "ONLINE", Paint: ui.Good}
	case contract.WorkerOffline, contract.WorkerUnreachable:
		return ui.Cell{Text: string(worker.State) + whileAway(worker), Paint: ui.Bad}
	case contract.WorkerDraining, contract.WorkerCordoned, contract.WorkerDeleted:
		return ui.Cell{Text: string(worker.State), Paint: ui.Odd}
	}
	return ui.Textf("%s", worker.State)
}

// The process of an absent worker may still end its attempts, and the operator's request stays.
func whileAway(worker contract.WorkerDetail) string {
	text := ""
	if worker.Leaving {
		text = ", leaving"
	}
	if worker.Mode != "" {
		text += ", " + worker.Mode
	}
	return text
}

// A request for an absent worker takes effect when the worker is back.
func operated(worker contract.WorkerDetail) string {
	text := fmt.Sprintf("%s is %s", worker.Registration.ID, worker.State)
	switch {
	case worker.State == contract.WorkerDeleted || worker.State == contract.WorkerOnline || string(worker.State) == strings.ToUpper(worker.Mode):
		return text
	case worker.Mode == "":
		return text + ", and will be ONLINE when it is back"
	}
	return text + ", and will be " + strings.ToUpper(worker.Mode) + " when it is back"
}

func handlersOf(registration contract.WorkerRegistration) string {
	names := make([]string, len(registration.Capabilities))
	for i, capability := range registration.Capabilities {
		names[i] = capability.Handler
		if !capability.Detect || !capability.Execute {
			names[i] += map[bool]string{true: " (detect)", false: " (execute)"}[capability.Detect]
		}
	}
	return strings.Join(names, ", ")
}

func labelsOf(labels map[string]string) string {
	parts := make([]string, 0, len(labels))
	for _, key := range ui.SortedKeys(labels) {
		parts = append(parts, key+"="+labels[key])
	}
	return strings.Join(parts, ",")
}

func (c *commands) workersAct(action starter.WorkerAction, usage string) *cli.Command {
	return &cli.Command{
		Name: string(action), ArgsUsage: "WORKER", Usage: usage,
		Description: fmt.Sprintf("Examples:\n  roundsman workers %s node-a\n  roundsman workers %s node-a --reason \"new disks\"", action, action),
		Flags:       ui.With(&cli.StringFlag{Name: ui.FlagReason, Usage: "`TEXT` to keep in the worker's history"}),
		Action: c.Named(func(ctx *cli.Context, client *starter.Client, id string) error {
			after, err := client.Workers().Operate(ctx.Context, id, action, c.Operator(), ctx.String(ui.FlagReason))
			if err != nil {
				return err
			}
			if action != starter.ActionRemove {
				// The worker starts or stops its shared queues itself. Without an answer now it does so within
				// a minute.
				_, _ = client.Workers().Refresh(ctx.Context, id)
			}
			return c.Done(ctx, after, "%s", operated(after))
		}),
	}
}

func (c *commands) workersCleanup() *cli.Command {
	return &cli.Command{
		Name: "cleanup", Usage: "remove workers that have been OFFLINE for long from the registry",
		Description: `Examples:
  roundsman workers cleanup
  roundsman workers cleanup --offline --dry-run`,
		Flags: ui.With(&cli.BoolFlag{Name: "offline", Aliases: []string{"all-offline"}, Usage: "every worker that is OFFLINE, however short"}, ui.DryRunFlag()),
		Action: c.Connected(func(ctx *cli.Context, client *starter.Client) error {
			removed, err := c.cleanUp(ctx, client)
			switch {
			case err != nil:
				return err
			case len(removed.Removed) == 0:
				return c.Done(ctx, removed, "nothing to remove")
			case removed.DryRun:
				return c.Done(ctx, removed, "would remove %s", strings.Join(removed.Removed, ", "))
			}
			return c.Done(ctx, removed, "removed %s", strings.Join(removed.Removed, ", "))
		}),
	}
}

func (c *commands) cleanUp(ctx *cli.Context, client *starter.Client) (starter.RemovedWorkers, error) {
	if ctx.Bool(ui.FlagDryRun) {
		return client.Workers().PreviewCleanup(ctx.Context, ctx.Bool("offline"))
	}
	return client.Workers().Cleanup(ctx.Context, ctx.Bool("offline"), c.Operator())
}
