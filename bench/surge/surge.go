// Package surge measures a fleet whose workers all start or die at once, and the
// registry next to many DAGs that begin at once.
package surge

import (
	"context"
	"fmt"
	"os/exec"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
)

// limit bounds the wait of a measurement for the registry.
const limit = 3 * time.Minute

// Fleet is a process with many workers.
type Fleet struct {
	Temporal client.Client
	Size     int
	Spawn    func() (*exec.Cmd, error)
}

// Times are seconds since the start or the kill of the process.
type Times struct {
	// Online: all are registered. Started: all beat as well, so they get work. Noticed: the registry shows none of the
	// killed workers as beating. Restarted: all beat again with their ids.
	Online, Started, Noticed, Restarted float64
}

// Measure starts the fleet, kills its process with SIGKILL and starts it again.
func (f Fleet) Measure(ctx context.Context) (Times, error) {
	var times Times
	process, err := f.start(ctx, &times.Online, &times.Started)
	if err != nil {
		return times, err
	}
	killed := time.Now()
	if err := process.Process.Kill(); err != nil {
		return times, err
	}
	_ = process.Wait() // It was killed.
	if err := f.await(ctx, func(_, fresh int) bool { return fresh == 0 }); err != nil {
		return times, err
	}
	times.Noticed = time.Since(killed).Seconds()
	_, err = f.start(ctx, new(float64), &times.Restarted)
	return times, err
}

func (f Fleet) start(ctx context.Context, online, fresh *float64) (*exec.Cmd, error) {
	began := time.Now()
	process, err := f.Spawn()
	if err != nil {
		return nil, err
	}
	if err := f.await(ctx, func(online, _ int) bool { return online >= f.Size }); err != nil {
		return nil, err
	}
	*online = time.Since(began).Seconds()
	err = f.await(ctx, func(_, fresh int) bool { return fresh >= f.Size })
	*fresh = time.Since(began).Seconds()
	return process, err
}

// await waits until right returns true for the numbers of ONLINE and of beating workers.
func (f Fleet) await(ctx context.Context, right func(online, fresh int) bool) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for online, fresh := -1, -1; ; {
		if view, err := look(ctx, f.Temporal); err == nil {
			online, fresh = 0, 0
			for _, w := range view.Workers {
				if w.State != contract.WorkerOnline {
					continue
				}
				if online++; w.Fresh {
					fresh++
				}
			}
			if right(online, fresh) {
				return nil
			}
		}
		if err := rpc.Wait(ctx, 100*time.Millisecond); err != nil {
			return fmt.Errorf("of %d workers %d are online and %d beat: %w", f.Size, online, fresh, err)
		}
	}
}

func look(ctx context.Context, temporal client.Client) (contract.FleetView, error) {
	var view contract.FleetView
	answer, err := temporal.QueryWorkflow(ctx, contract.FleetWorkflowID, "", contract.QueryFleet)
	if err != nil {
		return view, err
	}
	return view, answer.Get(&view)
}

// Slowest queries the registry repeatedly while a group of [Graphs] runs. It returns the seconds of the slowest query and of
// the group.
func Slowest(ctx context.Context, temporal client.Client, run client.WorkflowRun) (slowest, all float64, err error) {
	began, done := time.Now(), make(chan error, 1)
	var result contract.JobGroupResult
	go func() { done <- run.Get(ctx, &result) }()
	for {
		asked := time.Now()
		if _, err := look(ctx, temporal); err != nil {
			return 0, 0, err
		}
		slowest = max(slowest, time.Since(asked).Seconds())
		select {
		case err = <-done:
			if err == nil && result.Counts.Completed != Proposals {
				err = fmt.Errorf("%d of %d DAGs completed", result.Counts.Completed, Proposals)
			}
			return slowest, time.Since(began).Seconds(), err
		case <-time.After(20 * time.Millisecond):
		}
	}
}
