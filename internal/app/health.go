package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/edge/telemetry"
	"github.com/roundsman/roundsman/internal/lib/buildinfo"
	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/internal/temporal/runend"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/workers"
)

const (
	// Polls last a minute, and the SDK waits at most 10 s after errors.
	pollStall   = 3 * time.Minute
	silentBeats = 3
)

// Health serves the state of a process, see package telemetry. A nil *Health serves nothing.
type Health struct {
	address  string
	told     *telemetry.Telemetry
	runs     *runend.Watcher
	patience time.Duration
}

// NewHealth prepares /healthz, /readyz and /metrics at address; a port alone means loopback.
func NewHealth(address string, beats time.Duration) (*Health, error) {
	if address == "" {
		return nil, nil
	}
	if _, err := telemetry.Address(address); err != nil {
		return nil, fmt.Errorf("--health-addr: %w", err)
	}
	if beats <= 0 {
		beats = starter.DefaultHeartbeatInterval
	}
	return &Health{address: address, told: telemetry.New(buildinfo.Version()), patience: silentBeats * beats}, nil
}

// Watch adds h to the options of a connection.
func (h *Health) Watch(options *starter.Options) {
	if h != nil {
		options.Metrics, options.Intercept = h.told.Handler(), h.told.Traffic.Intercept
	}
}

func (h *Health) parts(checks telemetry.Checks, logger *slog.Logger) parts {
	if h == nil {
		return nil
	}
	return parts{{"health", &healthServer{health: h, checks: checks, logger: logger}}}
}

type healthServer struct {
	health *Health
	checks telemetry.Checks
	logger *slog.Logger
	server *telemetry.Server
}

// Start implements component.
func (s *healthServer) Start(ctx context.Context) error {
	server, err := s.health.told.Listen(ctx, s.health.address, s.checks)
	if err != nil {
		return err
	}
	s.server = server
	s.logger.Info("health and metrics are served", "address", server.Addr(), "paths", "/healthz /readyz /metrics")
	return nil
}

// Wait implements component.
func (s *healthServer) Wait(ctx context.Context) error {
	select {
	case err := <-s.server.Failed():
		return err
	case <-ctx.Done():
		return nil
	}
}

// Stop implements component.
func (s *healthServer) Stop(ctx context.Context) error { return s.server.Close(ctx) }

func (h *Health) answering() error {
	last := h.told.Traffic.LastAnswer()
	if silent := time.Since(last); silent > h.patience {
		return fmt.Errorf("the Temporal server has not answered for %s", silent.Round(time.Second))
	}
	return nil
}

func (h *Health) stalled(queue string, since time.Time) error {
	open, last := h.told.Traffic.Polls(queue)
	if last.Before(since) {
		last = since
	}
	if idle := time.Since(last); open == 0 && idle > pollStall {
		return fmt.Errorf("no process has polled %s for %s", queue, idle.Round(time.Second))
	}
	return nil
}

func (h *Health) polling(queue string) error {
	if open, _ := h.told.Traffic.Polls(queue); open == 0 {
		return fmt.Errorf("not polling %s", queue)
	}
	return nil
}

func (h *Health) controlChecks() telemetry.Checks {
	began := time.Now()
	return telemetry.Checks{
		Alive: func() error { return h.stalled(contract.ControlQueue, began) },
		Ready: func() error { return errors.Join(h.polling(contract.ControlQueue), h.answering()) },
	}
}

func (h *Health) nodeChecks(node *workers.Node) telemetry.Checks {
	// A queue without free slots is not polled, which is correct.
	began := time.Now()
	free := func() []string {
		report, queues := node.Report(), []string(nil)
		if report.Executing < report.Caps.MaxExecute {
			queues = append(queues, contract.WorkerQueue(report.ID, report.Instance))
		}
		if report.Detecting < report.Caps.MaxDetect {
			queues = append(queues, contract.WorkerDetectQueue(report.ID, report.Instance))
		}
		return queues
	}
	return telemetry.Checks{
		Alive: func() error {
			if report := node.Report(); report.Stopping || !report.Registered {
				return nil // No poll is expected.
			}
			return errors.Join(lists.Map(free(), func(queue string) error { return h.stalled(queue, began) })...)
		},
		Ready: func() error {
			report := node.Report()
			switch {
			case report.Stopping:
				return errors.New("stopping")
			case !report.Registered:
				return errors.New("not registered: is the control plane (`roundsman server`) running?")
			}
			faults := []error{h.answering()}
			for _, queue := range free() {
				faults = append(faults, h.polling(queue))
			}
			return errors.Join(faults...)
		},
	}
}
