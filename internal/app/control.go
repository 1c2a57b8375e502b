package app

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.uber.org/fx"

	"github.com/roundsman/roundsman/activities/admission"
	"github.com/roundsman/roundsman/activities/control"
	"github.com/roundsman/roundsman/activities/fleet"
	"github.com/roundsman/roundsman/activities/notify"
	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/doctor"
	"github.com/roundsman/roundsman/internal/lib/buildinfo"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/workers"
	"github.com/roundsman/roundsman/workflows"
)

// ControlOptions configure a process of the control plane.
type ControlOptions struct {
	Client *starter.Client
	// Thresholds of the worker registry.
	Fleet config.Fleet
	// Size of the audit log; zero means the default.
	Audit config.Audit
	// Retention of runs; zero means that of the namespace.
	Retention config.Retention
	// Receivers and common rules of notifications.
	Notify config.Notify
	// Health serves the state of the process if not nil. It must watch Client's connection.
	Health *Health
	// Shim is the command line of this binary as a shim; empty if it cannot be one.
	Shim []string
	// HTTP serves the API if not nil.
	HTTP   *HTTP
	Logger *slog.Logger
}

// StartControl starts the control plane alone. It refuses a server without Roundsman's requirements.
func StartControl(ctx context.Context, options ControlOptions) (*Process, error) {
	if err := requireServer(ctx, options.Client, options.Logger); err != nil {
		return nil, err
	}
	sweeper := newSweeper(options.Client, options.Retention, options.Logger)
	if options.Health != nil {
		if sweeper != nil {
			if err := options.Health.told.Add(newRetentionMetrics(sweeper)); err != nil {
				return nil, err
			}
		}
		if err := options.Health.told.Add(newControlMetrics(askUsage(options.Client))); err != nil {
			return nil, err
		}
		if options.Health.runs != nil {
			options.Health.runs.Seed(appliedTypes(options.Client))
		}
		if len(options.Notify.Receivers) > 0 {
			if err := options.Health.told.Add(newNotifyMetrics(options.Client)); err != nil {
				return nil, err
			}
		}
	}
	health := options.Health.parts(options.Health.controlChecks(), options.Logger)
	all := func(plane *workers.Control, activities *control.Control) parts {
		return slices.Concat(health, controlParts(plane, activities, options.Client.Connection().Address, options.Logger), sweeperParts(sweeper), pageParts(options.Client, options.Logger), options.HTTP.parts(options.Client, options.Logger))
	}
	return start(ctx, workers.ControlStopTimeout, options.Logger,
		fx.Supply(options.Client, options.Logger, options.Fleet, options.Audit, options.Retention, options.Notify, shimLine(options.Shim)), controlModule(), fx.Provide(all))
}

func controlModule() fx.Option {
	return fx.Module("control", fx.Provide(newActivities, newObserver, newControl))
}

func newActivities(client *starter.Client, thresholds config.Fleet, audit config.Audit, kept config.Retention, told config.Notify) *control.Control {
	plane := contract.ControlPlane{Identity: client.Identity(), By: starter.SystemUser(), Settings: planeSettings(thresholds, audit, kept, told)}
	return control.New(client.Temporal(), thresholds.Thresholds(), control.WithPlane(plane, !thresholds.Declared), control.WithAuditEntries(audit.Entries), control.WithAuditAge(kept.Audit), control.WithNotifications(len(told.Receivers) > 0))
}

// Of receivers only the names are compared, since addresses may be secret.
func planeSettings(thresholds config.Fleet, audit config.Audit, kept config.Retention, told config.Notify) map[string]string {
	settings := map[string]string{"fleet": "", "audit": fmt.Sprintf("entries: %d", audit.Entries), "retention": "", "notify": strings.Join(slices.Sorted(maps.Keys(told.Receivers)), ", ")}
	if thresholds.Declared {
		settings["fleet"] = fmt.Sprintf("heartbeat_interval: %s, unreachable_after: %s, offline_after: %s, delete_after: %s",
			thresholds.HeartbeatInterval, thresholds.UnreachableAfter, thresholds.OfflineAfter, thresholds.DeleteAfter)
	}
	if kept != (config.Retention{}) {
		settings["retention"] = fmt.Sprintf("runs: %s, audit: %s", kept.Runs, kept.Audit)
	}
	return settings
}

func newObserver(client *starter.Client, activities *control.Control) *fleet.Observer {
	return fleet.NewObserver(client.Temporal().WorkflowService(), client.Namespace(), activities)
}

type shimLine []string

func newControl(client *starter.Client, activities *control.Control, observer *fleet.Observer, told config.Notify, shim shimLine, logger *slog.Logger) (*workers.Control, error) {
	return workers.NewControl(client.Temporal(), workers.ControlOptions{
		Register: []func(worker.Registry){
			func(registry worker.Registry) { workflows.Register(registry) },
			func(registry worker.Registry) { control.Register(registry, activities) },
			func(registry worker.Registry) { fleet.Register(registry, observer) },
			func(registry worker.Registry) { notify.Register(registry, newNotifier(client, told, shim, logger)) },
			func(registry worker.Registry) {
				admission.Register(registry, admission.New(client.Temporal(), client.Namespace()))
			},
		},
		Version:      buildinfo.Version(),
		Interceptors: []interceptor.WorkerInterceptor{workflows.Steering()},
		Logger:       logger,
	})
}

func controlParts(plane *workers.Control, activities *control.Control, address string, log *slog.Logger) parts {
	return parts{{"control plane", plane}, {"keeper", &keeper{activities: activities, address: address, log: log}}}
}

type keeper struct {
	activities *control.Control
	address    string
	log        *slog.Logger
	stop       context.CancelFunc
	done       chan struct{}
}

// Start implements component.
func (k *keeper) Start(ctx context.Context) error {
	for _, ensure := range []func() error{
		func() error { _, err := k.activities.Configure(ctx); return err },
		// Admission that starts now has recovered before the first group needs it.
		func() error { return k.activities.EnsureAdmission(ctx, contract.EnsureAdmissionInput{}) },
		func() error { return k.activities.EnsureNotifications(ctx) },
	} {
		if err := untilAnswered(ctx, k.address, k.log, ensure); err != nil {
			return err
		}
	}
	keeping, stop := context.WithCancel(context.WithoutCancel(ctx))
	k.stop, k.done = stop, make(chan struct{})
	go func() {
		defer close(k.done)
		k.activities.Keep(keeping, k.log)
	}()
	return nil
}

// Wait implements component.
func (*keeper) Wait(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Stop implements component.
func (k *keeper) Stop(context.Context) error {
	if k.stop != nil {
		k.stop()
		<-k.done
	}
	return nil
}

// ServerError lists the missing requirements of a server.
type ServerError struct{ Checks []doctor.Check }

// Error implements error with one line per fault and its remedy.
func (e *ServerError) Error() string {
	var text strings.Builder
	text.WriteString("this Temporal server cannot run Roundsman:")
	for _, check := range e.Checks {
		if check.Verdict == doctor.VerdictFail {
			text.WriteString("\n  " + check.Name + ": " + check.Found)
			if check.Fix != "" {
				text.WriteString("\n    " + check.Fix)
			}
		}
	}
	return text.String()
}

func requireServer(ctx context.Context, client *starter.Client, log *slog.Logger) error {
	if err := awaitNamespace(ctx, client, log); err != nil {
		return err
	}
	if checks := doctor.CheckServer(ctx, client); doctor.Failed(checks) {
		return &ServerError{Checks: checks}
	}
	return nil
}
