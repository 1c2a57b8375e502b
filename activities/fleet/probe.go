package fleet

import (
	"context"
	"fmt"
	"time"

	workerpb "go.temporal.io/api/worker/v1"

	"github.com/roundsman/roundsman/contract"
)

// probesPerInterval is the number of probe reads within one heartbeat interval.
const probesPerInterval = 5

// ProbeWorker implements [contract.ProbeWorkerActivity]. It waits until a heartbeat of that incarnation changes. The first
// and the last read are at least three heartbeat intervals apart. A repeat probes again.
func (o *Observer) ProbeWorker(ctx context.Context, in contract.ProbeWorkerInput) (contract.ProbeWorkerResult, error) {
	applied := o.thresholds.Applied(ctx).WithDefaults()
	ticker := time.NewTicker(applied.HeartbeatInterval.Std() / probesPerInterval)
	defer ticker.Stop()
	var before map[string]*workerpb.WorkerHeartbeat
	var limit <-chan time.Time
	over := false
	for {
		beats, err := o.beats(ctx, in)
		switch {
		case err != nil: // A server that does not respond, or keeps no heartbeats for some time, is no news.
		case before == nil:
			before, limit = beats, time.After(applied.FreshFor())
		case changed(before, beats):
			at, used := latest(in.ID, in.Instance, beats)
			return contract.ProbeWorkerResult{Alive: true, BeatAt: at, Used: used}, nil
		case over:
			return contract.ProbeWorkerResult{}, nil
		}
		select {
		case <-ticker.C:
		case <-limit:
			over, limit = true, nil
		case <-ctx.Done():
			return contract.ProbeWorkerResult{}, ctx.Err()
		}
	}
}

func changed(before, after map[string]*workerpb.WorkerHeartbeat) bool {
	for key, beat := range after {
		if was, known := before[key]; !known || !was.GetHeartbeatTime().AsTime().Equal(beat.GetHeartbeatTime().AsTime()) {
			return true
		}
	}
	return false
}

// Jobs from shared queues are excluded: they have heartbeats of their own.
func latest(id, instance string, beats map[string]*workerpb.WorkerHeartbeat) (at time.Time, used int) {
	for _, beat := range beats {
		if beat.GetTaskQueue() == contract.WorkerQueue(id, instance) && beat.GetHeartbeatTime().AsTime().After(at) {
			at, used = beat.GetHeartbeatTime().AsTime(), int(beat.GetActivityTaskSlotsInfo().GetCurrentUsedSlots())
		}
	}
	return at, used
}

func (o *Observer) beats(ctx context.Context, in contract.ProbeWorkerInput) (map[string]*workerpb.WorkerHeartbeat, error) {
	listed, err := o.pages(ctx, fmt.Sprintf("TaskQueue = '%s' OR TaskQueue = '%s'",
		contract.WorkerQueue(in.ID, in.Instance), contract.WorkerDetectQueue(in.ID, in.Instance)))
	if err != nil {
		return nil, err
	}
	beats := map[string]*workerpb.WorkerHeartbeat{}
	for _, w := range listed {
		beat, err := o.heartbeat(ctx, w.GetWorkerInstanceKey())
		if err != nil {
			return nil, err
		}
		if beat.GetHeartbeatTime() != nil {
			beats[w.GetWorkerInstanceKey()] = beat
		}
	}
	return beats, nil
}
