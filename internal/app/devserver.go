package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

const (
	// A start normally takes a second; recovery of a large file takes longer. The server itself gives up after 60 s, with its
	// reason.
	startServerWithin = 75 * time.Second
	// After stopServerWithin the process is killed; the state is safe either way.
	stopServerWithin = 15 * time.Second
	// restartDelay limits the restarts of a server that ends at once.
	restartDelay = time.Second
	// The count of restarts starts again after a run of settledAfter.
	maxRestarts  = 5
	settledAfter = time.Minute
)

// DevServer configures a Temporal server next to this process.
type DevServer struct {
	// Path of roundsman-devserver; if empty, it is searched for.
	Binary string
	// Path of Temporal's own CLI. If set, its `server start-dev` runs instead.
	TemporalCLI string
	// Executable is this process's binary. The dev server is searched for next to it before PATH.
	Executable string
	// Port and UIPort on 127.0.0.1; 0 means a free one.
	Port, UIPort int
	Namespace    string
	// DBFile holds the state, LogFile the server's log.
	DBFile, LogFile string
	// ReadyFile holds the address while the server runs.
	ReadyFile string
	// Temporary state is removed after the stop, so the server is killed without its drain.
	Temporary bool
}

func (s DevServer) stopWithin() time.Duration {
	if s.Temporary {
		return 0
	}
	return stopServerWithin
}

// ServerReady describes a healthy server.
type ServerReady struct {
	Address string `json:"address"`
	UIURL   string `json:"ui_url"`
}

// serverKeeper restarts the dev server after an unexpected end with the same ports and file.
type serverKeeper struct {
	options DevServer
	launch  launcher
	logger  *slog.Logger
	notify  func(string)
	failed  chan error

	mu      sync.Mutex
	current *child
	ready   ServerReady

	cancel context.CancelFunc
	done   chan struct{}
}

func startServer(ctx context.Context, options DevServer, logger *slog.Logger, notify func(string)) (*serverKeeper, error) {
	launch, err := newLauncher(options)
	if err != nil {
		return nil, err
	}
	if options.TemporalCLI != "" {
		// It cannot choose a port and report it.
		if options, err = freePorts(options); err != nil {
			return nil, err
		}
	}
	k := &serverKeeper{
		options: options, launch: launch, logger: logger, notify: notify,
		failed: make(chan error, 1), done: make(chan struct{}),
	}
	if err := k.start(ctx); err != nil {
		return nil, err
	}
	// It outlives this call; Stop ends it.
	keeping, cancel := context.WithCancel(context.WithoutCancel(ctx))
	k.cancel = cancel
	go k.keep(keeping)
	return k, nil
}

// Ready returns the addresses of the server, which are the same after a restart.
func (k *serverKeeper) Ready() ServerReady {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.ready
}

func (k *serverKeeper) start(ctx context.Context) error {
	process, err := k.launch.run(k.options)
	if err != nil {
		return err
	}
	ready, err := k.await(ctx, process)
	if err != nil {
		process.stop(stopServerWithin)
		return err
	}
	k.mu.Lock()
	k.current, k.ready = process, ready
	k.mu.Unlock()
	// Restarts must use the addresses of clients and open browser tabs.
	k.options.Port, k.options.UIPort = portOf(ready.Address), portOf(ready.UIURL)
	return nil
}

func (k *serverKeeper) await(ctx context.Context, process *child) (ServerReady, error) {
	limited, cancel := context.WithTimeout(ctx, startServerWithin)
	defer cancel()
	ready, err := k.launch.await(limited, process, k.options)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return ready, fmt.Errorf("the dev server was not healthy within %s (%s): see %s; on a busy machine start it again",
			startServerWithin, process.lastLine(), k.options.LogFile)
	}
	return ready, err
}

func (k *serverKeeper) keep(ctx context.Context) {
	defer close(k.done)
	restarts, since := 0, time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.current.done:
		}
		if ctx.Err() != nil {
			return
		}
		if time.Since(since) > settledAfter {
			restarts = 0
		}
		restarts++
		died := k.current.describe()
		if restarts > maxRestarts {
			k.failed <- fmt.Errorf("the dev server died %d times in a row (%s): see %s", restarts, died, k.options.LogFile)
			return
		}
		k.notify(fmt.Sprintf("the dev server died (%s): starting it again on %s", died, k.Ready().Address))
		if err := k.restart(ctx); err != nil {
			if ctx.Err() == nil {
				k.failed <- fmt.Errorf("the dev server does not start again: %w", err)
			}
			return
		}
		since = time.Now()
		k.notify("the dev server is back on " + k.Ready().Address)
	}
}

func (k *serverKeeper) restart(ctx context.Context) error {
	var err error
	for range maxRestarts {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(restartDelay):
		}
		if err = k.start(ctx); err == nil {
			return nil
		}
		k.logger.Error("restart of the dev server failed", "error", err)
	}
	return err
}

// Stop ends the supervision and the server. A second call has no effect.
func (k *serverKeeper) Stop() error {
	k.cancel()
	<-k.done
	k.current.stop(k.options.stopWithin())
	if k.options.ReadyFile == "" {
		return nil
	}
	if err := os.Remove(k.options.ReadyFile); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove ready file: %w", err)
	}
	return nil
}
