package testsuite

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/api/enums/v1"
	workerpb "go.temporal.io/api/worker/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/roundsman/roundsman/contract"
)

// crowdSenders share the workers of a crowd.
const crowdSenders = 8

// Crowd sends the heartbeats of simulated workers to a server: one request for
// each worker and interval, with the entries of both queues, as the SDK does.
// They register by themselves or not at all.
type Crowd struct {
	// Service is the server's.
	Service workflowservice.WorkflowServiceClient
	// Size is how many workers there are, Interval how often each beats.
	Size     int
	Interval time.Duration
	// Skew is how far the clock of a worker is off; nil: all are right.
	Skew func(i int) time.Duration
	// Silent are so many workers, the last ones, that do not beat.
	Silent atomic.Int64
	// Faults counts the beats that the server refused.
	Faults atomic.Int64
}

// CrowdID is the id of the worker with that index.
func CrowdID(i int) string { return fmt.Sprintf("w%04d", i) }

// Run sends until the context ends.
func (c *Crowd) Run(ctx context.Context) {
	var all sync.WaitGroup
	for sender := range crowdSenders {
		all.Go(func() {
			tick := time.NewTicker(c.Interval * crowdSenders / time.Duration(c.Size))
			defer tick.Stop()
			for i := sender; ; i += crowdSenders {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
				}
				if n := i % c.Size; n < c.Size-int(c.Silent.Load()) {
					c.beat(ctx, n)
				}
			}
		})
	}
	all.Wait()
}

func (c *Crowd) beat(ctx context.Context, i int) {
	id, at := CrowdID(i), time.Now()
	if c.Skew != nil {
		at = at.Add(c.Skew(i))
	}
	var entries []*workerpb.WorkerHeartbeat
	for _, queue := range []string{contract.WorkerQueue(id, "1"), contract.WorkerDetectQueue(id, "1")} {
		entries = append(entries, &workerpb.WorkerHeartbeat{
			WorkerInstanceKey: queue, WorkerIdentity: id, TaskQueue: queue, SdkName: "temporal-go", SdkVersion: "1.50.0",
			Status: enums.WORKER_STATUS_RUNNING, HeartbeatTime: timestamppb.New(at),
			HostInfo: &workerpb.WorkerHostInfo{HostName: "host-" + id, ProcessId: strconv.Itoa(i)},
		})
	}
	_, err := c.Service.RecordWorkerHeartbeat(ctx, &workflowservice.RecordWorkerHeartbeatRequest{
		Namespace: DefaultNamespace, Identity: id, WorkerHeartbeat: entries,
	})
	if err != nil && ctx.Err() == nil {
		c.Faults.Add(1)
	}
}
