package app

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
)

type notifyMetrics struct {
	view                            func(context.Context) (contract.NotificationsView, error)
	delivered, waiting, failingSecs *prometheus.Desc
}

func newNotifyMetrics(client *starter.Client) *notifyMetrics {
	return &notifyMetrics{
		view: client.Notifications().View,
		delivered: prometheus.NewDesc("roundsman_notifications_total", "Notifications by receiver and result: sent, failed, dropped; since the notifier was started.",
			[]string{"receiver", "result"}, nil),
		waiting:     prometheus.NewDesc("roundsman_notifications_waiting", "Notifications that the receiver has not taken yet.", []string{"receiver"}, nil),
		failingSecs: prometheus.NewDesc("roundsman_receiver_failing_seconds", "For how long each attempt at the receiver has failed; 0: the last one succeeded.", []string{"receiver"}, nil),
	}
}

// Describe implements [prometheus.Collector].
func (m *notifyMetrics) Describe(out chan<- *prometheus.Desc) {
	out <- m.delivered
	out <- m.waiting
	out <- m.failingSecs
}

// Collect implements [prometheus.Collector]. Without an answer it exports nothing.
func (m *notifyMetrics) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), usageWithin)
	defer cancel()
	view, err := m.view(ctx)
	if err != nil {
		return
	}
	now := time.Now()
	for _, r := range view.Receivers {
		for result, n := range map[string]int{contract.DeliverySent: r.Sent, contract.DeliveryFailed: r.Failed, contract.DeliveryDropped: r.Dropped} {
			out <- prometheus.MustNewConstMetric(m.delivered, prometheus.CounterValue, float64(n), r.Name, result)
		}
		out <- prometheus.MustNewConstMetric(m.waiting, prometheus.GaugeValue, float64(r.Waiting), r.Name)
		out <- prometheus.MustNewConstMetric(m.failingSecs, prometheus.GaugeValue, waited(now, r.FailingSince), r.Name)
	}
}
