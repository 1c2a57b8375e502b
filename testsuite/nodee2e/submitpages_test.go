package nodee2e

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/pages"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
	"github.com/roundsman/roundsman/testsuite"
)

// manyPlain jobs have more bytes than a submission without pages, which ends at 1 MiB.
const manyPlain, bytesOfMany = 320, 3700

func proposalsOfMany() []jobtype.Proposal {
	list := make([]jobtype.Proposal, manyPlain)
	for i := range list {
		list[i] = jobtype.Proposal{Summary: summaryOf(i + 1), Detail: strings.Repeat("d", bytesOfMany)}
	}
	return list
}

// submitter is a process that is killed when it has stored the pages of a submission, before it starts the run.
func submitter() {
	c, err := starter.Dial(context.Background(), starter.Options{
		Address: os.Args[1],
		Intercept: func(ctx context.Context, method string, request, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, options ...grpc.CallOption) error {
			if start, is := request.(*workflowservice.StartWorkflowExecutionRequest); is && start.GetWorkflowType().GetName() == contract.JobGroupWorkflow {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				<-ctx.Done()
			}
			return invoker(ctx, method, request, reply, cc, options...)
		},
	})
	if err != nil {
		panic(err)
	}
	spec := contract.JobTypeSpec{Name: "plain", Handler: "plain", Policy: jobtype.Policy{MaxJobsPerDetection: manyPlain}.WithDefaults()}
	_, err = jobtypes.Of(c).Submit(context.Background(), jobtypes.JobType{Name: spec.Name, Spec: spec}, contract.Submission{ID: "many", Proposals: proposalsOfMany()})
	panic(err) // It is dead before.
}

// submitAgain repeats the submission: neither a run nor a page begins.
func (s *site) submitAgain() {
	s.T.Helper()
	var starts atomic.Int32
	c, err := starter.Dial(s.T.Context(), starter.Options{
		Address: s.Server.Address(),
		Intercept: func(ctx context.Context, method string, request, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, options ...grpc.CallOption) error {
			if _, is := request.(*workflowservice.StartWorkflowExecutionRequest); is {
				starts.Add(1)
			}
			return invoker(ctx, method, request, reply, cc, options...)
		},
	})
	require.NoError(s.T, err)
	defer c.Close()
	known, err := jobtypes.Of(c).Get(s.T.Context(), "plain")
	require.NoError(s.T, err)
	submitted, err := jobtypes.Of(c).Submit(s.T.Context(), known, contract.Submission{ID: "many", Proposals: proposalsOfMany()})
	require.NoError(s.T, err)
	assert.True(s.T, submitted.Already)
	assert.Zero(s.T, starts.Load())
}

// TestASubmitterDiesBeforeItsRunBegins: no run has begun, and the keeper closes the pages. The submission is repeated with a
// large file. After the end of the run its pages are closed; it is reset to its beginning, and another worker reads them.
func TestASubmitterDiesBeforeItsRunBegins(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.hold("plain")
	s.apply(group{name: "plain", handler: "plain", policy: "max_jobs_per_detection: 2000, global_execution_concurrency: 40, per_worker_execution_concurrency: 40, heartbeat_timeout: 30s"})
	require.Equal(t, -1, s.Play("submitter", s.Server.Address()).Code(t, time.Minute), "it is killed")
	ref := starter.RunRef{WorkflowID: contract.AdHocWorkflowID("plain", "many")}
	_, err := s.Client.Runs().Describe(t.Context(), ref)
	require.ErrorIs(t, err, starter.ErrNotFound)
	var stored []string
	testsuite.WaitFor(t, time.Minute, "the pages are listed", func() bool {
		stored = s.pages()
		return len(stored) == 3
	})
	for _, page := range stored {
		run, _ := contract.RunOfPage(page)
		require.Equal(t, ref.WorkflowID, run)
	}
	c := s.Client.Temporal()
	keeper := pages.NewKeeper(pages.NewStore(c, s.Client.Namespace(), starter.DataConverter()), c, testsuite.Quiet())
	closed, err := keeper.Sweep(t.Context(), time.Now())
	require.NoError(t, err)
	assert.Zero(t, closed, "the run may begin")
	closed, err = keeper.Sweep(t.Context(), time.Now().Add(2*time.Hour))
	require.NoError(t, err)
	assert.Len(t, stored, closed)

	workers := s.plainWorkers("node-a")
	s.letGo()
	file := filepath.Join(s.Dir, "many.jsonl")
	lines := strings.Builder{}
	for _, p := range proposalsOfMany() {
		require.NoError(t, json.NewEncoder(&lines).Encode(p))
	}
	require.NoError(t, os.WriteFile(file, []byte(lines.String()), 0o600))
	s.Command("submit", "plain", "-f", file, "--as", "many")
	s.submitAgain()
	ended := func() {
		t.Helper()
		result := s.plainEnd(c.GetWorkflow(t.Context(), ref.WorkflowID, ""))
		assert.Equal(t, contract.OutcomeCompleted, result.Outcome, result.Reason)
		assert.Equal(t, completed(manyPlain), result.Counts)
	}
	ended()
	s.once(manyPlain)

	s.sweep()
	workers["node-a"].Kill()
	s.plainWorkers("node-b")
	s.resetToFirstJob(ref.WorkflowID)
	ended()
	again := map[string]int{}
	for _, entry := range s.book().of("end") {
		if entry.worker == "node-b" {
			again[entry.key]++
		}
	}
	assert.Equal(t, manyPlain, len(again)) //nolint:testifylint // the map is long
}
