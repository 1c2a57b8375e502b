package problem_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"

	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/edge/api/problem"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

func TestErrorsBecomeProblems(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		err       error
		status    int
		code      string
		retryable bool
	}{
		{&starter.NotFoundError{What: "run", Name: "x"}, 404, "NOT_FOUND", false},
		{fmt.Errorf("x: %w", starter.ErrAlreadyEnded), 409, "ALREADY_ENDED", false},
		{&jobtypes.AlreadyRunningError{JobType: "x"}, 409, "ALREADY_RUNNING", false},
		{&starter.DAGExistsError{}, 409, "ALREADY_EXISTS", false},
		{&starter.RefusedError{Asked: "pause", Reason: "no"}, 409, "REFUSED", false},
		{fmt.Errorf("x: %w", starter.Invalidf("no")), 422, "INVALID", false},
		{&starter.GivenUpError{Asked: "x", Cause: context.Canceled}, 504, "NOT_ANSWERED", true},
		{&starter.ControlPlaneDownError{Asked: "x"}, 503, "CONTROL_PLANE_DOWN", true},
		{&starter.UnreachableError{Address: "x", Cause: errors.New("y")}, 503, "SERVER_UNREACHABLE", true},
		{&serviceerror.Unavailable{}, 503, "SERVER_UNREACHABLE", true},
		{&starter.DAGTooLargeError{}, 413, "TOO_LARGE", false},
		{fmt.Errorf("list runs: %w", context.DeadlineExceeded), 504, "TIMEOUT", true},
		{&serviceerror.ResourceExhausted{}, 429, "RATE_LIMITED", true},
		{fmt.Errorf("describe Schedule x: %w", &serviceerror.WorkflowNotReady{}), 503, "UNAVAILABLE", true},
		{&starter.ItemRefusedError{Refusal: contract.ItemRefusal{Code: contract.CodeAlreadyEnded}}, 409, "ALREADY_ENDED", false},
		{&starter.RunFailedError{Message: "terminated"}, 409, "RUN_FAILED", false},
		{&starter.SilentWorkerError{ID: "node-a"}, 504, "WORKER_SILENT", true},
		{&starter.RegistryGoneError{Asked: "workers"}, 503, "REGISTRY_GONE", true},
		{&starter.PausedWorkflowError{WorkflowID: "group/scrub-1"}, 503, "WORKFLOW_PAUSED", true},
		{fmt.Errorf("plan: %w", &dag.DiffError{}), 409, "DAG_DIFFERS", false},
		{serviceerror.NewInvalidArgument("no"), 400, "INVALID", false},
		{serviceerror.NewNotFound("no"), 404, "NOT_FOUND", false},
		{serviceerror.NewPermissionDenied("no", ""), 502, "SERVER_DENIED", false},
		{fmt.Errorf("x: %w", context.Canceled), 503, "UNAVAILABLE", true},
		{errors.New("odd"), 500, "INTERNAL", false},
		{problem.New(403, "", "no"), 403, "ACCESS_DENIED", false},
	} {
		got := problem.From(row.err)
		assert.Equal(t, row.status, got.Status, "%T", row.err)
		assert.Equal(t, row.code, got.Code, "%T", row.err)
		assert.Equal(t, row.retryable, got.Retryable, "%T", row.err)
		assert.Equal(t, row.code == "CONTROL_PLANE_DOWN" || row.code == "SERVER_UNREACHABLE" || row.code == "REGISTRY_GONE", got.Unreachable, "%T", row.err)
		assert.NotEmpty(t, got.Title)
		assert.NotContains(t, got.Detail, "context deadline", "a text of Go")
	}
}

func TestFaultsKeepTheirLines(t *testing.T) {
	t.Parallel()
	_, err := config.Load(config.Options{Sources: []config.Source{{Name: "a.yaml", Data: []byte("version: 1\nowls: 3\n")}}})
	require.Error(t, err)
	got := problem.From(err)
	assert.Equal(t, 422, got.Status)
	require.NotEmpty(t, got.Errors)
	assert.Equal(t, "a.yaml", got.Errors[0].File)
	assert.Equal(t, 2, got.Errors[0].Line)
}

// TestEachFaultIsAnEntry: an editor marks each place, and a page each job type that failed.
func TestEachFaultIsAnEntry(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		err    error
		status int
		want   []problem.Fault
	}{
		{
			spec.Faults{{File: "a.yaml", Line: 3, Column: 7, Message: "one"}, {Message: "two"}},
			422,
			[]problem.Fault{{File: "a.yaml", Line: 3, Column: 7, Message: "one"}, {Message: "two"}},
		},
		{
			&jobtypes.SubmissionError{JobType: "scrub", Faults: []error{errors.New("one"), errors.New("two")}}, 422,
			[]problem.Fault{{Message: "one"}, {Message: "two"}},
		},
		{
			&jobtypes.ApplyError{Result: jobtypes.ApplyResult{
				Applied: []jobtypes.Change{{JobType: "a"}}, NotAttempted: []jobtypes.Change{{JobType: "c"}, {JobType: "d"}},
				Failed: []jobtypes.FailedChange{{Change: jobtypes.Change{JobType: "b"}, Error: "no"}},
			}},
			409,
			[]problem.Fault{{Location: "job_types.b", Message: "no"}},
		},
	} {
		got := problem.From(fmt.Errorf("wrapped: %w", row.err))
		assert.Equal(t, row.status, got.Status, "%T", row.err)
		assert.Equal(t, row.want, got.Errors, "%T", row.err)
	}
	partly := problem.From(&jobtypes.ApplyError{Result: jobtypes.ApplyResult{Applied: make([]jobtypes.Change, 1), NotAttempted: make([]jobtypes.Change, 2)}})
	assert.Equal(t, "1 changes applied, 0 failed, 2 not attempted", partly.Detail)
}

func TestADelayIsWholeSeconds(t *testing.T) {
	t.Parallel()
	for delay, want := range map[time.Duration]string{0: "", time.Millisecond: "1", time.Second: "1", 1001 * time.Millisecond: "2"} {
		limited := problem.New(429, "", "slower")
		limited.RetryAfter = delay
		assert.Equal(t, want, limited.GetHeaders().Get("Retry-After"), delay)
	}
}

func TestRemediesAreSplitOff(t *testing.T) {
	t.Parallel()
	got := problem.From(&starter.ControlPlaneDownError{Asked: "status of x"})
	assert.Contains(t, got.Detail, "no control plane")
	assert.Contains(t, got.Remedy, "roundsman server")
}

// The cause may contain a semicolon.
func TestAStuckRunKeepsItsCause(t *testing.T) {
	t.Parallel()
	stuck := &starter.StuckWorkflowError{WorkflowID: "group/scrub-1", Message: "lookup failed; it is unknown"}
	got := problem.From(fmt.Errorf("the request was sent, but the run does not react: %w", stuck))
	assert.Equal(t, "WORKFLOW_STUCK", got.Code)
	assert.Equal(t, "the request was sent, but the run does not react: "+stuck.What(), got.Detail)
	assert.Equal(t, stuck.Remedy(), got.Remedy)
}
