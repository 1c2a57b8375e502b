package fleet

import (
	"cmp"
	"context"
	"time"

	workerpb "go.temporal.io/api/worker/v1"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/registry"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
	"github.com/roundsman/roundsman/jobtype"
)

// late is how much later than usual a heartbeat of a live worker arrives.
const late = 250 * time.Millisecond

// ServerAway is [contract.ServerAwayActivity]: the view of this process, and the last heartbeats of the
// worker. A remote worker may run while its gateway is gone, so its silence means nothing.
func (o *Observer) ServerAway(ctx context.Context, in contract.ServerAwayInput) (contract.ServerAwayResult, error) {
	away := contract.ServerAwayResult{Away: true}
	if time.Since(rpc.Server.Last()) < in.Within.Std() {
		return away, nil
	}
	type answer = map[string]*workerpb.WorkerHeartbeat
	// A worker may lose many attempts at once.
	read, err, _ := o.reads.Do(in.ID+"/"+in.Instance, func() (any, error) { return o.beats(ctx, contract.ProbeWorkerInput(in.Incarnation)) })
	if err != nil {
		return away, nil //nolint:nilerr // unknown: the run waits
	}
	beats, _ := read.(answer)
	var here contract.ServerAwayResult
	for _, beat := range beats {
		if registry.Remote(beat) {
			return away, nil
		}
		interval := min(cmp.Or(beat.GetElapsedSinceLastHeartbeat().AsDuration(), in.Silent.Std()), in.Silent.Std())
		here.Due = max(here.Due, jobtype.Duration(interval+late-time.Since(beat.GetHeartbeatTime().AsTime())))
	}
	return here, nil
}
