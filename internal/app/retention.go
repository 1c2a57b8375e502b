package app

import (
	"context"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/roundsman/roundsman/config"
	pagestore "github.com/roundsman/roundsman/internal/temporal/pages"
	"github.com/roundsman/roundsman/internal/temporal/retention"
	"github.com/roundsman/roundsman/starter"
)

func newSweeper(client *starter.Client, settings config.Retention, log *slog.Logger) *retention.Sweeper {
	if settings.Runs == 0 {
		return nil
	}
	return retention.New(retention.Options{
		Client: client.Temporal(), Namespace: client.Namespace(), After: settings.Runs.Std(), Logger: log,
	})
}

func sweeperParts(sweeper *retention.Sweeper) parts {
	if sweeper == nil {
		return nil
	}
	return parts{{"retention", &keeping{keep: sweeper.Keep}}}
}

func pageParts(client *starter.Client, log *slog.Logger) parts {
	store := pagestore.NewStore(client.Temporal(), client.Namespace(), starter.DataConverter())
	return parts{{"pages", &keeping{keep: pagestore.NewKeeper(store, client.Temporal(), log).Keep}}}
}

type keeping struct {
	keep func(ctx context.Context)
	stop context.CancelFunc
	done chan struct{}
}

// Start implements component.
func (k *keeping) Start(ctx context.Context) error {
	keeping, stop := context.WithCancel(context.WithoutCancel(ctx))
	k.stop, k.done = stop, make(chan struct{})
	go func() {
		defer close(k.done)
		k.keep(keeping)
	}()
	return nil
}

// Wait implements component.
func (*keeping) Wait(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Stop implements component.
func (k *keeping) Stop(context.Context) error {
	if k.stop != nil {
		k.stop()
		<-k.done
	}
	return nil
}

type retentionMetrics struct {
	sweeper         *retention.Sweeper
	deleted, failed *prometheus.Desc
}

func newRetentionMetrics(sweeper *retention.Sweeper) *retentionMetrics {
	return &retentionMetrics{
		sweeper: sweeper,
		deleted: prometheus.NewDesc("roundsman_runs_deleted_total", "Runs that this control plane deleted because retention.runs has passed since their end.", nil, nil),
		failed:  prometheus.NewDesc("roundsman_retention_failed", "1 if the last look for old runs failed, for instance because runs may not be deleted.", nil, nil),
	}
}

// Describe implements [prometheus.Collector].
func (m *retentionMetrics) Describe(out chan<- *prometheus.Desc) {
	out <- m.deleted
	out <- m.failed
}

// Collect implements [prometheus.Collector].
func (m *retentionMetrics) Collect(out chan<- prometheus.Metric) {
	state := m.sweeper.State()
	failed := 0.0
	if state.Fault != nil {
		failed = 1
	}
	out <- prometheus.MustNewConstMetric(m.deleted, prometheus.CounterValue, float64(state.Deleted))
	out <- prometheus.MustNewConstMetric(m.failed, prometheus.GaugeValue, failed)
}
