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

// crowdSenders is the number of goroutines that send a crowd's heartbeats.
const crowdSenders = 8

// Crowd sends the heartbeats of simulated workers to a server: one request per worker and interval with the
// entries of both queues, like the SDK. It does not register the workers.
type Crowd struct {
	Service workflowservice.WorkflowServiceClient
	// Size is the number of workers, Interval the time between two heartbeats of one.
	Size     int
	Interval time.Duration
	// Skew returns the clock error of a worker; nil means none.
	Skew func(i int) time.Duration
	// Silent is the number of workers, the last ones, without heartbeats.
	Silent atomic.Int64
	// Faults counts the heartbeats that the server refused.
	Faults atomic.Int64
}

// CrowdID returns the id of the worker with this index.
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
