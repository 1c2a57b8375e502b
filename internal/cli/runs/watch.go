package runs

import (
	"fmt"
	"sync"

	"github.com/urfave/cli/v2"
	"golang.org/x/sync/errgroup"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/progress"
	"github.com/roundsman/roundsman/internal/cli/target"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
)

// maxWatched bounds the runs that are followed at once. Each sends a few requests a second to the server.
const maxWatched = 20

func (c *commands) watch() *cli.Command {
	return &cli.Command{
		Name: "watch", ArgsUsage: "[REF...]", Usage: "follow runs until they end; without REF, the open ones",
		Description: `On a terminal there is a live bar per run, in a pipe a line now and then; with --output json a line each. The
exit code is 0 only if all completed. Without REF the newest 20 are followed; if more are open, the exit code is 1.
Ctrl-C ends the watching, not the run.

Examples:
  roundsman watch
  roundsman watch scrub
  roundsman watch scrub nightly@december
  roundsman watch scrub --output json | jq -c .counts`,
		Flags: ui.With(),
		Action: c.Connected(func(ctx *cli.Context, client *starter.Client) error {
			chosen, err := c.watchedRuns(ctx, client)
			if err != nil {
				return err
			}
			if len(chosen) == 0 {
				c.Complain("nothing is running")
				return nil
			}
			return Watch(c.Program, ctx, client, chosen...)
		}),
	}
}

func (c *commands) watchedRuns(ctx *cli.Context, client *starter.Client) (chosen []starter.RunRef, err error) {
	if ctx.Args().Len() > 0 {
		err = target.Each(c.Program, ctx, func(text string) error {
			t, err := target.Accepts{Runs: true}.Resolve(ctx.Context, client, text)
			chosen = append(chosen, t.Run)
			return err
		})
		return chosen, err
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
func Watch(c *ui.Program, ctx *cli.Context, client *starter.Client, chosen ...starter.RunRef) error {
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
			Terminal: c.Env.Terminal, Width: c.Env.Width, Now: c.Env.Now, Own: c.Env.Own,
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
			for snapshot, err := range client.Runs().Watch(groupCtx, ref, 0) {
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
