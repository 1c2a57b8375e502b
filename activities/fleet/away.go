package fleet

import (
	"context"
	"time"

	workerpb "go.temporal.io/api/worker/v1"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/registry"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
)

// ServerAway is [contract.ServerAwayActivity]. A remote worker may run while its gateway is gone, so its silence
// means nothing.
func (o *Observer) ServerAway(ctx context.Context, in contract.ServerAwayInput) (bool, error) {
	if time.Since(rpc.Server.Last()) < in.Within.Std() {
		return true, nil
	}
	type answer = map[string]*workerpb.WorkerHeartbeat
	// A worker may lose many attempts at once.
	read, err, _ := o.reads.Do(in.ID+"/"+in.Instance, func() (any, error) { return o.beats(ctx, contract.ProbeWorkerInput(in.Incarnation)) })
	if err != nil {
		return true, nil //nolint:nilerr // unknown: the run waits
	}
	beats, _ := read.(answer)
	for _, beat := range beats {
		if registry.Remote(beat) || time.Since(beat.GetHeartbeatTime().AsTime()) < in.Silent.Std() {
			return true, nil
		}
	}
	return false, nil
}
