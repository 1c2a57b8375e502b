package gatewaye2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/sites"
)

// gateway starts a gateway process.
func (s *site) gateway(address string) *sites.Process {
	s.T.Helper()
	return s.serve(address, "gateway", "http", "--listen", address)
}

// serve starts a process that listens at address.
func (s *site) serve(address string, args ...string) *sites.Process {
	s.T.Helper()
	p := s.Start(args...)
	testsuite.WaitFor(s.T, 30*time.Second, "the gateway listens", func() bool {
		c, err := (&net.Dialer{}).DialContext(s.T.Context(), "tcp", address)
		if err != nil {
			return false
		}
		return c.Close() == nil
	})
	return p
}

// remote is a client of the protocol alone.
type remote struct {
	t     *testing.T
	base  string
	id    string
	token string
	// header has additional headers.
	header http.Header
	// pings counts the accepted pings, if it is set.
	pings *atomic.Int64
}

// clients has enough connections for many workers in one process.
var clients = sync.OnceValue(func() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1000}}
})

// answer is the answer of a gateway.
type answer struct {
	status int
	header http.Header
	body   map[string]any
}

func (a answer) text(name string) string {
	text, _ := a.body[name].(string)
	return text
}

// send sends one request. An error means no answer.
func (r *remote) send(ctx context.Context, method, path string, body any) (answer, error) {
	var sent io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return answer{}, err
		}
		sent = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, method, r.base+path, sent)
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	maps.Copy(request.Header, r.header)
	if r.token != "" {
		request.Header.Set("Authorization", "Bearer "+r.token)
	}
	response, err := clients().Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, err
	}
	a := answer{status: response.StatusCode, header: response.Header}
	if len(read) > 0 {
		err = json.Unmarshal(read, &a.body)
	}
	return a, err
}

func (r *remote) post(path string, body any) answer {
	r.t.Helper()
	a, err := r.send(r.t.Context(), http.MethodPost, path, body)
	require.NoError(r.t, err)
	return a
}

type object = map[string]any

func (r *remote) register(more object) answer {
	r.t.Helper()
	a, err := r.registers(r.t.Context(), more)
	require.NoError(r.t, err)
	return a
}

func (r *remote) joined(ctx context.Context) bool {
	a, err := r.registers(ctx, nil)
	return err == nil && a.status == http.StatusOK
}

func (r *remote) registers(ctx context.Context, more object) (answer, error) {
	body := object{"id": r.id, "host": "far-away", "max_execute": 1, "capabilities": []object{{"handler": "tidy", "detect": true, "execute": true}}}
	maps.Copy(body, more)
	a, err := r.send(ctx, http.MethodPost, "/workers/register", body)
	if a.status == http.StatusOK {
		r.token = a.text("token")
	}
	return a, err
}

// crowd registers n workers, several at once: the registry takes those that arrive together in one step. registered is called
// with each of them, also at once. The patience begins again with each worker.
func crowd(t *testing.T, address string, n int, registered func(*remote)) {
	t.Helper()
	var next, known atomic.Int64
	for range 16 {
		go func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				r := &remote{t: t, base: "http://" + address + "/api/v1", id: fmt.Sprintf("far-%04d", i-1)}
				for !r.joined(t.Context()) {
					select {
					case <-time.After(100 * time.Millisecond):
					case <-t.Context().Done():
						return
					}
				}
				registered(r)
				known.Add(1)
			}
		}()
	}
	for have := int64(0); have < int64(n); have = known.Load() {
		testsuite.WaitFor(t, time.Minute, fmt.Sprintf("worker %d of %d registers", have+1, n), func() bool { return known.Load() > have })
	}
}

// join registers and pings until the test ends.
func (s *site) join(address, id string) *remote {
	s.T.Helper()
	r := &remote{t: s.T, base: "http://" + address + "/api/v1", id: id}
	a := r.register(nil)
	require.Equal(s.T, http.StatusOK, a.status, "%v", a.body)
	go r.pinging(s.T.Context(), 500*time.Millisecond)
	s.Await(id, "fresh", func(w contract.WorkerDetail) bool { return w.State == contract.WorkerOnline && w.Fresh })
	return r
}

