package telemetry

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.temporal.io/sdk/client"
)

// maxSeries bounds the series, in case a tag has many values.
const maxSeries = 5000

const sdkHelp = "A metric of the Temporal SDK, see https://docs.temporal.io/references/sdk-metrics."

// buckets of latencies in seconds: from a local answer to a long job.
func buckets() []float64 {
	return []float64{0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300, 1800, 7200}
}

// The SDK uses different tags for one name, which vectors of fixed labels cannot express. So each series is a metric
// of its own, and Describe returns none.
type series struct {
	mu    sync.Mutex
	known map[string]prometheus.Metric
}

func newSeries() *series { return &series{known: map[string]prometheus.Metric{}} }

// Describe implements [prometheus.Collector]. It returns none, since names and tags are not fixed.
func (*series) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (s *series) Collect(out chan<- prometheus.Metric) {
	s.mu.Lock()
	all := slices.Collect(maps.Values(s.known))
	s.mu.Unlock()
	for _, metric := range all {
		out <- metric
	}
}

// get returns nil if there are too many series.
func (s *series) get(name string, tags map[string]string, create func() prometheus.Metric) prometheus.Metric {
	var key strings.Builder
	key.WriteString(name)
	for _, tag := range slices.Sorted(maps.Keys(tags)) {
		key.WriteString("\x00" + tag + "\x00" + tags[tag])
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	metric, known := s.known[key.String()]
	if !known && len(s.known) < maxSeries {
		metric = create()
		s.known[key.String()] = metric
	}
	return metric
}

// Counters end in _total, latencies in _seconds, as in Prometheus.
type sdkHandler struct {
	series *series
	tags   map[string]string
}

// WithTags implements client.MetricsHandler.
func (h sdkHandler) WithTags(more map[string]string) client.MetricsHandler {
	tags := maps.Clone(h.tags)
	if tags == nil {
		tags = make(map[string]string, len(more))
	}
	maps.Copy(tags, more)
	return sdkHandler{series: h.series, tags: tags}
}

// Counter implements client.MetricsHandler.
func (h sdkHandler) Counter(name string) client.MetricsCounter {
	name += "_total"
	counter, ok := h.series.get(name, h.tags, func() prometheus.Metric {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: sdkHelp, ConstLabels: h.tags})
	}).(prometheus.Counter)
	if !ok {
		return client.MetricsNopHandler.Counter(name)
	}
	return counterOf{counter}
}

// Gauge implements client.MetricsHandler.
func (h sdkHandler) Gauge(name string) client.MetricsGauge {
	gauge, ok := h.series.get(name, h.tags, func() prometheus.Metric {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: sdkHelp, ConstLabels: h.tags})
	}).(prometheus.Gauge)
	if !ok {
		return client.MetricsNopHandler.Gauge(name)
	}
	return gaugeOf{gauge}
}

// Timer implements client.MetricsHandler.
func (h sdkHandler) Timer(name string) client.MetricsTimer {
	name += "_seconds"
	timer, ok := h.series.get(name, h.tags, func() prometheus.Metric {
		return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: sdkHelp, ConstLabels: h.tags, Buckets: buckets()})
	}).(prometheus.Histogram)
	if !ok {
		return client.MetricsNopHandler.Timer(name)
	}
	return timerOf{timer}
}

type counterOf struct{ prometheus.Counter }

// Inc implements client.MetricsCounter.
func (c counterOf) Inc(n int64) { c.Add(float64(max(n, 0))) }

type gaugeOf struct{ prometheus.Gauge }

// Update implements client.MetricsGauge.
func (g gaugeOf) Update(value float64) { g.Set(value) }

type timerOf struct{ prometheus.Histogram }

// Record implements client.MetricsTimer.
func (t timerOf) Record(took time.Duration) { t.Observe(took.Seconds()) }
