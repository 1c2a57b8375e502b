package gateway

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/grpc"

	"github.com/roundsman/roundsman/activities/jobs"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// The text is for people; the problem's holder has the exact times.
func TestWhoHasAnIDIsToldInSeconds(t *testing.T) {
	t.Parallel()
	holder := &contract.RegisteredOther{Host: "vm", PID: 7, Age: jobtype.Duration(32212196103), SinceBeat: jobtype.Duration(3 * time.Second)}
	refused := inUse("press-7", contract.RegisterWorkerResult{Refused: holder})
	assert.Equal(t, "process 7 on host vm has the id press-7, registered 32s ago, last heartbeat at most 3s ago", refused.Message)
	assert.Equal(t, holder, refused.Holder)
	assert.GreaterOrEqual(t, refused.RetryAfter, time.Second)
	assert.Contains(t, refused.Remedy, "wait until its heartbeat is stale")
	stale := inUse("press-7", contract.RegisterWorkerResult{Refused: holder, Stale: true})
	assert.NotContains(t, stale.Remedy, "wait")
	assert.Zero(t, stale.RetryAfter)
}

// Each process that registers is another incarnation, so the answers about those that are gone are dropped.
func TestAnswersAboutWorkersThatNoLongerCallAreDropped(t *testing.T) {
	t.Parallel()
	f, at := newFleet(nil), time.Date(2026, 11, 27, 3, 0, 0, 0, time.UTC)
	stays := contract.Incarnation{ID: "stays", Instance: "a"}
	known := contract.WorkerSettings{Known: true}
	for i := range 1000 {
		f.keep(map[contract.Incarnation]contract.WorkerSettings{
			stays: known, {ID: "press", Instance: fmt.Sprint(i)}: known, {ID: "unknown"}: {},
		}, at.Add(time.Duration(i)*time.Minute))
	}
	assert.Contains(t, f.last, stays)
	assert.Len(t, f.last, 62, "those of the last hour, and the one that stays")
	f.keep(map[contract.Incarnation]contract.WorkerSettings{stays: {}}, at.Add(1000*time.Minute))
	assert.NotContains(t, f.last, stays)
}

func TestAFailureThatContradictsItselfIsRefused(t *testing.T) {
	t.Parallel()
	hour := jobtype.Duration(time.Hour)
	for name, row := range map[string]struct {
		lease leased
		in    Failure
	}{
		"a deferral to the past":         {in: Failure{Defer: -1}},
		"a deferral below a second":      {in: Failure{Defer: jobtype.MinDeferral - 1}},
		"a deferral of days":             {in: Failure{Defer: jobtype.MaxDeferral + 1}},
		"a guard without a deferral":     {in: Failure{Guard: true}},
		"deferred and never again":       {in: Failure{Defer: hour, Permanent: true}},
		"the deferral of a detection":    {leased{Detection: true}, Failure{Defer: hour}},
		"a checkpoint that is too large": {in: Failure{Checkpoint: make([]byte, jobtype.MaxCheckpointBytes+1)}},
	} {
		err := Lease{leased: row.lease}.Fail(t.Context(), row.in)
		var refused *Error
		require.ErrorAs(t, err, &refused, name)
		assert.Equal(t, CodeInvalid, refused.Code, name)
	}
}

// refusals keeps how tasks were returned.
type refusals struct {
	client.Client
	got []contract.ExecuteState
}

func (r *refusals) CompleteActivity(_ context.Context, _ []byte, _ any, failure error) error {
	var state contract.ExecuteState
	failed, ok := errors.AsType[*temporal.ApplicationError](failure)
	if ok && failed.Details(&state) == nil {
		r.got = append(r.got, state)
	}
	return nil
}

// oneTask has one task.
type oneTask struct {
	workflowservice.WorkflowServiceClient
	polled bool
}

func (o *oneTask) PollActivityTaskQueue(context.Context, *workflowservice.PollActivityTaskQueueRequest, ...grpc.CallOption) (*workflowservice.PollActivityTaskQueueResponse, error) {
	task := &workflowservice.PollActivityTaskQueueResponse{}
	if !o.polled {
		o.polled, task.TaskToken = true, []byte("t")
	}
	return task, nil
}

// The run must not take a returned job for one that was done in part: a held job would go to another worker.
func TestARefusedJobHasNotRun(t *testing.T) {
	t.Parallel()
	who := identity{ID: "press", Instance: "i1"}
	for name, refuse := range map[string]func(w Worker){
		"hung up": func(w Worker) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, err := w.take(ctx, &workflowservice.PollActivityTaskQueueResponse{}, contract.ExecuteInput{}, PollInput{})
			assert.Error(t, err)
		},
		"held": func(w Worker) {
			held := contract.WorkerSettings{Known: true, Held: true}
			w.g.fleet.last[who.incarnation()] = standing{held, time.Now()}
			w.g.fleet.next = &question{of: map[contract.Incarnation]contract.WorkerSettings{who.incarnation(): held}, err: errors.New("silent"), done: make(chan struct{})}
			close(w.g.fleet.next.done)
			_, err := w.take(t.Context(), &workflowservice.PollActivityTaskQueueResponse{}, contract.ExecuteInput{}, PollInput{})
			assert.NoError(t, err)
		},
		"stopped": func(w Worker) { w.linger(t.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := &refusals{}
			w := Worker{who: who, g: &Gateway{service: &oneTask{}, server: jobs.NewServer(server, nil), fleet: newFleet(nil)}}
			refuse(w)
			require.Len(t, server.got, 1)
			assert.Equal(t, contract.FailureDraining, server.got[0].Failure)
			assert.Equal(t, []string{"press", "i1"}, []string{server.got[0].Worker, server.got[0].Instance})
			assert.Zero(t, server.got[0].DurationMS)
		})
	}
}
