package replay_test

import (
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/testsuite"
)

// neighbours records a group that finds both workers full of another group's jobs. Its jobs and a trial are
// returned, and the workers report free slots.
func (s *studio) neighbours() {
	s.t.Helper()
	wide := jobtype.Policy{GlobalExecutionConcurrency: 8, PerWorkerExecutionConcurrency: 4}
	occupant, err := s.client.Temporal().ExecuteWorkflow(s.t.Context(), client.StartWorkflowOptions{
		ID: contract.GroupWorkflowID("occupant"), TaskQueue: contract.ControlQueue,
	}, contract.JobGroupWorkflow, contract.JobGroupInput{Spec: contract.JobTypeSpec{
		Name: "occupant", Handler: "actor", Policy: wide.WithDefaults(),
		Params: []byte(`{"keys":["long","long","long","long","long","long","long","long"]}`),
	}})
	require.NoError(s.t, err)
	for _, id := range []string{"node-a", "node-b"} {
		testsuite.WaitFor(s.t, time.Minute, id+" is full", func() bool {
			report, err := s.client.Workers().Ask(s.t.Context(), id)
			return err == nil && report.Executing == 4
		})
	}
	s.group(scene{
		name: "neighbours", params: `{"keys":["a","b","c","d"]}`,
		policy: jobtype.Policy{GlobalExecutionConcurrency: 2, PerWorkerExecutionConcurrency: 2},
		act: func(s *studio, run client.WorkflowRun) {
			s.await(run, func(status contract.GroupStatus) bool { return status.Counts.Replacements > 2 && status.Running == 0 })
			require.NoError(s.t, s.client.Temporal().CancelWorkflow(s.t.Context(), occupant.GetID(), ""))
		},
	})
	_ = occupant.Get(s.t.Context(), nil) // Canceled.
}
