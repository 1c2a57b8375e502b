package cli

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sync/errgroup"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/progress"
	"github.com/roundsman/roundsman/starter"
)

// watch follows runs until all have ended. The exit code tells whether every
// one completed.
func (c *commands) watch(ctx *cli.Context, client *starter.Client, interval time.Duration, refs ...starter.RunRef) error {
	var show func(starter.Snapshot) error
	if wantsJSON(ctx) {
		var mu sync.Mutex
		show = func(snapshot starter.Snapshot) error {
			mu.Lock()
			defer mu.Unlock()
			return printJSONLine(c.env.Stdout, snapshot)
		}
	} else {
		display := progress.New(c.env.Stdout, c.env.Terminal, c.env.Width, c.env.Now)
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
			for snapshot, err := range client.Watch(groupCtx, ref, interval) {
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
			return silent(ExitFailed)
		}
	}
	return nil
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// minInterval is how often a watching command looks at most: a look is several
// requests to the server.
const minInterval = 100 * time.Millisecond

func intervalFlag() cli.Flag {
	return &cli.DurationFlag{Name: flagInterval, Usage: "look every `DURATION`", Value: starter.DefaultWatchInterval}
}

func checkInterval(ctx *cli.Context) error {
	if interval := ctx.Duration(flagInterval); interval < minInterval {
		return usagef("--interval %s: must be at least %s", interval, minInterval)
	}
	return nil
}
