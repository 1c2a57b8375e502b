package fleet

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/fleet"
	"github.com/roundsman/roundsman/internal/lib/pack"
)

const (
	// The server refuses an input over 2 MiB, and bytes inside a JSON document grow by a third.
	maxPacked = 1152 << 10
	// maxUnpacked guards against a corrupt input.
	maxUnpacked = 64 << 20
)

type state struct {
	Core  fleet.Snapshot `json:"core"`
	Fault string         `json:"fault,omitempty"`
}

// pack drops the oldest transitions if the state is too large.
func (r *run) pack() ([]byte, error) {
	for keep := fleet.MaxTransitions; ; keep /= 2 {
		packed, err := pack.JSON(state{Core: r.core.Snapshot(keep), Fault: r.fault})
		if err != nil || len(packed) <= maxPacked || keep <= 1 {
			return packed, err
		}
		workflow.GetLogger(r.ctx).Warn("The registry is large: only the newest transitions are kept.", "bytes", len(packed), "keep", keep/2)
	}
}

func (r *run) restore(in contract.FleetInput) error {
	if len(in.State) == 0 {
		r.core = fleet.New(in.Config, r.loop.Now())
		return nil
	}
	var s state
	if err := pack.OpenJSON(in.State, maxUnpacked, &s); err != nil {
		return temporal.NewNonRetryableApplicationError("the registry cannot continue: its state cannot be read", "BadState", err)
	}
	r.core, r.fault = fleet.Restore(in.Config, s.Core), s.Fault
	return nil
}
