package nodee2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/sites"
)

// deadly is [steps], except that job 0 kills the worker that executes it.
type deadly struct{ steps }

func (deadly) Descriptor() jobtype.Descriptor { return jobtype.Descriptor{Name: "deadly"} }

func (d deadly) Execute(ctx context.Context, job jobtype.Job, progress jobtype.Progress) (jobtype.Result, error) {
	if !isDeadly(entry{key: job.DedupeKey}) {
		return d.steps.Execute(ctx, job, progress)
	}
	var params stepParams
	if err := json.Unmarshal(job.Params, &params); err != nil {
		return jobtype.Result{}, err
	}
	if err := write(params.Book, "start", job.JobType, job.DedupeKey, job.WorkerID, job.Attempt, 0); err != nil {
		return jobtype.Result{}, err
	}
	return jobtype.Result{}, syscall.Kill(os.Getpid(), syscall.SIGKILL)
}

func isDeadly(e entry) bool { return e.key == "deadly-0" }

// TestAJobThatKillsItsWorkers: the job fails, names the workers and uses up its retry budget. The other jobs on these
// workers complete. A service manager starts the workers again.
func TestAJobThatKillsItsWorkers(t *testing.T) {
	t.Parallel()
	const others = 6
	s := newSite(t)
	s.Apply(fmt.Sprintf(`%slanes: {free: {exclusive: false}}
job_types:
  deadly:
    handler: deadly
    lane: free
    schedule: {every: 365d, first_run: scheduled}
    policy: {heartbeat_timeout: 3s, global_execution_concurrency: 12, per_worker_execution_concurrency: 12}
    retry_budget: {per_key: {count: 4, window: 1h, disable_for: 1h}}
    params: {book: %q, jobs: %d, steps: 2, ms: 50, go: %q}
`, sites.Scaled, s.bookPath(), others+1, s.goPath()))
	ids := []string{"node-a", "node-b", "node-c"}
	running := map[string]*sites.Process{}
	for _, id := range ids {
		running[id] = s.worker(id)
	}
	s.AwaitFresh(ids...)
	ref := s.Begin("deadly")
	job := starter.ItemRef{Run: ref, ID: contract.JobID(1)}
	testsuite.WaitFor(t, 3*time.Minute, "the deadly job has failed", func() bool {
		for id, process := range running {
			if process.Ended() {
				running[id] = s.worker(id)
			}
		}
		kills := len(s.book().of("start").where(isDeadly))
		require.LessOrEqual(t, kills, 4, "worker_loss_limit is 3")
		if kills == 3 { // The others may keep it apart until they end.
			s.letGo()
		}
		item, err := s.Client.Runs().Item(t.Context(), job)
		return err == nil && item.State == contract.JobFailed
	})
	var killed []string
	for _, start := range s.book().of("start").where(isDeadly) {
		killed = append(killed, start.worker)
	}
	require.Len(t, killed, 4, "worker_loss_limit is 3")
	for id, process := range running {
		if process.Ended() {
			running[id] = s.worker(id)
		}
	}
	result := s.Result(ref)
	assert.Equal(t, contract.OutcomePartial, result.Outcome)
	assert.Equal(t, []int{others, 1}, []int{result.Counts.Completed, result.Counts.Failed}, "%+v", result.Errors)
	require.Len(t, result.Errors, 1)
	lost := "LOSES_WORKERS: lost with " + strings.Join(killed, ", ") + " within 3 days (worker_loss_limit is 3): "
	assert.True(t, strings.HasPrefix(result.Errors[0].Message, lost), result.Errors[0].Message)
	assert.Contains(t, s.Command("explain", job.String()), lost)

	result = s.Result(s.Begin("deadly"))
	assert.Equal(t, contract.OutcomePartial, result.Outcome, "its retry budget holds it back: %+v", result)
	assert.Equal(t, []int{others, 1}, []int{result.Counts.Completed, result.Counts.HeldBack})
	for id, process := range running {
		assert.False(t, process.Ended(), id)
	}
}

// TestAnAnnouncedStopIsNoLoss: each worker of a job is stopped, as by a reboot, and killed before the job ends.
func TestAnAnnouncedStopIsNoLoss(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.hold("long")
	s.apply(group{"long", "steps", "heartbeat_timeout: 4s, worker_loss_limit: 1", 1, 2, 50})
	ids := []string{"node-a", "node-b", "node-c"}
	process := s.worker(ids[0])
	s.AwaitFresh(ids[0])
	ref := s.Begin("long")
	for i, id := range ids {
		s.awaitBook("it runs on "+id, func(b book) bool { return len(b.of("start").on(id)) == 1 })
		if i+1 == len(ids) {
			break
		}
		next := s.worker(ids[i+1])
		s.AwaitFresh(ids[i+1])
		process.Signal(t, syscall.SIGTERM)
		s.Await(id, "leaving", func(w contract.WorkerDetail) bool { return w.Leaving })
		process.Kill()
		process = next
	}
	s.letGo()
	result := s.Result(ref)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, "%+v", result.Errors)
	assert.Equal(t, 2, result.Counts.Replacements)
}
