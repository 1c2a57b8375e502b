// Package bare is the baseline of the benchmarks: one workflow on the SDK alone.
package bare

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
	"github.com/roundsman/roundsman/jobtype"
)

// The bare SDK: one workflow with a constant number of no-op activities in flight, and with the options and
// payloads of Roundsman's jobs.
const (
	Queue       = "bench/bare"
	SharedQueue = "bench/bare/shared"
	Workflow    = "bench.Bare"
	Activity    = "bench.Execute"
)

// NodeQueue is the queue of one worker.
func NodeQueue(id string) string { return "bench/bare/" + id }

// Input is the input of the workflow: N activities, Parallel at once, over Queues.
type Input struct {
	N        int      `json:"n"`
	Parallel int      `json:"parallel"`
	Queues   []string `json:"queues"`
	// Duration of each activity in milliseconds.
	MS int `json:"ms,omitempty"`
}

// Fanout is the workflow. It waits in one coroutine, like Roundsman; a Selector would slow the baseline down.
func Fanout(ctx workflow.Context, in Input) (int, error) {
	type running struct {
		future workflow.Future
		queue  int
	}
	var flight []running
	load := make([]int, len(in.Queues))
	started, done := 0, 0
	for done < in.N {
		for started < in.N && len(flight) < in.Parallel {
			queue := 0
			for i := range load {
				if load[i] < load[queue] {
					queue = i
				}
			}
			load[queue]++
			flight = append(flight, running{call(ctx, in.Queues[queue], started, in.MS), queue})
			started++
		}
		ready := func() bool {
			for i := range flight {
				if flight[i].future.IsReady() {
					return true
				}
			}
			return false
		}
		if err := workflow.Await(ctx, ready); err != nil {
			return done, err
		}
		rest := flight[:0]
		for _, f := range flight {
			if !f.future.IsReady() {
				rest = append(rest, f)
				continue
			}
			var state contract.ExecuteState
			if err := f.future.Get(ctx, &state); err != nil {
				return done, err
			}
			load[f.queue]--
			done++
		}
		flight = rest
	}
	return done, nil
}

func call(ctx workflow.Context, queue string, i, ms int) workflow.Future {
	summary := fmt.Sprintf("no-op %d", i)
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ActivityID: contract.JobID(i + 1), TaskQueue: queue, Summary: summary,
		ScheduleToStartTimeout: time.Minute, StartToCloseTimeout: 30 * time.Minute, HeartbeatTimeout: 30 * time.Second,
		WaitForCancellation: true, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
	})
	return workflow.ExecuteActivity(ctx, Activity, contract.ExecuteInput{
		Handler: "noop", Timeout: jobtype.Duration(30 * time.Minute),
		Job: jobtype.Job{
			ID: contract.JobID(i + 1), JobType: "noop",
			DedupeKey: fmt.Sprintf("object/%06d", i), Summary: summary, Attempt: 1, Fence: 1 << 60,
			Params: fmt.Appendf(nil, `{"n":1000,"ms":%d}`, ms),
		},
		Liveness: jobtype.LivenessProgress, StallTimeout: jobtype.Duration(30 * time.Second), ProgressTimeout: jobtype.Duration(24 * time.Hour),
	})
}

// Execute is the activity. It sleeps for the time in its params.
func Execute(ctx context.Context, in contract.ExecuteInput) (contract.ExecuteState, error) {
	var params struct {
		MS int `json:"ms"`
	}
	if len(in.Job.Params) > 0 {
		if err := json.Unmarshal(in.Job.Params, &params); err != nil {
			return contract.ExecuteState{}, err
		}
	}
	if params.MS > 0 {
		if err := rpc.Wait(ctx, time.Duration(params.MS)*time.Millisecond); err != nil {
			return contract.ExecuteState{}, err
		}
	}
	return contract.ExecuteState{Worker: "node", Instance: "instance", StartedAt: time.Now(), DurationMS: int64(in.Job.Attempt)}, nil
}
