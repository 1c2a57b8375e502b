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

// stopMargin is the time to stop in addition to the drain of jobs.
const stopMargin = 15 * time.Second

type component interface {
	// Start returns when the part works, or with its error.
	Start(context.Context) error
	// Stop drains the part. It returns when the part has ended, or when ctx ends.
	Stop(context.Context) error
	// Wait returns nil when ctx ends, or the error of a part that has failed.
	Wait(context.Context) error
}

type part struct {
	name string
	component
}

// parts are started in this order and stopped in reverse.
type parts []part

// Process is a running set of parts.
type Process struct {
	app    *fx.App
	failed chan error
	// watching is canceled to end the goroutines that wait for failures.
	watching context.Context //nolint:containedctx // the life of the process, not of one call
	unwatch  context.CancelFunc
}

// A part may wait until ctx ends. If a part cannot start, the parts before it are stopped.
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

// Failed returns a channel with the error of a part that ended by itself. The process should then be stopped.
func (p *Process) Failed() <-chan error { return p.failed }

// Stop drains and ends all parts, within the drain time given at the start and a margin.
func (p *Process) Stop(ctx context.Context) error {
	p.unwatch()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.app.StopTimeout())
	defer cancel()
	return p.app.Stop(ctx)
}

// Each error is also returned and printed by the caller; fx would log it four times.
func fxLogger(logger *slog.Logger) fxevent.Logger {
	events := &fxevent.SlogLogger{Logger: logger.With("component", "fx")}
	events.UseLogLevel(slog.LevelDebug)
	events.UseErrorLevel(slog.LevelDebug)
	return events
}

// plainCause removes the frames of fx's container.
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
