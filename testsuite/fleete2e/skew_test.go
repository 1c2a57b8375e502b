package fleete2e

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	workerpb "go.temporal.io/api/worker/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/testsuite"
)

// A node whose clock is three minutes off, either way, stays ONLINE far beyond the thresholds, and its skew is
// shown.
func TestClocksThatAreMinutesOff(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	skews := map[string]time.Duration{"ahead": 3 * time.Minute, "behind": -3 * time.Minute, "right": 0}
	for id := range skews {
		verdict, err := register(t.Context(), s.client, registration(id, "1"))
		require.NoError(t, err)
		require.True(t, verdict.Accepted)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		beatFor(ctx, s.client.WorkflowService(), skews)
	}()
	defer func() { cancel(); <-done }()
	for id := range skews {
		s.await(30*time.Second, id+" observed", id, observed)
	}
	began := time.Now()
	testsuite.WaitFor(t, time.Minute, "twice the UNREACHABLE threshold", func() bool { return time.Since(began) > 12*time.Second })
	for id, skew := range skews {
		w := s.await(time.Minute, id+" fresh", id, func(w contract.WorkerDetail) bool { return w.State == contract.WorkerOnline && w.Fresh })
		assertKept(t, w)
		assert.InDelta(t, skew.Seconds(), w.Skew.Std().Seconds(), 60, "%s: the skew is shown", id)
	}
}

// beatFor sends the heartbeats of simulated workers whose clocks are off.
func beatFor(ctx context.Context, service workflowservice.WorkflowServiceClient, skews map[string]time.Duration) {
	for {
		for id, skew := range skews {
			var entries []*workerpb.WorkerHeartbeat
			for _, queue := range []string{contract.WorkerQueue(id, "1"), contract.WorkerDetectQueue(id, "1")} {
				entries = append(entries, &workerpb.WorkerHeartbeat{
					WorkerInstanceKey: queue, WorkerIdentity: id, TaskQueue: queue, SdkName: "temporal-go", SdkVersion: "1.50.0",
					Status: enums.WORKER_STATUS_RUNNING, HeartbeatTime: timestamppb.New(time.Now().Add(skew)),
				})
			}
			_, _ = service.RecordWorkerHeartbeat(ctx, &workflowservice.RecordWorkerHeartbeatRequest{
				Namespace: testsuite.DefaultNamespace, Identity: id, WorkerHeartbeat: entries,
			}) // Lost beats are no error: the registry handles them.
		}
		select {
		case <-time.After(interval):
		case <-ctx.Done():
			return
		}
	}
}
