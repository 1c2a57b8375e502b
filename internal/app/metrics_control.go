package app

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/runend"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

const (
	// usageAge is the maximum age of a repeated answer, so that several scrapers cause one query.
	usageAge = 5 * time.Second
	// usageWithin bounds the query, below Prometheus' default timeout of 10 s.
	usageWithin = 4 * time.Second
)

// WatchRuns logs the end of each run that this connection ends, and counts it in health if not nil.
func WatchRuns(options *starter.Options, health *Health, log *slog.Logger) error {
	ends, before := runend.New(starter.DataConverter(), log), options.Intercept
	options.Intercept = ends.Intercept
	if before != nil {
		options.Intercept = func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, calls ...grpc.CallOption) error {
			return before(ctx, method, req, reply, cc, func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, calls ...grpc.CallOption) error {
				return ends.Intercept(ctx, method, req, reply, cc, invoke, calls...)
			}, calls...)
		}
	}
	if health == nil {
		return nil
	}
	health.runs = ends
	return health.told.Add(ends)
}

func appliedTypes(client *starter.Client) func(context.Context) (runend.Applied, error) {
	var completed map[string]starter.Run
	var values map[string]runend.LastValues
	return func(ctx context.Context) (runend.Applied, error) {
		types, err := jobtypes.Of(client).List(ctx)
		if err != nil {
			return runend.Applied{}, err
		}
		if completed == nil { // Later ones end here or in another control plane.
			completed, err = lastCompleted(ctx, client)
			values = lastValues(ctx, client, completed)
		}
		applied := runend.Applied{Names: make([]string, len(types)), Completed: map[string]time.Time{}, Values: values}
		for i, one := range types {
			applied.Names[i], applied.Completed[one.Name] = one.Name, completed[one.Name].Ended
		}
		return applied, err
	}
}

// maxCompleted bounds the runs searched for the last success of each job type.
const maxCompleted = 1000

func lastCompleted(ctx context.Context, client *starter.Client) (map[string]starter.Run, error) {
	ended, err := client.Runs().List(ctx, starter.RunFilter{Kind: starter.KindGroup, Outcomes: []contract.Outcome{contract.OutcomeCompleted}, Limit: maxCompleted})
	if err != nil {
		return nil, err
	}
	last := map[string]starter.Run{}
	for _, run := range ended {
		if run.AdHoc == "" && run.Ended.After(last[run.JobType].Ended) {
			last[run.JobType] = run
		}
	}
	return last, nil
}

// maxReadValues bounds the results read for their numbers, readsAtOnce the parallel reads.
const (
	maxReadValues = 200
	readsAtOnce   = 8
)

// lastValues skips a result that it cannot read within ctx; the next run of the job type has the numbers.
func lastValues(ctx context.Context, client *starter.Client, runs map[string]starter.Run) map[string]runend.LastValues {
	var mu sync.Mutex
	var reads errgroup.Group
	reads.SetLimit(readsAtOnce)
	values, left := map[string]runend.LastValues{}, maxReadValues
	for name, run := range runs {
		if left--; left < 0 || ctx.Err() != nil {
			break
		}
		reads.Go(func() error {
			result, err := client.Runs().Result(ctx, run.RunRef)
			if err == nil && result.Record.Values != nil {
				mu.Lock()
				defer mu.Unlock()
				values[name] = runend.LastValues{Values: result.Record.Values, Ended: result.EndedAt}
			}
			return nil
		})
	}
	_ = reads.Wait() // No read returns an error.
	return values
}

type usage struct {
	admission contract.AdmissionUsage
	workers   []contract.WorkerDetail
}

// The figures are the same in every control plane.
type controlMetrics struct {
	ask func(context.Context) (usage, error)

	mu   sync.Mutex
	at   time.Time
	last usage
	err  error

	up, queue, oldest, keys, disabled, laneBusy, laneWaiting, laneOldest, poolSize, poolUsed, poolWaiting, workers *prometheus.Desc
}

