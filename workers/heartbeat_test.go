package workers

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
)

// slowServer accepts a heartbeat after a while, and keeps the heartbeats' times.
type slowServer struct {
	takes time.Duration
	beats []time.Time
}

func (s *slowServer) RecordWorkerHeartbeat(_ context.Context, in *workflowservice.RecordWorkerHeartbeatRequest, _ ...grpc.CallOption) (*workflowservice.RecordWorkerHeartbeatResponse, error) {
	time.Sleep(s.takes)
	s.beats = append(s.beats, in.GetWorkerHeartbeat()[0].GetHeartbeatTime().AsTime())
	return &workflowservice.RecordWorkerHeartbeatResponse{}, nil
}

// A worker must not look silent because each call takes almost an interval.
func TestASlowServerDoesNotDelayTheNextHeartbeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := &slowServer{takes: 900 * time.Millisecond}
		h := &heartbeat{
			service: server, sdk: 5 * time.Second, changed: make(chan struct{}, 1), stopping: func() bool { return false }, debug: func(string, ...any) {},
		}
		h.interval.Store(int64(time.Second))
		begun := time.Now()
		ctx, cancel := context.WithDeadline(t.Context(), begun.Add(9950*time.Millisecond))
		defer cancel()
		h.run(ctx)
		var at []time.Duration
		for _, beat := range server.beats {
			at = append(at, beat.Sub(begun))
		}
		for i := range at {
			assert.Equal(t, time.Duration(i)*time.Second, at[i])
		}
		assert.Len(t, at, 10)
	})
}
