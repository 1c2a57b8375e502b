package seaweedfs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/roundsman/roundsman/internal/seaweedfs/steps"
	"github.com/roundsman/roundsman/internal/seaweedfs/weed"
	"github.com/roundsman/roundsman/jobtype"
)

// stopGrace bounds the time in which a stopped job undoes or completes its work.
const stopGrace = 20 * time.Second

type walk struct {
	cluster *connection
	work    steps.Job
	volume  uint32
	report  func(stage, message string)
	alive   func()
	keep    func(steps.Job) error

	hold    *weed.Hold
	runner  *steps.Runner
	stopped bool
}

// A nil error comes with an end, good or bad.
func (w *walk) run(ctx context.Context) (steps.End, error) {
	hold, err := w.enter(ctx)
	if err != nil {
		return steps.End{}, err
	}
	w.hold = hold
	defer hold.Leave()
	w.runner = steps.NewRunner(w.work)
	for {
		if ctx.Err() != nil && !w.stopped {
			var done func()
			if ctx, done, err = w.stop(ctx); err != nil {
				return steps.End{}, err
			}
			defer done() //nolint:revive // once in the life of a walk
		}
		look, step := w.runner.Next()
		switch {
		case look != nil:
			w.look(ctx, *look)
		case step.End != nil:
			w.forget(ctx, *step.End)
			return *step.End, nil
		case step.Wait:
			if err := w.wait(ctx, step); err != nil {
				return steps.End{}, err
			}
		default:
			if err := w.take(ctx, step); err != nil {
				return steps.End{}, err
			}
		}
	}
}

func (w *walk) enter(ctx context.Context) (*weed.Hold, error) {
	ticking, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for {
			select {
			case <-ticking.Done():
				return
			case <-ticker.C:
				w.report("waiting for the shell lease", w.cluster.keeper.Blocked().Reason)
			}
		}
	}()
	return w.cluster.keeper.Enter(ctx)
}

// stop gives the job time to undo its changes, unless another attempt may have started.
func (w *walk) stop(ctx context.Context) (graced context.Context, done func(), err error) {
	cause := context.Cause(ctx)
	stopper, ok := w.work.(steps.Stopper)
	if !ok || errors.Is(cause, jobtype.ErrLeaseLost) || errors.Is(cause, jobtype.ErrDisconnected) {
		return ctx, func() {}, fmt.Errorf("volume %d: stopped where it was: %w", w.volume, cause)
	}
	w.stopped = true
	stopper.Stop(cause.Error())
	w.runner.Again()
	graced, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), stopGrace, cause)
	return graced, cancel, nil
}

func (w *walk) look(ctx context.Context, look steps.Look) {
	w.alive()
	if look.Head > 0 {
		w.runner.SawIndex(w.cluster.IndexHead(ctx, look.Server, w.volume, look.Head))
		return
	}
	if look.Hidden {
		w.runner.SawIndex(w.cluster.HiddenIndex(ctx, look.Server, w.volume, look.Collection))
		return
	}
	if look.Index {
		w.runner.SawIndex(w.cluster.Index(ctx, look.Server, w.volume))
		return
	}
	if look.Shards {
		w.runner.SawShards(w.cluster.Shards(ctx, look.Server, w.volume))
		return
	}
	replica := w.cluster.Replica(ctx, look.Server, w.volume)
	if look.Seal && replica.Presence == steps.Present && replica.ReadOnly {
		replica = w.cluster.Sealed(ctx, look.Server, w.volume, look.Collection, replica)
	}
	if look.Arrival && replica.Presence == steps.Absent {
		replica = w.cluster.Arriving(ctx, look.Server, w.volume, look.Collection)
	}
	w.runner.SawReplica(replica)
}

const waitEvery = time.Second

func (w *walk) wait(ctx context.Context, step steps.Step) error {
	w.report("waiting for a copy that is under way", "")
	w.runner.Again()
	timer := time.NewTimer(waitEvery)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		if w.stopped {
			<-timer.C // the job counts its waits after it was stopped
		}
		return nil
	}
	if !step.Calm || w.stopped {
		return nil
	}
	_, err := w.hold.Pause(ctx)
	return lost(w.volume, err)
}

// take hands the lease over if due, writes the checkpoint and checks the lease before the call.
func (w *walk) take(ctx context.Context, step steps.Step) error {
	if ctx.Err() != nil {
		w.runner.Again()
		if w.stopped {
			return fmt.Errorf("volume %d: not undone within %s: %w", w.volume, stopGrace, context.Cause(ctx))
		}
		return nil
	}
	if step.Calm && !w.stopped {
		handed, err := w.hold.Pause(ctx)
		if err != nil || handed {
			w.runner.Again()
			return lost(w.volume, err)
		}
	}
	call := *step.Call
	w.report(string(call.Op), call.Server)
	if err := w.keep(w.work); err != nil {
		return err
	}
	w.note(ctx, call)
	deadline, err := w.hold.Check()
	if err != nil {
		return lost(w.volume, err)
	}
	answer, err := w.call(ctx, call, deadline)
	if _, gone := w.hold.Check(); gone != nil {
		return lost(w.volume, gone)
	}
	if err != nil {
		answer.Err = call.String() + ": " + strings.TrimSpace(weed.Reason(err))
	}
	w.runner.Took(call, answer)
	return nil
}

// A server refuses a short call after its deadline, so that none is carried out under another client's lease.
func (w *walk) call(ctx context.Context, call steps.Call, deadline time.Time) (steps.Answer, error) {
	ctx, cancel := w.hold.Context(ctx)
	defer cancel()
	if !call.Long() {
		var end context.CancelFunc
		ctx, end = context.WithDeadline(ctx, deadline)
		defer end()
	}
	return w.cluster.Do(ctx, call, func(int64) { w.alive() })
}

func lost(volume uint32, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("LEASE_LOST: volume %d is left as it was between two calls, the next attempt continues: %w", volume, err)
}