func (r *remote) pinging(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		a, err := r.send(ctx, http.MethodPost, "/workers/"+r.id+"/ping", object{"executing": 0, "detecting": 0})
		if err == nil && a.status == http.StatusOK && r.pings != nil {
			r.pings.Add(1)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// detect answers the next detection with these keys.
func (r *remote) detect(keys ...string) {
	r.t.Helper()
	d := r.poll("detections")
	proposals := []object{}
	for _, key := range keys {
		proposals = append(proposals, object{"dedupe_key": key})
	}
	page := r.post("/leases/"+d.text("lease")+"/proposals", object{"cursor": d.text("cursor"), "proposals": proposals})
	require.Equal(r.t, http.StatusOK, page.status, "%v", page.body)
	end := r.post("/leases/"+d.text("lease")+"/detected", object{"cursor": page.text("cursor")})
	require.Equal(r.t, http.StatusOK, end.status, "%v", end.body)
}

// poll waits for a job or a detection.
func (r *remote) poll(what string) (a answer) {
	r.t.Helper()
	testsuite.WaitFor(r.t, time.Minute, "something to do in "+what, func() bool {
		a = r.post("/workers/"+r.id+"/"+what+":poll", object{"wait": "5s"})
		return a.status == http.StatusOK
	})
	return a
}

// TestAnswers: the gateway gives each answer that docs/remote-workers.md promises.
func TestAnswers(t *testing.T) {
	t.Parallel()
	s := unhurried(t)
	address := sites.FreeAddress(t)
	s.gateway(address)
	s.apply(jobType("tidy", "tidy", "heartbeat_timeout: 10s, global_execution_concurrency: 2"))
	one := s.join(address, "one")

	t.Log("204: nothing to do")
	assert.Equal(t, http.StatusNoContent, one.post("/workers/one/jobs:poll", object{"wait": "1s"}).status)
	assert.Equal(t, http.StatusNoContent, one.post("/workers/one/detections:poll", object{"wait": "1s"}).status)

	t.Log("409: the id of a live worker, with host and age")
	twin := &remote{t: t, base: one.base, id: "one"}
	a := twin.register(nil)
	assert.Equal(t, http.StatusConflict, a.status)
	assert.Equal(t, "ID_IN_USE", a.text("code"))
	holder, _ := a.body["holder"].(object)
	assert.Equal(t, "far-away", holder["host"])
	assert.NotEmpty(t, holder["age"])
	assert.NotEmpty(t, a.header.Get("Retry-After"))
	assert.Equal(t, "application/problem+json", a.header.Get("Content-Type"))

	t.Log("401, 403: a token is of use to its worker alone")
	assert.Equal(t, http.StatusUnauthorized, twin.post("/workers/one/ping", object{"executing": 0, "detecting": 0}).status)
	two := s.join(address, "two")
	a = two.post("/workers/one/jobs:poll", object{"wait": "1s"})
	assert.Equal(t, http.StatusForbidden, a.status)
	assert.Equal(t, "NOT_YOURS", a.text("code"))

	t.Log("422: what cannot be taken")
	a = twin.register(object{"id": "Not a name"})
	assert.Equal(t, http.StatusUnprocessableEntity, a.status)
	assert.Equal(t, "INVALID", a.text("code"))

	ref := s.Begin("tidy")
	testsuite.WaitFor(t, time.Minute, "a detection", func() bool {
		for _, r := range []*remote{one, two} {
			d := r.post("/workers/"+r.id+"/detections:poll", object{"wait": "1s"})
			if d.status != http.StatusOK {
				continue
			}
			lease := "/leases/" + d.text("lease")
			assert.Equal(t, "tidy", d.text("handler"))
			page := r.post(lease+"/proposals", object{"cursor": d.text("cursor"), "proposals": []object{{"dedupe_key": "a"}}})
			require.Equal(t, http.StatusOK, page.status, "%v", page.body)
			require.Equal(t, http.StatusOK, r.post(lease+"/detected", object{"cursor": page.text("cursor")}).status)
			return true
		}
		return false
	})
	owner, other := one, two
	var job answer
	testsuite.WaitFor(t, time.Minute, "the job", func() bool {
		for _, r := range []*remote{one, two} {
			if job = r.post("/workers/"+r.id+"/jobs:poll", object{"wait": "1s"}); job.status == http.StatusOK {
				if owner = r; r == two {
					other = one
				}
				return true
			}
		}
		return false
	})
	lease := "/leases/" + job.text("lease")
	t.Logf("a lease has %d characters", len(job.text("lease")))
	a = other.post(lease+"/complete", object{})
	assert.Equal(t, http.StatusForbidden, a.status, "another's lease")
	a = owner.post(lease+"/heartbeat", object{"percent": 10, "checkpoint": 4})
	assert.Equal(t, true, a.body["continue"])

	t.Log("410: the owner goes silent, the other gets the job with its checkpoint")
	silent := time.Now()
	second := other.poll("jobs")
	t.Logf("the job was elsewhere %.1f s after its worker's last heartbeat", time.Since(silent).Seconds())
	assert.InDelta(t, 4, second.body["checkpoint"], 0)
	a = owner.post(lease+"/heartbeat", object{"percent": 20})
	assert.Equal(t, http.StatusGone, a.status)
	assert.Equal(t, "LEASE_LOST", a.text("code"))
	a = owner.post(lease+"/complete", object{"summary": "late"})
	assert.Equal(t, http.StatusGone, a.status)
	assert.Equal(t, true, a.body["delivered"])
	a = other.post("/leases/"+second.text("lease")+"/complete", object{"summary": "in time"})
	require.Equal(t, http.StatusOK, a.status, "%v", a.body)
	result := s.Result(ref)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
	assert.Equal(t, 1, result.Counts.Completed)
	assert.Equal(t, map[string]int{other.id: 1}, result.ByWorker, "another attempt has started: the late outcome changes nothing")
}

// TestLateOutcome: the server has timed out an attempt and no other has started. A report with the old lease
// counts.
func TestLateOutcome(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	address := sites.FreeAddress(t)
	s.gateway(address)
	s.apply(jobType("tidy", "tidy", "heartbeat_timeout: 3s"))
	one := s.join(address, "one")
	ref := s.Begin("tidy")
	one.detect("a")
	job := one.poll("jobs")
	testsuite.WaitFor(t, time.Minute, "the server times the attempt out", func() bool {
		return s.events(ref, enums.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT) > 0
	})
	a := one.post("/leases/"+job.text("lease")+"/complete", object{"summary": "late"})
	assert.Equal(t, http.StatusGone, a.status)
	assert.Equal(t, true, a.body["delivered"])
	result := s.Result(ref)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, "%+v", result)
	assert.Zero(t, result.Counts.Replacements)
	a = one.post("/leases/"+job.text("lease")+"/complete", object{"summary": "late"})
	assert.Equal(t, http.StatusGone, a.status, "a repeat")
}

// TestRenewedLease: a worker that still runs a timed-out job and reports so gets a new lease for it.
func TestRenewedLease(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	address := sites.FreeAddress(t)
	s.gateway(address)
	s.apply(jobType("tidy", "tidy", "heartbeat_timeout: 10s"))
	one := s.join(address, "one")
	ref := s.Begin("tidy")
	one.detect("a")
	job := one.poll("jobs")
	var renewed answer
	testsuite.WaitFor(t, time.Minute, "the lease is renewed", func() bool {
		renewed = one.post("/workers/one/jobs:poll", object{"wait": "5s", "full": true, "running": []string{job.text("lease")}})
		return renewed.status == http.StatusOK
	})
	assert.Equal(t, job.text("lease"), renewed.text("replaces"))
	assert.Equal(t, http.StatusGone, one.post("/leases/"+job.text("lease")+"/heartbeat", object{}).status)
	assert.Equal(t, true, one.post("/leases/"+renewed.text("lease")+"/heartbeat", object{"percent": 50}).body["continue"])
	assert.Equal(t, http.StatusOK, one.post("/leases/"+renewed.text("lease")+"/complete", object{}).status)
	result := s.Result(ref)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, "%+v", result)
	assert.Zero(t, result.Counts.Replacements)
}

// events counts the events of a type in a run's history.
func (s *site) events(ref starter.RunRef, kind enums.EventType) (count int) {
	s.T.Helper()
	history := s.Client.Temporal().GetWorkflowHistory(s.T.Context(), ref.WorkflowID, ref.RunID, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for history.HasNext() {
		event, err := history.Next()
		require.NoError(s.T, err)
		if event.GetEventType() == kind {
			count++
		}
	}
	return count
}