func newControlMetrics(ask func(context.Context) (usage, error)) *controlMetrics {
	describe := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("roundsman_"+name, help, labels, nil)
	}
	return &controlMetrics{
		ask:         ask,
		up:          describe("control_up", "1 if admission and the worker registry answered; 0: the gauges of the namespace are missing."),
		queue:       describe("queue_length", "Requests for lanes, keys, pools and objects that wait."),
		oldest:      describe("queue_oldest_wait_seconds", "How long the oldest of them has waited; 0: none waits."),
		keys:        describe("held_keys", "Dedupe keys that the retry budget holds back.", "job_type"),
		disabled:    describe("job_type_disabled", "1 for a job type that the retry budget has disabled.", "job_type"),
		laneBusy:    describe("lane_in_use", "1 if a run holds the exclusive lane.", "lane"),
		laneWaiting: describe("lane_waiting", "Runs that wait for the exclusive lane.", "lane"),
		laneOldest:  describe("lane_oldest_wait_seconds", "How long the oldest of them has waited; 0: none waits.", "lane"),
		poolSize:    describe("pool_size", "The size of the resource pool.", "pool"),
		poolUsed:    describe("pool_in_use", "How much of the resource pool is in use.", "pool"),
		poolWaiting: describe("pool_waiting", "Requests that wait for the resource pool.", "pool"),
		workers:     describe("workers", "Workers in the registry, by state.", "state"),
	}
}

// Admission and registry answer from memory.
func askUsage(client *starter.Client) func(context.Context) (usage, error) {
	return func(ctx context.Context) (usage, error) {
		var answer usage
		var err error
		if answer.admission, err = client.Admission().Usage(ctx); err != nil {
			return answer, err
		}
		answer.workers, err = client.Workers().List(ctx, contract.WorkersQueryInput{})
		return answer, err
	}
}

// Describe implements [prometheus.Collector].
func (m *controlMetrics) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{
		m.up, m.queue, m.oldest, m.keys, m.disabled, m.laneBusy, m.laneWaiting, m.laneOldest, m.poolSize, m.poolUsed, m.poolWaiting, m.workers,
	} {
		out <- desc
	}
}

// Collect implements [prometheus.Collector].
func (m *controlMetrics) Collect(out chan<- prometheus.Metric) {
	known, err := m.current(time.Now())
	now := time.Now()
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	if err != nil {
		gauge(m.up, 0)
		return
	}
	gauge(m.up, 1)
	gauge(m.queue, float64(known.admission.Waiting))
	gauge(m.oldest, waited(now, known.admission.OldestAt))
	for jobType, keys := range known.admission.HeldKeys {
		gauge(m.keys, float64(keys), jobType)
	}
	for _, jobType := range known.admission.DisabledTypes {
		gauge(m.disabled, 1, jobType)
	}
	for _, lane := range known.admission.Lanes {
		gauge(m.laneBusy, float64(map[bool]int{true: 1}[lane.Busy]), lane.Name)
		gauge(m.laneWaiting, float64(lane.Waiting), lane.Name)
		gauge(m.laneOldest, waited(now, lane.OldestAt), lane.Name)
	}
	for _, pool := range known.admission.Pools {
		gauge(m.poolSize, float64(pool.Size), pool.Name)
		gauge(m.poolUsed, float64(pool.Used), pool.Name)
		gauge(m.poolWaiting, float64(pool.Waiting), pool.Name)
	}
	states := map[contract.WorkerState]int{
		contract.WorkerOnline: 0, contract.WorkerUnreachable: 0, contract.WorkerOffline: 0, contract.WorkerDraining: 0, contract.WorkerCordoned: 0,
	}
	for _, worker := range known.workers {
		states[worker.State]++
	}
	for state, count := range states {
		gauge(m.workers, float64(count), string(state))
	}
}

func (m *controlMetrics) current(now time.Time) (usage, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.at.IsZero() || now.Sub(m.at) >= usageAge {
		ctx, cancel := context.WithTimeout(context.Background(), usageWithin)
		defer cancel()
		m.last, m.err = m.ask(ctx)
		m.at = time.Now()
	}
	return m.last, m.err
}

func waited(now, since time.Time) float64 {
	if since.IsZero() {
		return 0
	}
	return max(0, now.Sub(since).Seconds())
}
