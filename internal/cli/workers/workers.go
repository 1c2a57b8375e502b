package workers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/workerview"
)

func (c *commands) workers() *cli.Command {
	return &cli.Command{
		Name: "workers", Usage: "list workers, their state and free slots",
		Description: `Of several labels a worker has all; K!=V is each worker without that label. roundsman workers cleanup removes those that
have been OFFLINE for long.

Examples:
  roundsman workers
  roundsman workers -l role=storage,rack!=r7
  roundsman workers -s OFFLINE -o name
  roundsman workers --output json | jq -r '.workers[].registration.host'`,
		Flags: ui.ListFlags(
			ui.StateFlag(strings.Join(states(), ", "), states()...),
			&cli.StringSliceFlag{Name: flagLabel, Aliases: []string{"l"}, Usage: "only with the labels `K=V,K!=V`"},
		),
		Before: func(ctx *cli.Context) error {
			_, _, err := filterOf(ctx)
			return err
		},
		Action:      c.Connected(c.list),
		Subcommands: []*cli.Command{c.cleanup()},
	}
}

func states() []string {
	return ui.Names([]contract.WorkerState{
		contract.WorkerOnline, contract.WorkerUnreachable, contract.WorkerOffline, contract.WorkerDraining, contract.WorkerCordoned, contract.WorkerDeleted,
	}, func(state contract.WorkerState) string { return string(state) })
}

func filterOf(ctx *cli.Context) (only []string, labels selector, err error) {
	only, err = ui.States(ctx)
	if err != nil {
		return nil, nil, err
	}
	labels, err = readSelector(ctx.StringSlice(flagLabel))
	return only, labels, err
}

func (c *commands) list(ctx *cli.Context, client *starter.Client) error {
	only, labels, err := filterOf(ctx)
	if err != nil {
		return err
	}
	registry, err := client.Workers().Registry(ctx.Context, contract.WorkersQueryInput{Deleted: slices.Contains(only, string(contract.WorkerDeleted))})
	if err != nil {
		return err
	}
	if registry.Incomplete {
		c.Complain("%s: the worker registry is new: living workers may not have registered yet; try again in a moment", c.Env.Own.Name())
	}
	registry.Workers = slices.DeleteFunc(registry.Workers, func(w contract.WorkerDetail) bool {
		return len(only) > 0 && !slices.Contains(only, string(w.State)) || !labels.has(w.Registration.Labels)
	})
	loads, err := workerview.Loads(ctx.Context, client, registry.Workers)
	if err != nil {
		c.Complain("%s: slots in use are not known: %v", c.Env.Own.Name(), err)
	}
	listed := workerview.ListedWorkers(registry.Workers, loads)
	if ui.WantsData(ctx) {
		return c.Answer(ctx, map[string]any{"workers": listed, "incomplete": registry.Incomplete},
			ui.Names(listed, func(worker workerview.ListedWorker) string { return worker.Registration.ID })...)
	}
	if len(listed) == 0 && (len(labels) > 0 || len(only) > 0) {
		c.Remark("no worker matches")
		return nil
	}
	c.printWorkers(listed)
	return nil
}

const flagLabel = "label"

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
	return strings.Join(lists.Map(ui.SortedKeys(labels), func(key string) string { return key + "=" + labels[key] }), ",")
}

// Operate changes the mode of a worker, or removes it.
func Operate(p *ui.Program, ctx *cli.Context, client *starter.Client, id string, action starter.WorkerAction) error {
	after, err := client.Workers().Operate(ctx.Context, id, action, p.Operator(), ctx.String(ui.FlagReason))
	if err != nil {
		return err
	}
	if action != starter.ActionRemove {
		// The worker starts or stops its shared queues itself. Without an answer now it does so within a minute.
		_, _ = client.Workers().Refresh(ctx.Context, id)
	}
	return p.Done(ctx, after, "%s", operated(after))
}

func (c *commands) cleanup() *cli.Command {
	return &cli.Command{
		Name: "cleanup", Hidden: true, Usage: "remove workers that have been OFFLINE for long from the registry",
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
