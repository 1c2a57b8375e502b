package runs

import (
	"sync"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sync/errgroup"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/progress"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
)

// WaitJSON waits for a run and prints its result as one object.
func WaitJSON(c *ui.Program, ctx *cli.Context, client *starter.Client, ref starter.RunRef) error {
	result, err := client.Runs().Result(ctx.Context, ref)
	if err != nil {
		return err
	}
	if err := ui.PrintJSON(c.Env.Stdout, struct {
		starter.RunRef
		contract.JobGroupResult
	}{ref, result}); err != nil {
		return err
	}
	if result.Outcome != contract.OutcomeCompleted {
		return ui.Silent(ui.ExitFailed)
	}
	return nil
}

// Watch follows runs until all have ended. The exit code tells whether every
// one completed.
func Watch(c *ui.Program, ctx *cli.Context, client *starter.Client, interval time.Duration, refs ...starter.RunRef) error {
	var show func(starter.Snapshot) error
	if ui.WantsJSON(ctx) {
		var mu sync.Mutex
		show = func(snapshot starter.Snapshot) error {
			mu.Lock()
			defer mu.Unlock()
			return ui.PrintJSONLine(c.Env.Stdout, snapshot)
		}
	} else {
		display := progress.New(c.Env.Stdout, c.Env.Terminal, c.Env.Width, c.Env.Now)
		defer display.Close()
		show = func(snapshot starter.Snapshot) error {
			display.Update(snapshot)
			return nil
		}
	}
	last := make([]starter.Snapshot, len(refs))
	group, groupCtx := errgroup.WithContext(ctx.Context)
	for i, ref := range refs {
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
	for _, snapshot := range last {
		if snapshot.Outcome != contract.OutcomeCompleted {
			return ui.Silent(ui.ExitFailed)
		}
	}
	return nil
}

// watchAll follows runs of both kinds at the same time.
func (c *commands) watchAll(ctx *cli.Context, client *starter.Client, refs []starter.RunRef) error {
	var groups []starter.RunRef
	var following errgroup.Group
	for _, ref := range refs {
		if ref.Kind() == starter.KindDAG {
			following.Go(func() error { return c.dags.Watch(ctx, client, ref, len(refs) > 1) })
		} else {
			groups = append(groups, ref)
		}
	}
	if len(groups) > 0 {
		following.Go(func() error {
			return Watch(c.Program, ctx, client, ctx.Duration(ui.FlagInterval), groups...)
		})
	}
	return following.Wait()
}
