package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"go.uber.org/fx"
	"go.uber.org/fx/fxevent"
)

// stopMargin is what stopping takes besides the drain of jobs.
const stopMargin = 15 * time.Second

// component is one part of a process: the control plane or a node worker.
type component interface {
	// Start returns when the part works, or with the reason why it cannot.
	Start(context.Context) error
	// Stop drains: it returns when nothing of the part runs any more, or when
	// ctx ends.
	Stop(context.Context) error
	// Wait returns nil when ctx ends, and why the part can no longer work.
	Wait(context.Context) error
}

// part names a component for messages.
type part struct {
	name string
	component
}

// parts is what a process is made of, in the order in which they start; they
// stop in reverse.
type parts []part

// Process is a running set of parts.
type Process struct {
	app    *fx.App
	failed chan error
	// watching ends the goroutines that wait for failures.
	watching context.Context //nolint:containedctx // the life of the process, not of one call
	unwatch  context.CancelFunc
}

// start builds and starts a process. A part may wait for as long as ctx lets it:
// a worker, for instance, for a control plane that is not up yet. When a part
// cannot start, those before it are stopped again.
func start(ctx context.Context, drain time.Duration, logger *slog.Logger, options ...fx.Option) (*Process, error) {
	p := &Process{failed: make(chan error, 1)}
	p.watching, p.unwatch = context.WithCancel(context.WithoutCancel(ctx))
	p.app = fx.New(
		fx.WithLogger(func() fxevent.Logger { return fxLogger(logger) }),
		fx.StopTimeout(drain+stopMargin),
		fx.Options(options...),
		fx.Invoke(p.run),
	)
	if err := p.app.Err(); err != nil {
		p.unwatch()
		return nil, plainCause(err)
	}
	if err := p.app.Start(ctx); err != nil {
		p.unwatch()
		return nil, err
	}
	return p, nil
}

// run appends the parts to the life-cycle.
func (p *Process) run(lifecycle fx.Lifecycle, all parts) {
	for _, each := range all {
		lifecycle.Append(fx.Hook{
			OnStart: func(ctx context.Context) error {
				if err := each.Start(ctx); err != nil {
					return fmt.Errorf("start %s: %w", each.name, err)
				}
				go p.watch(each)
				return nil
			},
			OnStop: func(ctx context.Context) error {
				if err := each.Stop(ctx); err != nil {
					return fmt.Errorf("stop %s: %w", each.name, err)
				}
				return nil
			},
		})
	}
}

// watch passes on why a part ended by itself; the first reason is enough.
func (p *Process) watch(each part) {
	err := each.Wait(p.watching)
	if err == nil {
		return
	}
	select {
	case p.failed <- fmt.Errorf("%s: %w", each.name, err):
	default:
	}
}

// Failed takes the reason when a part ended by itself. The process should then
// be stopped.
func (p *Process) Failed() <-chan error { return p.failed }

// Stop drains and ends all parts, within the drain time that was given at the
// start and a margin.
func (p *Process) Stop(ctx context.Context) error {
	p.unwatch()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.app.StopTimeout())
	defer cancel()
	return p.app.Stop(ctx)
}

// fxLogger logs fx's own steps for those who debug. Its errors too: each of them is
// returned, and printed once by whoever asked, instead of four times.
func fxLogger(logger *slog.Logger) fxevent.Logger {
	events := &fxevent.SlogLogger{Logger: logger.With("component", "fx")}
	events.UseLogLevel(slog.LevelDebug)
	events.UseErrorLevel(slog.LevelDebug)
	return events
}

// plainCause drops the frames that fx's container puts around a constructor's
// error: where in our code a provider stands says nothing to an operator.
func plainCause(err error) error {
	for strings.HasPrefix(fmt.Sprintf("%T", err), "dig.") {
		inner := errors.Unwrap(err)
		if inner == nil {
			break
		}
		err = inner
	}
	return err
}
