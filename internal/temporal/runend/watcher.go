package runend

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/grpc"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// The rest is counted as otherName, which is not a valid name of a job type.
const (
	maxNames  = 1000
	otherName = "(other)"
)

const (
	// appliedAge is the maximum age of a reused list of applied job types.
	appliedAge = 5 * time.Second
	// appliedWithin bounds reading the list, below Prometheus' default timeout of 10 s.
	appliedWithin = 4 * time.Second
)

// Watcher counts and logs the ends of runs. It is safe for concurrent use.
type Watcher struct {
	reader converter.DataConverter
	log    *slog.Logger

	groups, dags, warnings *prometheus.CounterVec
	success                *prometheus.GaugeVec
	numbers                *jobValues

	mu    sync.Mutex
	names map[string]bool
	last  map[string]time.Time
	// listed are the job types of all lists.
	listed map[string]bool

	applied struct {
		sync.Mutex

		list func(context.Context) (Applied, error)
		at   time.Time
	}
}

// Applied holds the applied job types, and the last completions of their scheduled runs.
type Applied struct {
	Names     []string
	Completed map[string]time.Time
	// Values are the numbers of the last runs, with the ends of these runs.
	Values map[string]LastValues
}

// LastValues are the numbers that jobs returned up to the end of a run.
type LastValues struct {
	Values *contract.Values
	Ended  time.Time
}

// Seed adds the counters of the applied job types to each collection, so that the first failure is an increase from 0 to 1.
func (w *Watcher) Seed(list func(context.Context) (Applied, error)) {
	w.applied.Lock()
	defer w.applied.Unlock()
	w.applied.list = list
}

func (w *Watcher) addApplied() {
	w.applied.Lock()
	defer w.applied.Unlock()
	if w.applied.list == nil || time.Since(w.applied.at) < appliedAge {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), appliedWithin)
	defer cancel()
	applied, err := w.applied.list(ctx)
	w.applied.at = time.Now()
	if err != nil {
		w.log.Debug("counters of applied job types", "error", err)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dropDeleted(applied.Names)
	for _, name := range applied.Names {
		for _, outcome := range contract.Outcomes() {
			w.groups.WithLabelValues(w.name("type/"+name, name), string(outcome))
		}
		w.warnings.WithLabelValues(w.name("type/"+name, name), "")
		if w.listed[name] {
			continue // One that is applied again has newer runs than the list.
		}
		w.listed[name] = true
		w.succeeded(w.name("type/"+name, name), applied.Completed[name])
		w.numbers.set(w.name("type/"+name, name), applied.Values[name].Values, applied.Values[name].Ended)
	}
}

// dropDeleted removes the series of job types that are in an earlier list only, also after the end of an open run.
func (w *Watcher) dropDeleted(names []string) {
	applied := map[string]bool{}
	for _, name := range names {
		applied[name] = true
	}
	for name := range w.listed {
		if applied[name] || !w.names["type/"+name] {
			continue
		}
		series := prometheus.Labels{"job_type": name}
		w.groups.DeletePartialMatch(series)
		w.warnings.DeletePartialMatch(series)
		w.success.DeletePartialMatch(series)
		w.numbers.drop(name)
		delete(w.last, name)
		delete(w.names, "type/"+name)
	}
}

// New returns a Watcher that reads results with reader.
func New(reader converter.DataConverter, log *slog.Logger) *Watcher {
	return &Watcher{
		reader: reader, log: log, names: map[string]bool{}, listed: map[string]bool{}, last: map[string]time.Time{}, numbers: newJobValues(),
		groups: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "roundsman_runs_total", Help: "Runs of job types that this control plane brought to their end, by outcome.",
		}, []string{"job_type", "outcome"}),
		dags: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "roundsman_dag_runs_total", Help: "Runs of DAGs that this control plane brought to their end, by outcome; sub-DAGs are left out.",
		}, []string{"dag", "outcome"}),
		warnings: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "roundsman_warnings_total", Help: "Jobs and tasks that completed with a warning, in runs that this control plane brought to their end.",
		}, []string{"job_type", "dag"}),
		success: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "roundsman_last_success_timestamp_seconds", Help: "When a run of the job type last ended completed.",
		}, []string{"job_type"}),
	}
}

// Describe implements [prometheus.Collector].
func (w *Watcher) Describe(out chan<- *prometheus.Desc) {
	w.groups.Describe(out)
	w.dags.Describe(out)
	w.warnings.Describe(out)
	w.success.Describe(out)
	for _, one := range w.numbers.all() {
		one.Describe(out)
	}
}

// Collect implements [prometheus.Collector].
func (w *Watcher) Collect(out chan<- prometheus.Metric) {
	w.addApplied()
	w.groups.Collect(out)
	w.dags.Collect(out)
	w.warnings.Collect(out)
	w.success.Collect(out)
	for _, one := range w.numbers.all() {
		one.Collect(out)
	}
}

// Intercept is an interceptor for the options of the connection.
func (w *Watcher) Intercept(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	err := invoke(ctx, method, req, reply, cc, options...)
	answer, ok := req.(*workflowservice.RespondWorkflowTaskCompletedRequest)
	if !ok || err != nil {
		return err
	}
	if end, ended := endingOf(answer, w.reader); ended {
		w.count(end)
		w.write(ctx, end)
	}
	return nil
}

func (w *Watcher) count(end ending) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case end.DryRun || end.sub():
	case end.DAG != "":
		name := w.name("dag/"+end.DAG, end.DAG)
		w.dags.WithLabelValues(name, string(end.Outcome)).Inc()
		w.warnings.WithLabelValues("", name).Add(end.warnings())
	default:
		name := w.name("type/"+end.JobType, end.JobType)
		w.groups.WithLabelValues(name, string(end.Outcome)).Inc()
		w.warnings.WithLabelValues(name, "").Add(end.warnings())
		w.succeeded(name, end.Record.LastSuccess)
		w.numbers.set(name, end.Record.Values, end.EndedAt)
	}
}

func (w *Watcher) succeeded(name string, at time.Time) {
	if at.After(w.last[name]) {
		w.last[name] = at
		w.success.WithLabelValues(name).Set(float64(at.UnixMilli()) / 1000)
	}
}

func (w *Watcher) name(key, name string) string {
	if !w.names[key] && len(w.names) >= maxNames {
		return otherName
	}
	w.names[key] = true
	return name
}

func (w *Watcher) write(ctx context.Context, end ending) {
	level := slog.LevelInfo
	switch end.Outcome {
	case contract.OutcomePartial, contract.OutcomeFailed, contract.OutcomeTimeout:
		level = slog.LevelWarn
	case contract.OutcomeCompleted, contract.OutcomeCanceled, contract.OutcomeSkipped:
	}
	fields := []any{"run", end.run}
	if end.DAG != "" {
		fields = append(fields, "dag", end.DAG)
	} else {
		fields = append(fields, "job_type", end.JobType)
	}
	fields = append(fields, "outcome", string(end.Outcome), "took", (time.Duration(end.DurationMS) * time.Millisecond).String(), counted(end.Counts))
	if end.DryRun {
		fields = append(fields, "dry_run", true)
	}
	if end.Reason != "" {
		fields = append(fields, "reason", jobtype.OneLine(end.Reason, jobtype.MaxSummaryBytes))
	}
	if len(end.Errors) > 0 {
		fields = append(fields, "error", jobtype.OneLine(jobtype.ClipCause(end.Errors[0].Message, jobtype.MaxSummaryBytes), jobtype.MaxSummaryBytes))
	}
	w.log.Log(ctx, level, "run ended", fields...)
}
