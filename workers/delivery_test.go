package workers_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/workers"
)

// away is the server's absence in these tests: longer than the 10 s after which the SDK gives up. Some tests
// need it longer than the jobs' heartbeat timeout. The e2e suite uses 30 s.
const away = 12 * time.Second

func TestOutcomesSurviveAnAbsentServer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		heartbeat time.Duration
		recalled  bool
	}{
		"shorter than the heartbeat timeout": {time.Minute, false},
		"longer than the heartbeat timeout":  {3 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, testsuite.WithFile(testsuite.TempFile(t)))
			release := make(chan struct{})
			work := &handler{execute: until(release)}
			node := h.started(t, work, func(o *workers.NodeOptions) { o.MaxExecute = 20 })
			run := h.run(t, groupInput{Queue: contract.WorkerQueue("node-a", node.Instance()), Heartbeat: c.heartbeat, Jobs: someJobs(20)})
			testsuite.WaitFor(t, 30*time.Second, "20 jobs run", func() bool { n, _, _ := work.now(); return n == 20 })

			h.server.Kill()
			close(release)
			testsuite.WaitFor(t, 30*time.Second, "20 jobs have ended", func() bool { n, _, _ := work.now(); return n == 0 })
			pause(t, away)
			assert.Len(t, node.Running(), 20, "an undelivered outcome keeps its slot")
			h.server.Restart(t)
			back := time.Now()

			got := ends(t, run)
			t.Logf("delivered %s after the server was back", time.Since(back).Round(time.Millisecond))
			require.Len(t, got, 20)
			recalled := 0
			for id, end := range got {
				assert.Equal(t, "did "+id, end.State.Result.Summary, "%+v", end)
				if end.Recalled {
					recalled++
				}
			}
			if !c.recalled {
				assert.Zero(t, recalled)
			}
			t.Logf("%d of 20 by signal", recalled)
			_, _, total := work.now()
			assert.Equal(t, 20, total, "no side effect happened twice")
		})
	}
}

// A server that is away for longer than the heartbeat timeout times every attempt out. All slots
// are taken: an adoption needs none.
func TestRunningJobsSurviveAnAbsentServer(t *testing.T) {
	t.Parallel()
	const heartbeat = 2 * time.Second
	h := newHouse(t, testsuite.WithFile(testsuite.TempFile(t)))
	release := make(chan struct{})
	work := &handler{execute: until(release)}
	node := h.started(t, work, func(o *workers.NodeOptions) { o.MaxExecute = 8 })
	run := h.run(t, groupInput{
		Queue: contract.WorkerQueue("node-a", node.Instance()), Heartbeat: heartbeat,
		Jobs: someJobs(8, func(in *contract.ExecuteInput) { in.OrphanGrace = contract.DefaultOrphanGrace }),
	})
	running := func() bool { n, _, _ := work.now(); return n == 8 }
	testsuite.WaitFor(t, time.Minute, "8 jobs run", running)
	killed := time.Now()
	h.server.Kill()
	pause(t, 3*heartbeat)
	h.server.Restart(t)
	back := time.Now()
	// adopted counts the attempts that began after the absence and have sent heartbeats for a time.
	adopted := func(alive time.Duration) int {
		pending, err := h.client.DescribeWorkflowExecution(t.Context(), run.GetID(), "")
		if err != nil {
			return 0
		}
		n := 0
		for _, activity := range pending.GetPendingActivities() {
			if activity.GetLastStartedTime() == nil || activity.GetLastHeartbeatTime() == nil {
				continue
			}
			began, beat := activity.GetLastStartedTime().AsTime(), activity.GetLastHeartbeatTime().AsTime()
			if began.After(killed) && !beat.Before(began.Add(alive)) {
				n++
			}
		}
		return n
	}
	testsuite.WaitFor(t, 2*time.Minute, "8 adopted jobs beat", func() bool { return adopted(0) == 8 })
	t.Logf("adopted %s after the server was back", time.Since(back).Round(time.Millisecond))
	require.True(t, running(), "the handlers have continued")
	testsuite.WaitFor(t, time.Minute, "they beat for twice the heartbeat timeout", func() bool { return adopted(2*heartbeat) == 8 })
	close(release)
	for id, end := range ends(t, run) {
		assert.Equal(t, "did "+id, end.State.Result.Summary, "%+v", end)
		assert.True(t, end.Adopted)
	}
	_, _, total := work.now()
	assert.Equal(t, 8, total, "no job ran twice")
}

// pause waits in real time: the length of an absence is under test.
func pause(t *testing.T, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	<-ctx.Done()
}

