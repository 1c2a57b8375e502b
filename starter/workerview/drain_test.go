package workerview

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
)

// draining is a server with one worker, and the report of the worker's process if it answers.
type draining struct {
	client.Client

	worker contract.WorkerDetail
	report *contract.WorkerReport
}

func (d draining) QueryWorkflowWithOptions(_ context.Context, in *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	var answer any = contract.WorkersQueryResult{Workers: []contract.WorkerDetail{d.worker}}
	if in.QueryType == contract.QueryRefresh {
		if answer = d.report; d.report == nil {
			return nil, errors.New("nobody polls")
		}
	}
	payloads, err := starter.DataConverter().ToPayloads(answer)
	return &client.QueryWorkflowWithOptionsResponse{QueryResult: client.NewValue(payloads)}, err
}

// TestADrainIsOverWhenNothingRunsOrStarts: the node is switched off then.
func TestADrainIsOverWhenNothingRunsOrStarts(t *testing.T) {
	t.Parallel()
	oldest := contract.WorkerJob{JobID: "job-00007", GroupID: "group/scrub-x", Percent: 40}
	for name, c := range map[string]struct {
		state  contract.WorkerState
		ends   bool
		report *contract.WorkerReport
		want   DrainState
	}{
		"deleted":                      {contract.WorkerDeleted, false, nil, DrainState{true, "it is DELETED"}},
		"offline":                      {contract.WorkerOffline, false, nil, DrainState{true, "it is OFFLINE"}},
		"it leaves, and is silent":     {contract.WorkerOffline, true, nil, DrainState{false, "its process does not answer; waiting until it does, or is OFFLINE"}},
		"silent":                       {contract.WorkerDraining, false, nil, DrainState{false, "its process does not answer; waiting until it does, or is OFFLINE"}},
		"a job runs":                   {contract.WorkerDraining, false, &contract.WorkerReport{Held: true, Executing: 1, Jobs: []contract.WorkerJob{oldest}}, DrainState{false, "1 job still running, the oldest is job-00007 of group/scrub-x at 40%"}},
		"jobs and a detection run":     {contract.WorkerDraining, false, &contract.WorkerReport{Held: true, Executing: 1, Detecting: 1}, DrainState{false, "2 jobs still running"}},
		"it leaves, and a job runs":    {contract.WorkerOffline, true, &contract.WorkerReport{Held: true, Executing: 1}, DrainState{false, "1 job still running"}},
		"its process lacks the drain":  {contract.WorkerDraining, false, &contract.WorkerReport{}, DrainState{false, "nothing runs there; its process has not heard of the drain yet"}},
		"nothing runs, and none start": {contract.WorkerDraining, false, &contract.WorkerReport{Held: true}, DrainState{true, "nothing runs there"}},
	} {
		worker := contract.WorkerDetail{Registration: contract.WorkerRegistration{ID: "n1"}, State: c.state, Leaving: c.ends}
		state, err := Drained(t.Context(), starter.New(draining{worker: worker, report: c.report}, "", nil), "n1", time.Now())
		require.NoError(t, err, name)
		assert.Equal(t, c.want, state, name)
	}
	online := contract.WorkerDetail{Registration: contract.WorkerRegistration{ID: "n1"}, State: contract.WorkerOnline}
	_, err := Drained(t.Context(), starter.New(draining{worker: online, report: &contract.WorkerReport{Held: true}}, "", nil), "n1", time.Now())
	require.ErrorAs(t, err, new(*UncordonedError))
	_, err = Drained(t.Context(), starter.New(draining{worker: online}, "", nil), "n2", time.Now())
	require.ErrorIs(t, err, starter.ErrNotFound)
}
