package gatewaye2e

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/sites"
)

// ledger records each execution with its fence.
type ledger struct {
	mu sync.Mutex
	// highest is the highest fence at each object, done the number of accepted executions.
	highest map[string]float64
	done    map[string]int
	starts  int
}

// write does the work at a fenced object, which refuses a writer with an older fence.
func (l *ledger) write(key string, fence float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.starts++
	if fence < l.highest[key] {
		return
	}
	if fence > l.highest[key] {
		l.highest[key], l.done[key] = fence, 0
	}
	l.done[key]++
}

func (l *ledger) executions() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.starts
}

// fleetOf are remote workers in this process. They repeat every call until a gateway accepts it.
type fleetOf struct {
	gateways []string
	ledger   *ledger
}

// again repeats a call until a gateway answers it.
func (f *fleetOf) again(ctx context.Context, r *remote, turn *int, path string, body object) (answer, bool) {
	for ctx.Err() == nil {
		r.base = "http://" + f.gateways[*turn%len(f.gateways)] + "/api/v1"
		a, err := r.send(ctx, http.MethodPost, path, body)
		if err == nil && a.status < http.StatusInternalServerError && a.status != http.StatusTooManyRequests {
			return a, true
		}
		*turn++
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	return answer{}, false
}

func (f *fleetOf) serve(ctx context.Context, r *remote, turn int) {
	for {
		job, ok := f.again(ctx, r, &turn, "/workers/"+r.id+"/jobs:poll", object{"wait": "20s"})
		if !ok {
			return
		}
		if job.status != http.StatusOK {
			continue
		}
		fence, _ := job.body["fence"].(float64)
		select {
		case <-time.After(100 * time.Millisecond): // The work.
		case <-ctx.Done():
			return
		}
		f.ledger.write(job.text("dedupe_key"), fence)
		_, _ = f.again(ctx, r, &turn, "/leases/"+job.text("lease")+"/complete", object{"summary": "done"})
	}
}

// TestKilledGateways: a gateway is killed after every 150 executions. No job is lost or counted twice, and a fenced
// object accepts each execution once.
func TestKilledGateways(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	f := &fleetOf{gateways: []string{sites.FreeAddress(t), sites.FreeAddress(t)}, ledger: &ledger{highest: map[string]float64{}, done: map[string]int{}}}
	processes := []*sites.Process{s.gateway(f.gateways[0]), s.gateway(f.gateways[1])}
	const jobs, between = 800, 150
	s.apply(jobType("tidy", "tidy", fmt.Sprintf("heartbeat_timeout: 3s, global_execution_concurrency: 8, per_worker_execution_concurrency: 2, max_jobs_per_detection: %d", jobs)))
	ctx, end := context.WithCancel(t.Context())
	var working sync.WaitGroup
	defer working.Wait()
	defer end()
	var workers []*remote
	for i := range 4 {
		r := &remote{t: t, base: "http://" + f.gateways[0] + "/api/v1", id: fmt.Sprintf("far-%d", i)}
		require.Equal(t, http.StatusOK, r.register(object{"max_execute": 2}).status)
		workers = append(workers, r)
		pinger := *r
		working.Go(func() {
			turn := i
			for {
				_, ok := f.again(ctx, &pinger, &turn, "/workers/"+pinger.id+"/ping", object{"executing": 0, "detecting": 0})
				select {
				case <-time.After(500 * time.Millisecond):
				case <-ctx.Done():
					return
				}
				if !ok {
					return
				}
			}
		})
	}
	for _, r := range workers {
		s.Await(r.id, "fresh", func(w contract.WorkerDetail) bool { return w.Fresh })
	}
	ref := s.Begin("tidy")
	keys := make([]string, jobs)
	for i := range keys {
		keys[i] = fmt.Sprintf("object-%d", i)
	}
	s.detectAnywhere(workers, keys)
	for i, r := range workers {
		for slot := range 2 {
			own := *r
			working.Go(func() { f.serve(ctx, &own, i+slot) })
		}
	}
	kills := 0
	ended := make(chan contract.JobGroupResult, 1)
	working.Go(func() { ended <- s.Result(ref) })
	for tick := time.NewTicker(50 * time.Millisecond); ; {
		select {
		case result := <-ended:
			tick.Stop()
			t.Logf("%d jobs, %d gateways killed, %d executions, %d replacements", jobs, kills, f.ledger.starts, result.Counts.Replacements)
			assert.Equal(t, contract.OutcomeCompleted, result.Outcome, "%+v", result)
			assert.Equal(t, jobs, result.Counts.Completed)
			assert.Zero(t, result.Counts.Retries)
			assert.GreaterOrEqual(t, kills, 3)
			for _, key := range keys {
				assert.Equal(t, 1, f.ledger.done[key], key)
			}
			return
		case <-tick.C:
			if f.ledger.executions() < (kills+1)*between {
				continue
			}
			which := kills % len(processes)
			processes[which].Kill()
			kills++
			processes[which] = s.gateway(f.gateways[which])
		}
	}
}

// detectAnywhere answers the next detection of any worker.
func (s *site) detectAnywhere(workers []*remote, keys []string) {
	s.T.Helper()
	found := make(chan struct{})
	var once sync.Once
	var asking sync.WaitGroup
	for _, r := range workers {
		own := *r
		asking.Go(func() {
			for {
				select {
				case <-found:
					return
				default:
				}
				d, err := own.send(s.T.Context(), http.MethodPost, "/workers/"+own.id+"/detections:poll", object{"wait": "1s"})
				if err != nil || d.status != http.StatusOK {
					continue
				}
				cursor := d.text("cursor")
				for len(keys) > 0 {
					page := keys[:min(100, len(keys))]
					keys = keys[len(page):]
					proposals := []object{}
					for _, key := range page {
						proposals = append(proposals, object{"dedupe_key": key})
					}
					a, err := own.send(s.T.Context(), http.MethodPost, "/leases/"+d.text("lease")+"/proposals", object{"cursor": cursor, "proposals": proposals})
					if err != nil || a.status != http.StatusOK {
						s.T.Errorf("a page was not taken: %v %v", a.body, err)
					}
					cursor = a.text("cursor")
				}
				a, err := own.send(s.T.Context(), http.MethodPost, "/leases/"+d.text("lease")+"/detected", object{"cursor": cursor})
				if err != nil || a.status != http.StatusOK {
					s.T.Errorf("the detection was not ended: %v %v", a.body, err)
				}
				once.Do(func() { close(found) })
			}
		})
	}
	asking.Wait()
}

// TestPingsWriteNoHistory: 200 workers ping, the registry's history does not grow, and all workers stay ONLINE.
func TestPingsWriteNoHistory(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	address := sites.FreeAddress(t)
	s.gateway(address)
	const many, enough = 200, 2000
	pings := &atomic.Int64{}
	ctx, end := context.WithCancel(t.Context())
	var pinging sync.WaitGroup
	defer pinging.Wait()
	defer end()
	crowd(t, address, many, func(r *remote) {
		r.pings = pings
		pinging.Go(func() { r.pinging(ctx, time.Second) })
	})
	fresh := func() (count int) {
		list, err := s.Client.Workers().List(t.Context(), contract.WorkersQueryInput{Online: true})
		if err != nil {
			return 0
		}
		for _, w := range list {
			if w.Fresh {
				count++
			}
		}
		return count
	}
	length := func() int64 {
		described, err := s.Client.Temporal().DescribeWorkflowExecution(t.Context(), contract.FleetWorkflowID, "")
		require.NoError(t, err)
		require.Equal(t, enums.WORKFLOW_EXECUTION_STATUS_RUNNING, described.GetWorkflowExecutionInfo().GetStatus())
		return described.GetWorkflowExecutionInfo().GetHistoryLength()
	}
	testsuite.WaitFor(t, 2*time.Minute, "all are fresh", func() bool { return fresh() == many })
	// Changes begun by registrations may still end.
	before := length()
	testsuite.WaitFor(t, 2*time.Minute, "the registry is at rest", func() bool {
		was := before
		<-time.After(5 * time.Second)
		before = length()
		return before == was
	})
	sent := pings.Load()
	testsuite.WaitFor(t, time.Minute, "2,000 pings", func() bool { return pings.Load() >= sent+enough })
	// A late registration or a slow worker may still write a few events, but 2,000 pings write none.
	assert.Less(t, length()-before, int64(50), "2,000 pings")
	testsuite.WaitFor(t, time.Minute, "all are still fresh", func() bool { return fresh() == many })
}
