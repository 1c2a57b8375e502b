package fleet

import (
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
)

const maxPlanes = 16

func (e Boot) apply(r *Registry, now time.Time) {
	if e.Plane != nil {
		r.announce(*e.Plane, now)
	}
	if !e.Undeclared || !r.configured {
		Configure(e.FleetConfig).apply(r, now)
	}
}

// announce stores a control plane. Beyond [maxPlanes] the oldest one is dropped.
func (r *Registry) announce(plane contract.ControlPlane, now time.Time) {
	plane.At = now
	r.planes = slices.DeleteFunc(r.planes, func(known contract.ControlPlane) bool { return known.Identity == plane.Identity })
	r.planes = append(r.planes, plane)
	if surplus := len(r.planes) - maxPlanes; surplus > 0 {
		r.planes = slices.Delete(r.planes, 0, surplus)
	}
}

// ThresholdsResult answers the query for the thresholds.
func (r *Registry) ThresholdsResult() contract.ThresholdsResult {
	return contract.ThresholdsResult{Config: r.Config(), Configured: r.configured, Planes: slices.Clone(r.planes)}
}
