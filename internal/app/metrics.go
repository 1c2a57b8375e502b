package app

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/workers"
)

// The SDK's slots lack a node's figures, because several queues share slots.
type nodeMetrics struct {
	node                                         *workers.Node
	slots, used, jobs, zombies, undelivered, reg *prometheus.Desc
}

func newNodeMetrics(node *workers.Node) *nodeMetrics {
	m := describeNode(node.ID())
	m.node = node
	return m
}

func describeNode(id string) *nodeMetrics {
	labels := prometheus.Labels{"worker": id}
	describe := func(name, help string, variable ...string) *prometheus.Desc {
		return prometheus.NewDesc("roundsman_worker_"+name, help, variable, labels)
	}
	return &nodeMetrics{
		slots:       describe("slots", "How many jobs (kind execute) and detections (kind detect) may run at once.", "kind"),
		used:        describe("slots_used", "How many run now.", "kind"),
		jobs:        describe("jobs", "Running jobs and detections by job type and state.", "job_type", "state"),
		zombies:     describe("zombies", "Handlers that ignore their canceled context and keep their slot."),
		undelivered: describe("undelivered_outcomes", "Outcomes that the server has not taken yet."),
		reg:         describe("registered", "1 if the registry listed this process in its last answer."),
	}
}

// Describe implements [prometheus.Collector].
func (m *nodeMetrics) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{m.slots, m.used, m.jobs, m.zombies, m.undelivered, m.reg} {
		out <- desc
	}
}

// Collect implements [prometheus.Collector].
func (m *nodeMetrics) Collect(out chan<- prometheus.Metric) {
	report := m.node.Report()
	gauge := func(desc *prometheus.Desc, value int, labels ...string) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(value), labels...)
	}
	gauge(m.slots, report.Caps.MaxExecute, "execute")
	gauge(m.slots, report.Caps.MaxDetect, "detect")
	gauge(m.used, report.Executing, "execute")
	gauge(m.used, report.Detecting, "detect")
	gauge(m.zombies, report.Zombies)
	gauge(m.undelivered, report.Undelivered)
	gauge(m.reg, map[bool]int{true: 1}[report.Registered])
	type kind struct {
		jobType string
		state   contract.WorkerJobState
	}
	counts := map[kind]int{}
	for _, job := range report.Jobs {
		counts[kind{job.JobType, job.State}]++
	}
	for of, count := range counts {
		gauge(m.jobs, count, of.jobType, string(of.state))
	}
}
