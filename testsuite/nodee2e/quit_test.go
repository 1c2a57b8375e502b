package nodee2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/sites"
)

// TestQuit: SIGQUIT shows the stacks of each process that serves and ends it in order.
func TestQuit(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	node := s.worker("node-a")
	testsuite.WaitFor(t, time.Minute, "the worker serves", func() bool { return strings.Contains(node.Stderr.String(), "the worker serves") })
	node.Signal(t, syscall.SIGQUIT)
	assert.Equal(t, 0, node.Code(t, time.Minute), node.Stderr.Last())
	assert.Contains(t, node.Stderr.String(), "goroutine 1 [")
	w := s.Await("node-a", "OFFLINE", func(w contract.WorkerDetail) bool { return w.State == contract.WorkerOffline })
	assert.Equal(t, contract.WorkerUnregistered, w.Transitions[len(w.Transitions)-1].Code, "it did not have to become silent")
	s.control.Signal(t, syscall.SIGQUIT)
	assert.Equal(t, 0, s.control.Code(t, time.Minute))
	assert.Contains(t, s.control.Stderr.String(), "goroutine 1 [")
}

// TestJobsOfAWorker: those that wait on it are counted by type, and those of a dead one
// are read from the open runs.
func TestJobsOfAWorker(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	address := sites.FreeAddress(t)
	s.Start("server", "--http", address)
	s.hold("work", "more")
	const policy = "global_execution_concurrency: 20, per_worker_execution_concurrency: 20, heartbeat_timeout: 1m"
	s.apply(group{"work", "steps", policy, 12, 2, 50}, group{"more", "steps", policy, 12, 2, 50})
	node := s.worker("node-a", "--max-execute", "2")
	s.AwaitFresh("node-a")
	s.Begin("work")
	s.awaitBook("the worker is full", func(b book) bool { return len(b.of("start")) == 2 })
	s.Begin("more")
	testsuite.WaitFor(t, time.Minute, "jobs wait on the worker", func() bool {
		report, err := s.Client.Workers().Ask(t.Context(), "node-a")
		return err == nil && report.Executing == 2 && report.Queued["more"] > 0
	})
	node.Kill()
	var answer struct {
		Jobs []contract.WorkerJob `json:"jobs"`
	}
	testsuite.WaitFor(t, 30*time.Second, "the API lists the jobs of the dead worker", func() bool {
		response, err := http.Get("http://" + address + "/api/v1/workers/node-a/jobs")
		if err != nil {
			return false
		}
		defer response.Body.Close()
		require.NoError(t, json.NewDecoder(response.Body).Decode(&answer))
		running := 0
		for _, job := range answer.Jobs {
			if job.JobType == "work" {
				running++
			}
		}
		return running == 2
	})
	for _, job := range answer.Jobs {
		assert.Equal(t, contract.WorkerJobLost, job.State)
		assert.NotEmpty(t, job.GroupID)
	}
}
