package gatewaye2e

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/sites"
)

// insist repeats a request until it has a final answer.
func (r *remote) insist(ctx context.Context, path string, body any) answer {
	for ctx.Err() == nil {
		a, err := r.send(ctx, http.MethodPost, path, body)
		if err == nil && a.status < http.StatusInternalServerError && a.status != http.StatusTooManyRequests {
			return a
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	return answer{}
}

// TestOneKeyOneEffect: twenty callers repeat five requests with one key each while every control plane is
// killed and restarted. Each request has one effect, and all callers get the same answer.
func TestOneKeyOneEffect(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	address := sites.FreeAddress(t)
	s.serve(address, "server", "--http", address)
	s.apply(jobType("tidy", "tidy", "") + jobType("mop", "mop", "") + jobType("wipe", "wipe", ""))
	plain := &remote{t: t, base: "http://" + address + "/api/v1"}
	require.Equal(t, http.StatusAccepted, plain.post("/dag-runs", object{"document": "version: 1\nname: gate\ntasks:\n- {id: ask, approval: {prompt: continue}}\n- {id: next, needs: [ask], approval: {prompt: and on}}\n", "as": "first"}).status)
	testsuite.WaitFor(t, time.Minute, "the task waits for its approval", func() bool {
		a, err := plain.send(t.Context(), http.MethodGet, "/runs/gate~first/items/ask", nil)
		return err == nil && a.text("state") == "running"
	})
	require.Equal(t, http.StatusAccepted, plain.post("/job-types/wipe/submissions?allow_unregistered=true", object{"id": "canceled", "proposals": []object{{"dedupe_key": "a"}}}).status)
	testsuite.WaitFor(t, time.Minute, "the job waits", func() bool {
		a, err := plain.send(t.Context(), http.MethodGet, "/runs/wipe-adhoc-canceled/items", nil)
		return err == nil && len(list(a, "items")) == 1
	})
	require.Equal(t, http.StatusAccepted, plain.post("/runs/wipe-adhoc-canceled/cancel", object{}).status)
	testsuite.WaitFor(t, time.Minute, "the run is canceled", func() bool {
		a, err := plain.send(t.Context(), http.MethodGet, "/runs/wipe-adhoc-canceled", nil)
		return err == nil && a.text("outcome") == "canceled"
	})
	requests := []struct {
		path   string
		body   object
		status int
		name   string
	}{
		{"/job-types/tidy/run", object{}, http.StatusAccepted, "workflow_id"},
		{"/job-types/mop/submissions?allow_unregistered=true", object{"proposals": []object{{"dedupe_key": "a"}}}, http.StatusAccepted, "workflow_id"},
		{"/dag-runs", object{"document": "version: 1\nname: once\ntasks: [{id: a, approval: {prompt: x}}]\n"}, http.StatusAccepted, "workflow_id"},
		{"/runs/gate~first/items/ask/approve", object{"note": "fine"}, http.StatusOK, "tasks"},
		{"/runs/wipe-adhoc-canceled/retry", object{}, http.StatusAccepted, "workflow_id"},
	}
	answers := make([][]answer, len(requests))
	ctx, cancel := testsuite.Within(t, 2*time.Minute)
	defer cancel()
	var callers sync.WaitGroup
	var answered atomic.Int64
	for i, request := range requests {
		answers[i] = make([]answer, 20)
		for k := range answers[i] {
			callers.Go(func() {
				r := &remote{t: t, base: plain.base, header: http.Header{"Idempotency-Key": {request.path}}}
				answers[i][k] = r.insist(ctx, request.path, request.body)
				answered.Add(1)
			})
		}
	}
	var before []int64
	for _, after := range []time.Duration{150 * time.Millisecond, 400 * time.Millisecond, time.Second} {
		select {
		case <-time.After(after):
		case <-ctx.Done():
		}
		before = append(before, answered.Load())
		for _, p := range s.Processes {
			p.Kill()
		}
		s.serve(address, "server", "--http", address)
	}
	callers.Wait()
	for i, request := range requests {
		for _, a := range answers[i] {
			require.Equal(t, request.status, a.status, "%s: %v", request.path, a.body)
			assert.Equal(t, answers[i][0].body[request.name], a.body[request.name], request.path)
		}
	}
	assert.Less(t, before[0], int64(20*len(requests)), "the first kill met requests")
	for query, runs := range map[string]int{"job_type=tidy": 1, "job_type=mop": 1, "job_type=wipe": 2, "dag=once": 1} {
		var found []object
		testsuite.WaitFor(t, 30*time.Second, query+" is listed", func() bool {
			a, err := plain.send(t.Context(), http.MethodGet, "/runs?"+query, nil)
			found = list(a, "runs")
			return err == nil && len(found) >= runs
		})
		assert.Len(t, found, runs, query)
	}
	entries := map[any]int{}
	recorded, err := plain.send(t.Context(), http.MethodGet, "/audit?kind=operator", nil)
	require.NoError(t, err)
	for _, entry := range list(recorded, "entries") {
		entries[entry["action"]]++
	}
	for action, most := range map[string]int{"jobtype.run": 1, "jobs.submit": 2, "jobs.retry": 1, "dag.approve": 1} {
		assert.LessOrEqual(t, entries[action], most, action)
	}
	assert.Equal(t, http.StatusConflict, plain.post("/runs/gate~first/items/ask/approve", object{}).status, "without the key it is another request")
	t.Logf("of %d requests %d were answered before the kills", 20*len(requests), before)
}

// TestARepeatedCancelIsOne: only another cancel stops the tasks that clean up.
func TestARepeatedCancelIsOne(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	address := sites.FreeAddress(t)
	s.serve(address, "server", "--http", address)
	plain := &remote{t: t, base: "http://" + address + "/api/v1"}
	begin := object{"document": "version: 1\nname: tidied\ntasks:\n- {id: work, approval: {}}\n- {id: clean, needs: [work], trigger_rule: always, approval: {}}\n", "as": "1"}
	require.Equal(t, http.StatusAccepted, plain.post("/dag-runs", begin).status)
	become := func(task, state string) {
		t.Helper()
		testsuite.WaitFor(t, time.Minute, task+" is "+state, func() bool {
			a, err := plain.send(t.Context(), http.MethodGet, "/runs/tidied~1/items/"+task, nil)
			return err == nil && a.text("state") == state
		})
	}
	become("work", "running")
	keyed := &remote{t: t, base: plain.base, header: http.Header{"Idempotency-Key": {"the cancel"}}}
	require.Equal(t, http.StatusAccepted, keyed.post("/runs/tidied~1/cancel", object{}).status)
	become("clean", "running")
	require.Equal(t, http.StatusAccepted, keyed.post("/runs/tidied~1/cancel", object{}).status)
	require.Equal(t, http.StatusOK, plain.post("/runs/tidied~1/items/clean/approve", object{}).status)
	become("clean", "completed")
}
