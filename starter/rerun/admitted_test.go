package rerun

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/retry"
	"github.com/roundsman/roundsman/starter"
)

// admitting is a server whose admission has holds and claims. With fault it does not answer.
type admitting struct {
	client.Client

	holds  []contract.AdmissionHold
	claims map[string]contract.AdmissionUse
	fault  error
}

func (a admitting) QueryWorkflowWithOptions(_ context.Context, in *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	if a.fault != nil {
		return nil, a.fault
	}
	var answer any
	switch asked := in.Args[0].(type) {
	case contract.HoldsInput:
		answer = contract.HoldsResult{Holds: a.holds[asked.Offset:min(asked.Offset+asked.Limit, len(a.holds))], Total: len(a.holds)}
	case contract.KeyHolderInput:
		if len(asked.Keys) > keysAtOnce {
			return nil, serviceerror.NewInvalidArgument("too many keys")
		}
		found := contract.KeyHolderResult{ByKey: map[string]contract.AdmissionUse{}}
		for _, key := range asked.Keys {
			if use, claimed := a.claims[key]; claimed {
				found.ByKey[key] = use
			}
		}
		answer = found
	}
	payloads, err := starter.DataConverter().ToPayloads(answer)
	return &client.QueryWorkflowWithOptionsResponse{QueryResult: encoded{payloads}}, err
}

// encoded is an answer that may be compressed.
type encoded struct{ payloads *commonpb.Payloads }

func (encoded) HasValue() bool { return true }

func (e encoded) Get(into any) error { return starter.DataConverter().FromPayloads(e.payloads, into) }

func (admitting) DescribeWorkflowExecution(context.Context, string, string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return &workflowservice.DescribeWorkflowExecutionResponse{}, nil
}

func (admitting) DescribeTaskQueue(context.Context, string, enumspb.TaskQueueType) (*workflowservice.DescribeTaskQueueResponse, error) {
	return &workflowservice.DescribeTaskQueueResponse{}, nil
}

// TestARetryReadsAllHoldsAndClaims, also if they need several answers.
func TestARetryReadsAllHoldsAndClaims(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, holdsAtOnce, holdsAtOnce + 1, 2*keysAtOnce + 1} {
		server := admitting{claims: map[string]contract.AdmissionUse{}}
		units := []retry.Unit{{}}
		for i := range n {
			key := fmt.Sprint("disk-", i)
			server.holds = append(server.holds, contract.AdmissionHold{JobType: "scrub", DedupeKey: key})
			server.claims[key] = contract.AdmissionUse{}
			units = append(units, retry.Unit{Job: retry.Job{DedupeKey: key}})
		}
		plan, facts := Plan{JobType: "scrub"}, retry.Facts{}
		require.NoError(t, Of(starter.New(server, "", nil)).admission(t.Context(), &plan, units, &facts))
		assert.Equal(t, []int{n, n}, []int{len(facts.Holds), len(facts.Claims)})
		assert.Empty(t, plan.Unchecked)
	}
}

// TestARetryWithoutAdmission: an absent one is not an error, since the new run checks both again; a broken one is.
func TestARetryWithoutAdmission(t *testing.T) {
	t.Parallel()
	units := []retry.Unit{{Job: retry.Job{DedupeKey: "disk-1"}}}
	for name, c := range map[string]struct {
		fault           error
		unchecked, fail string
	}{
		"no control plane": {serviceerror.NewDeadlineExceeded("nobody polls"), "CONTROL_PLANE_DOWN", ""},
		"never started":    {serviceerror.NewNotFound("no admission"), "", ""},
		"broken":           {serviceerror.NewInternal("broken"), "", "broken"},
	} {
		plan, facts := Plan{JobType: "scrub"}, retry.Facts{}
		err := Of(starter.New(admitting{fault: c.fault}, "", nil)).admission(t.Context(), &plan, units, &facts)
		if c.fail == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, c.fail, name)
		}
		assert.Contains(t, plan.Unchecked, c.unchecked, name)
		assert.Equal(t, c.unchecked == "", plan.Unchecked == "", name)
		assert.Empty(t, facts.Claims, name)
	}
}

// earlier is a server with at most one run, which resumes another.
type earlier struct {
	client.Client

	id, resumes string
	fault       error
}

func (e earlier) DescribeWorkflowExecution(_ context.Context, id, _ string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	if e.fault != nil || id != e.id {
		return nil, e.fault
	}
	resumes, err := starter.DataConverter().ToPayload(e.resumes)
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{
		Execution: &commonpb.WorkflowExecution{WorkflowId: id, RunId: "r"}, Type: &commonpb.WorkflowType{Name: contract.JobGroupWorkflow},
		Memo: &commonpb.Memo{Fields: map[string]*commonpb.Payload{contract.MemoResumes: resumes}},
	}}, err
}

// TestARepeatedRetryFindsItsRun, and takes no other run for it.
func TestARepeatedRetryFindsItsRun(t *testing.T) {
	t.Parallel()
	of := starter.RunRef{WorkflowID: "group/scrub-2026-11-20T09:00:00Z"}
	ctx := starter.WithRequest(t.Context(), starter.Request{ID: "one", At: time.Now()})
	id := contract.AdHocWorkflowID("scrub", contract.RetryPrefix+"one")
	for name, c := range map[string]struct {
		ctx    context.Context //nolint:containedctx // a row of a table
		server earlier
		found  bool
		fails  bool
	}{
		"its run":                 {ctx, earlier{id: id, resumes: of.WorkflowID}, true, false},
		"a retry of another run":  {ctx, earlier{id: id, resumes: "group/scrub-2026-11-21T09:00:00Z"}, false, false},
		"the first attempt":       {ctx, earlier{fault: serviceerror.NewNotFound("no such run")}, false, false},
		"the server is away":      {ctx, earlier{fault: serviceerror.NewUnavailable("away")}, false, true},
		"a request without a key": {t.Context(), earlier{fault: serviceerror.NewUnavailable("it is not looked for")}, false, false},
	} {
		started, err := Of(starter.New(c.server, "", nil)).already(c.ctx, of, submissionID(c.ctx))
		assert.Equal(t, c.fails, err != nil, name)
		assert.Equal(t, c.found, started.Already, name)
		if c.found {
			assert.Equal(t, starter.RunRef{WorkflowID: id, RunID: "r"}, started.RunRef, name)
		}
		assert.Equal(t, of.WorkflowID, started.Resumes, name)
	}
}
