package nodee2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/sites"
)

// TestJoin: a due job type without a capable worker starts to detect within 5 s
// of the first one appearing, and a worker that joins a running group is used
// within 5 s.
func TestJoin(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.hold("waiting")
	s.apply(group{"waiting", "steps", "global_execution_concurrency: 100, per_worker_execution_concurrency: 4", 60, 2, 250})
	ref := s.Begin("waiting")
	testsuite.WaitFor(t, time.Minute, "the group waits for a worker", func() bool {
		shown, err := s.Client.Runs().Show(t.Context(), ref)
		return err == nil && shown.Group != nil && shown.Group.Detector == "" && shown.Group.Phase == "waiting"
	})
	for _, step := range []struct{ id, what string }{{"node-a", "detect"}, {"node-b", "start"}} {
		s.worker(step.id)
		b := s.awaitBook(step.what+" on "+step.id, func(b book) bool { return len(b.of(step.what).on(step.id)) > 0 })
		w, err := s.Client.Workers().Get(t.Context(), step.id)
		require.NoError(t, err)
		took := b.of(step.what).on(step.id)[0].at.Sub(w.RegisteredAt)
		t.Logf("%s: first %s %.2f s after it was registered", step.id, step.what, took.Seconds())
	}
	s.letGo()
	assert.Equal(t, contract.OutcomeCompleted, s.Result(ref).Outcome)
}

// TestOperator resizes a worker while it works, queries its jobs, and drains it.
func TestOperator(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.hold("work")
	s.apply(group{"work", "steps", "global_execution_concurrency: 100, per_worker_execution_concurrency: 50", 60, 4, 250})
	s.letGo()
	s.worker("node-a", "--max-execute", "1")
	s.AwaitFresh("node-a")
	ref := s.Begin("work")
	s.awaitBook("the first job is done", func(b book) bool { return len(b.of("end")) >= 1 })
	require.Equal(t, 1, s.book().worst())
	s.holdAgain()

	assert.Contains(t, s.Command("set", "node-a", "max_execute=5", "--reason", "more memory"), "at most 1 detect, 5 execute\n")
	s.awaitBook("five at once", func(b book) bool { return b.worst() == 5 })
	var shown struct {
		Report contract.WorkerReport `json:"report"`
	}
	require.NoError(t, json.Unmarshal([]byte(s.Command("show", "node-a", "--output", "json")), &shown))
	assert.NotEmpty(t, shown.Report.Jobs)
	assert.Equal(t, contract.WorkerCaps{MaxDetect: 1, MaxExecute: 5}, shown.Report.Caps)
	testsuite.WaitFor(t, 30*time.Second, "workers list shows slots in use", func() bool {
		return regexp.MustCompile(`node-a .* 0/1 +[1-5]/5 `).MatchString(s.Command("workers"))
	})

	s.worker("node-b", "--max-execute", "5")
	s.AwaitFresh("node-b")
	drain := s.Start("drain", "node-a", "--reason", "new disks")
	testsuite.WaitFor(t, time.Minute, "the drain waits", func() bool { return strings.Contains(drain.Stdout.String(), "still running") })
	s.letGo()
	require.Equal(t, 0, drain.Code(t, time.Minute), drain.Stderr.Last())
	drained := time.Now()
	assert.Contains(t, drain.Stdout.String(), "still running, the oldest is job-")
	assert.Contains(t, drain.Stdout.String(), "node-a is drained: nothing runs there")
	w := s.Await("node-a", "DRAINING", func(w contract.WorkerDetail) bool { return w.State == contract.WorkerDraining })
	assert.Equal(t, "draining: new disks", w.Transitions[len(w.Transitions)-1].Reason)
	result := s.Result(ref)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, "%+v", result)
	b := s.book()
	assert.LessOrEqual(t, b.on("node-a").worst(), 5)
	late := b.of("start").on("node-a").where(func(e entry) bool { return e.at.After(drained) })
	assert.Empty(t, late, "a DRAINING worker gets nothing new")
	for key, n := range b.of("start").perKey() {
		assert.Equal(t, 1, n, "%s ran more than once", key)
	}
}

