package devserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"go.temporal.io/sdk/worker"
	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/temporal"
	"go.uber.org/zap"
)

// stopGrace bounds the stop: services would wait up to a minute for a worker that is already gone.
const stopGrace = 4 * time.Second

// Server is a running server. Make one with Start.
type Server struct {
	ready    Ready
	file     string
	logger   log.Logger
	level    zap.AtomicLevel
	store    store
	temporal temporal.Server
	ui       *webUI
}

// Start returns when clients can use the server. On an error everything that was started is stopped again.
func Start(ctx context.Context, o Options) (*Server, error) {
	o = o.WithDefaults()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := removeReadyFile(o.ReadyFile); err != nil {
		return nil, err
	}
	p, err := choosePorts(ctx, o)
	if err != nil {
		return nil, err
	}
	level := zap.NewAtomicLevelAt(log.ParseZapLevel(o.LogLevel))
	logger := newLogger(level, o.LogOutput)
	st, err := prepareStore(ctx, o, logger)
	if err != nil {
		return nil, err
	}
	s := &Server{store: st, file: o.ReadyFile, ready: describe(o, p, st.kind), logger: logger, level: level}
	if err := s.start(ctx, o, p); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

func (s *Server) start(ctx context.Context, o Options, p ports) error {
	if err := createNamespace(s.store, o.Namespace); err != nil {
		return err
	}
	server, err := newTemporalServer(p, s.store, s.logger, o.DynamicConfig)
	if err != nil {
		return fmt.Errorf("set up the Temporal server: %w", err)
	}
	if err := server.Start(); err != nil {
		return fmt.Errorf("start the Temporal server: %w", err)
	}
	s.temporal = server
	if p.ui != NoUI {
		s.ui = startUI(p, o.Namespace)
	}
	if err := awaitHealthy(ctx, p, o.Namespace, s.ready.UIURL); err != nil {
		return err
	}
	if s.file == "" {
		return nil
	}
	return s.ready.writeFile(s.file)
}

func newTemporalServer(p ports, s store, logger log.Logger, settings []string) (temporal.Server, error) {
	dynamic, err := withDynamicConfig(settings)
	if err != nil {
		return nil, err
	}
	worker.SetBinaryChecksum(versionLine()) // Otherwise the SDK reads the whole binary for it, a fifth of the start's CPU time.
	return temporal.NewServer(
		temporal.WithConfig(serverConfig(p, s)),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(staticHosts(p)),
		temporal.WithLogger(logger),
		temporal.WithAuthorizer(authorization.NewNoopAuthorizer()),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper {
			return authorization.NewNoopClaimMapper()
		}),
		temporal.WithDynamicConfigClient(dynamic),
	)
}

func describe(o Options, p ports, kind string) Ready {
	r := Ready{Address: hostPort(p.frontend), Namespace: o.Namespace, PID: os.Getpid(), Store: kind}
	if p.ui != NoUI {
		r.UIURL = "http://" + hostPort(p.ui)
	}
	return r
}

// Ready describes the server: its addresses and services.
func (s *Server) Ready() Ready { return s.ready }

// Lost delivers an error when another server took the store. It never does for SQLite and memory.
func (s *Server) Lost() <-chan error { return s.store.lost }

// Stop ends the server. The ready file goes first, so that no client starts to use it; the store last. It takes about
// a second, and at most little more than stopGrace. Services that have not ended by then end with the process.
// Nothing is lost: the state on disk is always complete.
func (s *Server) Stop() error {
	s.quieten()
	errs := []error{removeReadyFile(s.file), s.ui.stop()}
	if s.temporal != nil {
		stopped := make(chan error, 1)
		go func() { stopped <- s.temporal.Stop() }()
		select {
		case err := <-stopped:
			errs = append(errs, err)
		case <-time.After(stopGrace):
			return errors.Join(errs...)
		}
	}
	return errors.Join(append(errs, s.store.close())...)
}

// quieten silences the log for the stop, when services log errors about each other.
func (s *Server) quieten() {
	if s.level.Level() >= zap.WarnLevel {
		s.level.SetLevel(zap.FatalLevel)
	}
}
