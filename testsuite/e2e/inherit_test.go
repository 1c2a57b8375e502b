package e2e

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/activities/control"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/app"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/replay"
)

// TestAdmissionIsTerminatedAgainAndAgain: a changed pool size, a disabled key and the fences outlive 40
// terminations at random moments, most of them before the first workflow task of a run. Each is in the audit
// log.
func TestAdmissionIsTerminatedAgainAndAgain(t *testing.T) {
	t.Parallel()
	b := &brittle{site: newSite()}
	p := newInProcess(t, 8, b)
	ctx := t.Context()
	_, err := p.client.Admission().ResizePool(ctx, "db", 7, "ann")
	require.NoError(t, err)
	spec := siteSpec(t, "scrub", "", at("bad/1"), at("good"))
	spec.RetryBudget = budget(1, 0)
	assert.Equal(t, 1, p.end(p.begin("scrub-1", spec)).Counts.Failed)
	failed, err := p.client.Runs().Item(ctx, starter.ItemRef{Run: starter.RunRef{WorkflowID: "group/scrub-1"}, ID: contract.JobID(1)})
	require.NoError(t, err)
	require.Contains(t, failed.Error, "the disk is on fire")
	testsuite.WaitFor(t, 20*time.Second, "the key is disabled", func() bool { return p.held() == 1 })

	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	temporal := p.client.Temporal()
	activities := control.New(temporal, contract.FleetConfig{})
	ended := map[string]bool{}
	for i := range 40 {
		require.NoError(t, activities.EnsureAdmission(ctx, contract.EnsureAdmissionInput{}))
		pause(ctx, time.Duration(random.IntN(3)*random.IntN(40))*time.Millisecond)
		described, err := temporal.DescribeWorkflowExecution(ctx, contract.AdmissionWorkflowID, "")
		require.NoError(t, err)
		run := described.GetWorkflowExecutionInfo().GetExecution().GetRunId()
		reason := fmt.Sprintf("again %d", i)
		err = temporal.TerminateWorkflow(ctx, contract.AdmissionWorkflowID, run, reason)
		ended[reason] = err == nil
	}
	maps.DeleteFunc(ended, func(_ string, did bool) bool { return !did })
	require.Greater(t, len(ended), 20)
	require.NoError(t, activities.EnsureAdmission(ctx, contract.EnsureAdmissionInput{}))
	testsuite.WaitFor(t, 30*time.Second, "admission answers", func() bool {
		view, err := p.client.Admission().View(ctx, contract.AdmissionFilter{})
		return err == nil && !view.Recovering
	})
	view := p.admission()
	require.NotNil(t, view.Inherited)
	assert.Empty(t, view.Inherited.Fault)
	require.Len(t, view.Pools, 1)
	assert.Equal(t, 7, view.Pools[0].Operator)
	assert.Equal(t, 1, p.held())
	testsuite.WaitFor(t, 30*time.Second, "every termination is in the audit log", func() bool {
		log, err := p.client.Audit().Read(ctx, contract.AuditFilter{Limit: 1000})
		if err != nil {
			return false
		}
		for _, entry := range log.Entries {
			delete(ended, entry.Detail)
		}
		return len(ended) == 0
	})
}

// stalled is a client that stops before it starts a workflow, until it may continue.
type stalled struct {
	client.Client
	stopped, resume chan struct{}
}

func (s stalled) ExecuteWorkflow(ctx context.Context, options client.StartWorkflowOptions, workflow any, args ...any) (client.WorkflowRun, error) {
	close(s.stopped)
	<-s.resume
	return s.Client.ExecuteWorkflow(ctx, options, workflow, args...)
}

// TestTwoProcessesStartAdmission: a process that starts admission late, from what the last run but one left, hides no
// termination.
func TestTwoProcessesStartAdmission(t *testing.T) {
	t.Parallel()
	server := replay.StartServer(t)
	dialed, err := starter.Dial(t.Context(), starter.Options{Address: server.Address(), Identity: "test"})
	require.NoError(t, err)
	t.Cleanup(dialed.Close)
	temporal := dialed.Temporal()
	start := func(c control.Client) error {
		return control.New(c, contract.FleetConfig{}).EnsureAdmission(t.Context(), contract.EnsureAdmissionInput{})
	}
	terminate := func(reason string) {
		require.NoError(t, temporal.TerminateWorkflow(t.Context(), contract.AdmissionWorkflowID, "", reason))
	}
	require.NoError(t, start(temporal))
	terminate("the first")
	late := stalled{temporal, make(chan struct{}), make(chan struct{})}
	ended := make(chan error)
	go func() { ended <- start(late) }()
	<-late.stopped
	require.NoError(t, start(temporal))
	terminate("the second")
	close(late.resume)
	require.NoError(t, <-ended)

	running, err := app.StartControl(t.Context(), app.ControlOptions{Client: dialed, Logger: testsuite.Quiet()})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		require.NoError(t, running.Stop(ctx))
	})
	missing := map[string]bool{"the first": true, "the second": true}
	testsuite.WaitFor(t, 60*time.Second, "both terminations are in the audit log", func() bool {
		log, err := dialed.Audit().Read(t.Context(), contract.AuditFilter{})
		if err != nil {
			return false
		}
		for _, entry := range log.Entries {
			delete(missing, entry.Detail)
		}
		return len(missing) == 0
	})
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
