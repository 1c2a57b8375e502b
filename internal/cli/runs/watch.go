package runs

import (
	"fmt"
	"sync"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sync/errgroup"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/progress"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/refs"
)

// maxWatched bounds the runs that are followed at once. Each sends a few requests a second to the server.
const maxWatched = 20

func (c *commands) runsWatch() *cli.Command {
	return &cli.Command{
		Name: "watch", ArgsUsage: "[RUN...]", Usage: "follow runs until they end",
		Description: runArgument + `
Without one, the newest open runs are followed, at most 20; if there are more, the exit code is 1.

On a terminal there is a live bar per run, in a pipe a line now and then; with --output json a
line of JSON per look. The exit code is 0 only if every run completed.

Examples:
  roundsman watch
  roundsman watch scrub
  roundsman watch rolling-maintenance
  roundsman watch group/scrub-2026-11-20T09:00:00Z | tee scrub.log
  roundsman watch scrub --output json | jq -c .counts`,
		Flags:  ui.With(ui.IntervalFlag()),
		Before: ui.CheckInterval,
		Action: c.Connected(func(ctx *cli.Context, client *starter.Client) error {
			chosen, err := c.watchedRuns(ctx, client)
			if err != nil {
				return err
			}
			if len(chosen) == 0 {
				c.Complain("nothing is running")
				return nil
			}
			return Watch(c.Program, ctx, client, ctx.Duration(ui.FlagInterval), chosen...)
		}),
	}
}

func (c *commands) watchedRuns(ctx *cli.Context, client *starter.Client) ([]starter.RunRef, error) {
	var chosen []starter.RunRef
	for _, arg := range ctx.Args().Slice() {
		ref, err := refs.Of(client).Run(ctx.Context, arg)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, ref)
	}
	if len(chosen) > 0 {
		return chosen, nil
	}
	runs, err := client.Runs().List(ctx.Context, starter.RunFilter{Running: true, Limit: maxWatched + 1})
	for _, run := range c.bounded(runs) {
		chosen = append(chosen, starter.RunRef{WorkflowID: run.WorkflowID})
	}
	return chosen, err
}

// bounded reports how many runs are followed if there are too many.
func (c *commands) bounded(runs []starter.Run) []starter.Run {
	if len(runs) > maxWatched {
		runs = runs[:maxWatched]
		c.Incomplete(fmt.Sprintf("more than %d runs are open: only the newest are followed; name the others, which `roundsman runs -s open --limit 0` lists", maxWatched))
	}
	return runs
}

// WaitJSON waits for a run and prints its result as one object.
func WaitJSON(c *ui.Program, ctx *cli.Context, client *starter.Client, ref starter.RunRef) error {
	result, err := client.Runs().Result(ctx.Context, ref)
	if err != nil {
		return err
	}
	if err := c.Answer(ctx, struct {
		starter.RunRef
		contract.JobGroupResult
	}{ref, result}); err != nil {
		return err
	}
	return ui.Silent(ui.ExitOf(result.Outcome, result.Counts.Warning))
}

// Watch follows runs until all have ended. The exit code is the worst of all runs.
func Watch(c *ui.Program, ctx *cli.Context, client *starter.Client, interval time.Duration, chosen ...starter.RunRef) error {
	var show func(starter.Snapshot) error
	if ui.WantsData(ctx) {
		var mu sync.Mutex
		show = func(snapshot starter.Snapshot) error {
			mu.Lock()
			defer mu.Unlock()
			return c.AnswerPart(ctx, snapshot)
		}
	} else {
		display := progress.New(c.Env.Stdout, progress.Options{
			Terminal: c.Env.Terminal, Width: c.Env.Width, Now: c.Env.Now,
			Items: len(chosen) == 1 && chosen[0].Kind() == starter.KindDAG,
		})
		defer display.Close()
		show = func(snapshot starter.Snapshot) error {
			display.Update(snapshot)
			return nil
		}
	}
	last := make([]starter.Snapshot, len(chosen))
	group, groupCtx := errgroup.WithContext(ctx.Context)
	for i, ref := range chosen {
		group.Go(func() error {
			for snapshot, err := range client.Runs().Watch(groupCtx, ref, interval) {
				if err != nil {
					return err
				}
				last[i] = snapshot
				if err := show(snapshot); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	code := ui.ExitOK
	for _, snapshot := range last {
		code = ui.Worse(code, ui.ExitOf(snapshot.Outcome, snapshot.Counts[contract.JobWarning]))
	}
	return ui.Silent(code)
}