// TestHealth: /healthz, /readyz and /metrics of both serving commands, also while
// the server is away.
func TestHealth(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	worker := s.worker("node-a", "--health-addr", "0")
	control := s.Start("server", "--health-addr", "127.0.0.1:0")
	s.AwaitFresh("node-a")
	address := func(p *sites.Process) string {
		found := regexp.MustCompile(`address=(127\.0\.0\.1:\d+)`)
		testsuite.WaitFor(t, time.Minute, "the address is logged", func() bool { return found.MatchString(p.Stderr.String()) })
		return found.FindStringSubmatch(p.Stderr.String())[1]
	}
	get := func(p *sites.Process, path string) (int, string) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address(p)+path, http.NoBody)
		require.NoError(t, err)
		response, err := (&http.Client{Timeout: time.Minute}).Do(request)
		require.NoError(t, err)
		defer func() { require.NoError(t, response.Body.Close()) }()
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return response.StatusCode, string(body)
	}
	become := func(p *sites.Process, path string, code int) {
		testsuite.WaitFor(t, time.Minute, fmt.Sprintf("%s answers %d", path, code), func() bool {
			got, _ := get(p, path)
			return got == code
		})
	}
	for _, p := range []*sites.Process{worker, control} {
		become(p, "/healthz", http.StatusOK)
		become(p, "/readyz", http.StatusOK)
		_, metrics := get(p, "/metrics")
		assert.Contains(t, metrics, "\ntemporal_num_pollers{")
		assert.Contains(t, metrics, "\ngo_goroutines ")
	}
	_, metrics := get(worker, "/metrics")
	assert.Contains(t, metrics, `roundsman_worker_slots{kind="execute",worker="node-a"} 4`)
	assert.Contains(t, metrics, `roundsman_worker_registered{worker="node-a"} 1`)
	assert.Contains(t, metrics, `roundsman_worker_undelivered_outcomes{worker="node-a"} 0`)

	s.Server.Kill()
	for _, p := range []*sites.Process{worker, control} {
		become(p, "/readyz", http.StatusServiceUnavailable)
		code, said := get(p, "/healthz")
		assert.Equal(t, http.StatusOK, code, "a server that is away is no reason to restart the process: %s", said)
	}
	s.Server.Restart(t)
	become(worker, "/readyz", http.StatusOK)
	become(control, "/readyz", http.StatusOK)
}

// TestFirstFailureIsAnIncrease: an applied job type has its counters at 0 before any run, and
// its first failed run makes 1 of that.
func TestFirstFailureIsAnIncrease(t *testing.T) {
	t.Parallel()
	s := &site{Site: sites.New(t)}
	address := sites.FreeAddress(t)
	s.Start("server", "--health-addr", address)
	s.worker("node-a")
	s.AwaitFresh("node-a")
	shows := func(series string) {
		t.Helper()
		testsuite.WaitFor(t, time.Minute, series, func() bool {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/metrics", http.NoBody)
			require.NoError(t, err)
			response, err := (&http.Client{}).Do(request)
			if err != nil {
				return false
			}
			body, err := io.ReadAll(response.Body)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			return strings.Contains(string(body), "\n"+series+"\n")
		})
	}
	s.Apply(sites.Scaled + `job_types:
  broken:
    handler: command
    schedule: {every: 365d, first_run: scheduled}
    policy: {retries: {limit: 0}}
    detect: {command: [echo, one], format: lines}
    execute: {command: ["false"]}
`)
	for _, outcome := range contract.Outcomes() {
		shows(fmt.Sprintf(`roundsman_runs_total{job_type="broken",outcome="%s"} 0`, outcome))
	}
	require.Equal(t, contract.OutcomeFailed, s.Result(s.Begin("broken")).Outcome)
	shows(`roundsman_runs_total{job_type="broken",outcome="failed"} 1`)
	shows(`roundsman_runs_total{job_type="broken",outcome="completed"} 0`)
}
