package gatewaye2e

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/edge/gateway"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/testsuite"
)

func registration(id string, slots int) gateway.Registration {
	return gateway.Registration{
		ID: id, Host: "far-away", PID: 42, MaxExecute: &slots,
		Capabilities: []contract.Capability{{Handler: "tidy", Detect: true, Execute: true}},
	}
}

func join(t *testing.T, g *gateway.Gateway, in gateway.Registration) gateway.Worker {
	t.Helper()
	accepted, err := g.Register(t.Context(), in)
	require.NoError(t, err)
	w, err := g.Worker(accepted.Token)
	require.NoError(t, err)
	_, err = w.Ping(t.Context(), gateway.Ping{})
	require.NoError(t, err)
	return w
}

// codeOf is the code of a gateway's answer, empty for other errors.
func codeOf(err error) gateway.Code {
	if e, ok := errors.AsType[*gateway.Error](err); ok {
		return e.Code
	}
	return ""
}

// TestOneRun: registration, detection in two pages, and jobs with progress, checkpoint and results, over two
// gateways in turn.
func TestOneRun(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	first, second := s.core(), s.core()
	s.apply(jobType("tidy", "tidy", "global_execution_concurrency: 3, per_worker_execution_concurrency: 3, retry_limit: 1, retry_backoff: 1s"))
	accepted, err := first.Register(t.Context(), registration("far", 3))
	require.NoError(t, err)
	w, err := second.Worker(accepted.Token)
	require.NoError(t, err)
	// The registry may be younger than its settings, which a later ping passes on.
	testsuite.WaitFor(t, time.Minute, "the settings have come", func() bool {
		settings, err := w.Ping(t.Context(), gateway.Ping{})
		require.NoError(t, err)
		return settings.HeartbeatInterval == jobtype.Duration(time.Second)
	})
	seen := s.Await("far", "ONLINE and fresh", func(w contract.WorkerDetail) bool { return w.State == contract.WorkerOnline && w.Fresh })
	assert.Equal(t, "far-away", seen.Registration.Host)
	go pinging(t, w)

	ref := s.Begin("tidy")
	d, err := w.PollDetection(t.Context(), 30*time.Second)
	require.NoError(t, err)
	require.NotNil(t, d)
	assert.Equal(t, "tidy", d.Handler)
	l, err := w.Lease(d.Lease)
	require.NoError(t, err)
	page, err := l.Propose(t.Context(), d.Cursor, []jobtype.Proposal{{DedupeKey: "a"}, {DedupeKey: "b"}})
	require.NoError(t, err)
	again, err := l.Propose(t.Context(), d.Cursor, []jobtype.Proposal{{DedupeKey: "a"}, {DedupeKey: "b"}})
	require.NoError(t, err, "a repeat")
	assert.Equal(t, page.Emitted, again.Emitted)
	page, err = l.Propose(t.Context(), again.Cursor, []jobtype.Proposal{{DedupeKey: "c"}, {Summary: string(make([]byte, 100<<10))}})
	require.NoError(t, err)
	assert.Equal(t, 4, page.Emitted)
	assert.Equal(t, 1, page.Invalid)
	assert.NotEmpty(t, page.Faults)
	require.NoError(t, l.Detected(t.Context(), page.Cursor, false))

	failed := false
	for done := 0; done < 3; {
		job, err := w.PollJob(t.Context(), gateway.PollInput{Wait: 20 * time.Second})
		require.NoError(t, err)
		require.NotNil(t, job)
		assert.NotEmpty(t, job.GroupID)
		l, err := w.Lease(job.Lease)
		require.NoError(t, err)
		percent := 40.0
		cancel, err := l.Heartbeat(t.Context(), gateway.Progress{Percent: &percent, Stage: "half", Checkpoint: json.RawMessage(`{"at":7}`)})
		require.NoError(t, err)
		assert.Empty(t, cancel)
		if job.DedupeKey == "b" && !failed {
			failed = true
			require.NoError(t, l.Fail(t.Context(), gateway.Failure{Message: "once", Checkpoint: json.RawMessage(`{"at":7}`)}))
			continue
		}
		if job.DedupeKey == "b" {
			assert.JSONEq(t, `{"at":7}`, string(job.Checkpoint))
		}
		require.NoError(t, l.Complete(t.Context(), jobtype.Result{Summary: "tidied " + job.DedupeKey}))
		assert.Equal(t, gateway.CodeLeaseLost, codeOf(l.Complete(t.Context(), jobtype.Result{})), "a repeat changes nothing")
		done++
	}
	result := s.Result(ref)
	assert.Equal(t, contract.OutcomePartial, result.Outcome, "for the invalid proposal: %+v", result)
	assert.Equal(t, 1, result.Counts.Invalid)
	assert.Equal(t, 3, result.Counts.Completed)
	assert.Equal(t, 1, result.Counts.Retries)
	assert.Equal(t, map[string]int{"far": 3}, result.ByWorker)

	require.NoError(t, w.Unregister(t.Context()))
	s.Await("far", "OFFLINE at once", func(w contract.WorkerDetail) bool { return w.State == contract.WorkerOffline })
}

// pinging keeps a worker alive until the test ends.
func pinging(t *testing.T, w gateway.Worker) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_, _ = w.Ping(t.Context(), gateway.Ping{})
		case <-t.Context().Done():
			return
		}
	}
}

// TestBinding: a worker's ids and leases are void for other workers, and refusals by the registry reach the
// client.
func TestBinding(t *testing.T) {
	t.Parallel()
	s := unhurried(t)
	g := s.core()
	s.apply(jobType("tidy", "tidy", ""))
	one, err := g.Register(t.Context(), registration("one", 1))
	require.NoError(t, err)
	owner, err := g.Worker(one.Token)
	require.NoError(t, err)
	_, err = owner.Ping(t.Context(), gateway.Ping{})
	require.NoError(t, err)
	s.Await("one", "fresh", func(w contract.WorkerDetail) bool { return w.Fresh })
	go pinging(t, owner)
	s.Begin("tidy")
	d, err := owner.PollDetection(t.Context(), 30*time.Second)
	require.NoError(t, err)
	require.NotNil(t, d)

	thief := join(t, g, registration("two", 1))
	_, err = thief.Lease(d.Lease)
	assert.Equal(t, gateway.CodeNotYours, codeOf(err), "another's lease")
	_, err = g.Worker(one.Token[:len(one.Token)-2] + "xx")
	assert.Equal(t, gateway.CodeBadToken, codeOf(err))
	_, err = thief.Lease(d.Lease[1:])
	assert.Equal(t, gateway.CodeBadToken, codeOf(err))

	in := registration("one", 1)
	_, err = g.Register(t.Context(), in)
	require.Equal(t, gateway.CodeIDInUse, codeOf(err))
	refused, _ := errors.AsType[*gateway.Error](err)
	assert.Equal(t, "far-away", refused.Holder.Host)
	assert.Positive(t, refused.RetryAfter)
	in.Previous = one.Token
	_, err = g.Register(t.Context(), in)
	require.NoError(t, err, "a process that proves that it succeeds the other")
	testsuite.WaitFor(t, 20*time.Second, "the replaced process is told to register again", func() bool {
		_, err := owner.Ping(t.Context(), gateway.Ping{})
		return codeOf(err) == gateway.CodeUnknownWorker
	})
}