func TestOutcomesSurviveTheirProcess(t *testing.T) {
	t.Parallel()
	h := newHouse(t, testsuite.WithFile(testsuite.TempFile(t)))
	release := make(chan struct{})
	work := &handler{execute: until(release)}
	dir := t.TempDir()
	inDir := func(o *workers.NodeOptions) {
		o.DataDir, o.DrainTimeout, o.CancelGrace = dir, 100*time.Millisecond, 100*time.Millisecond
	}
	node := h.started(t, work, inDir)
	run := h.run(t, groupInput{Queue: contract.WorkerQueue("node-a", node.Instance()), Heartbeat: time.Minute, Jobs: someJobs(4)})
	testsuite.WaitFor(t, 30*time.Second, "4 jobs run", func() bool { n, _, _ := work.now(); return n == 4 })
	h.server.Kill()
	close(release)
	testsuite.WaitFor(t, 30*time.Second, "4 outcomes wait on disk", func() bool {
		kept, err := filepath.Glob(filepath.Join(dir, "workers", "node-a.outbox", "*.json"))
		return err == nil && len(kept) == 4
	})
	require.ErrorContains(t, node.Stop(t.Context()), "4 jobs did not end or could not be reported")

	h.server.Restart(t)
	next := h.started(t, work, inDir)
	for id, end := range ends(t, run) {
		assert.Equal(t, "did "+id, end.State.Result.Summary)
	}
	_, _, total := work.now()
	assert.Equal(t, 4, total)
	testsuite.WaitFor(t, 10*time.Second, "the outbox is empty", func() bool {
		kept, err := filepath.Glob(filepath.Join(dir, "workers", "node-a.outbox", "*.json"))
		return err == nil && len(kept) == 0
	})
	require.NoError(t, next.Stop(t.Context()))
}

func TestANewJobStartsSoonAfterTheServerIsBack(t *testing.T) {
	t.Parallel()
	h := newHouse(t, testsuite.WithFile(testsuite.TempFile(t)))
	node := h.started(t, &handler{execute: done})
	h.server.Kill()
	pause(t, 8*time.Second)
	h.server.Restart(t)
	back := time.Now()
	run := h.run(t, groupInput{Queue: contract.WorkerQueue("node-a", node.Instance()), Jobs: someJobs(1)})
	end := ends(t, run)[contract.JobID(1)]
	assert.Equal(t, "ok", end.State.Result.Summary)
	t.Logf("first job done %s after the server was back", h.lasted(t, back, run).Round(time.Millisecond))
}

func TestFailuresTravelWhole(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	node := h.started(t, &handler{execute: func(context.Context, jobtype.Job, jobtype.Progress) (jobtype.Result, error) {
		return jobtype.Result{Output: "what was printed"}, jobtype.Permanent(fmt.Errorf("volume 7 has bit rot"))
	}})
	end := ends(t, h.run(t, groupInput{Queue: contract.WorkerQueue("node-a", node.Instance()), Jobs: someJobs(1)}))[contract.JobID(1)]
	assert.Equal(t, contract.FailurePermanent, end.Failure)
	assert.Equal(t, "volume 7 has bit rot", end.State.Message)
	assert.Equal(t, "what was printed", end.State.Result.Output)
	assert.Equal(t, node.Instance(), end.State.Instance)
}

// The server is away when a worker is stopped, and back before its last job has ended: the
// registry receives the deregistration.
func TestDeregistrationIsRepeated(t *testing.T) {
	t.Parallel()
	h := newHouse(t, testsuite.WithFile(testsuite.TempFile(t)))
	release, warned := make(chan struct{}), make(chan struct{})
	work := &handler{execute: until(release)}
	node := h.started(t, work, func(o *workers.NodeOptions) {
		o.DrainTimeout = time.Minute
		o.Logger = slog.New(heard{slog.DiscardHandler, "could not deregister", sync.OnceFunc(func() { close(warned) })})
	})
	run := h.run(t, groupInput{Queue: contract.WorkerQueue("node-a", node.Instance()), Heartbeat: time.Minute, Jobs: someJobs(1)})
	testsuite.WaitFor(t, 30*time.Second, "the job runs", func() bool { n, _, _ := work.now(); return n == 1 })
	h.server.Kill()
	stopped := make(chan error, 1)
	go func() { stopped <- node.Stop(t.Context()) }()
	<-warned
	h.server.Restart(t)
	testsuite.WaitFor(t, 30*time.Second, "the registry has heard it", func() bool {
		answer, err := h.client.QueryWorkflow(t.Context(), contract.FleetWorkflowID, "", contract.QueryWorkers)
		var known map[string]contract.WorkerRegistration
		return err == nil && answer.Get(&known) == nil && len(known) == 0
	})
	close(release)
	require.NoError(t, <-stopped)
	require.NoError(t, run.Get(t.Context(), nil))
}

// heard calls told when a message with the prefix text is logged.
type heard struct {
	slog.Handler
	text string
	told func()
}

// Enabled implements [slog.Handler].
func (heard) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements [slog.Handler].
func (h heard) Handle(_ context.Context, r slog.Record) error {
	if strings.HasPrefix(r.Message, h.text) {
		h.told()
	}
	return nil
}
