package runend

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/roundsman/roundsman/contract"
)

const maxValues = 10_000

// The lock of the Watcher guards jobValues.
type jobValues struct {
	value, at, dropped *prometheus.GaugeVec
	series             map[string]int
	known              map[string]time.Time
	total              int
}

func newJobValues() *jobValues {
	return &jobValues{
		series: map[string]int{}, known: map[string]time.Time{},
		value: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "roundsman_job_value", Help: "The last number of this name that a job with this key returned.",
		}, []string{"job_type", "key", "name"}),
		at: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "roundsman_job_values_timestamp_seconds", Help: "When the run ended that roundsman_job_value is from.",
		}, []string{"job_type"}),
		dropped: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "roundsman_job_values_dropped", Help: "Numbers of that run that are no roundsman_job_value: too many, or too long a key or name.",
		}, []string{"job_type"}),
	}
}

func (v *jobValues) all() []prometheus.Collector {
	return []prometheus.Collector{v.value, v.at, v.dropped}
}

func (v *jobValues) set(jobType string, values *contract.Values, ended time.Time) {
	if values == nil || jobType == otherName || !ended.After(v.known[jobType]) {
		return
	}
	v.known[jobType] = ended
	v.value.DeletePartialMatch(prometheus.Labels{"job_type": jobType})
	v.total, v.series[jobType] = v.total-v.series[jobType], 0
	dropped := values.Dropped
	for _, s := range values.Series {
		if v.total >= maxValues || len(s.Points) == 0 {
			dropped++
			continue
		}
		v.total, v.series[jobType] = v.total+1, v.series[jobType]+1
		v.value.WithLabelValues(jobType, s.Key, s.Name).Set(s.Points[len(s.Points)-1])
	}
	v.at.WithLabelValues(jobType).Set(float64(values.At.UnixMilli()) / 1000)
	v.dropped.WithLabelValues(jobType).Set(float64(dropped))
}

func (v *jobValues) drop(jobType string) {
	series := prometheus.Labels{"job_type": jobType}
	for _, of := range []*prometheus.GaugeVec{v.value, v.at, v.dropped} {
		of.DeletePartialMatch(series)
	}
	v.total -= v.series[jobType]
	delete(v.series, jobType)
	delete(v.known, jobType)
}
