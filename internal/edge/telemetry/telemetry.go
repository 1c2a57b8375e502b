package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.temporal.io/sdk/client"
)

// Telemetry is what one process tells about itself. Use one per process and
// connection.
type Telemetry struct {
	// Traffic is what goes over the connection to the server.
	Traffic *Traffic

	registry *prometheus.Registry
	sdk      *series
}

// New returns a Telemetry that knows of the Go runtime and the process already.
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

// Handler takes the metrics of the Temporal SDK: for the client's options.
func (t *Telemetry) Handler() client.MetricsHandler { return sdkHandler{series: t.sdk} }

// Add shows the metrics of collector too. Two collectors that describe the same
// metric are an error.
func (t *Telemetry) Add(collector prometheus.Collector) error { return t.registry.Register(collector) }
