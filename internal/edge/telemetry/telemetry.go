package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.temporal.io/sdk/client"
)

// Telemetry holds the data of one process and its connection.
type Telemetry struct {
	Traffic *Traffic

	registry *prometheus.Registry
	sdk      *series
}

// New returns a Telemetry with the metrics of the Go runtime and the process.
func New(version string) *Telemetry {
	t := &Telemetry{Traffic: newTraffic(), registry: prometheus.NewRegistry(), sdk: newSeries()}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "roundsman_build_info", Help: "1, with the version of the running binary.",
		ConstLabels: prometheus.Labels{"version": version},
	})
	build.Set(1)
	t.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), build, t.sdk)
	return t
}

// Handler returns the metrics handler for the options of the Temporal client.
func (t *Telemetry) Handler() client.MetricsHandler { return sdkHandler{series: t.sdk} }

// Add adds a collector. Two collectors with the same metric are an error.
func (t *Telemetry) Add(collector prometheus.Collector) error { return t.registry.Register(collector) }
