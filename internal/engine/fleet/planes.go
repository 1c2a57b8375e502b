package fleet

import (
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
)

const maxPlanes = 16

type planes []contract.ControlPlane

func (e Boot) apply(r *Registry, now time.Time) {
	if e.Plane != nil {
		r.planes.announce(*e.Plane, now)
	}
	if !e.Undeclared || !r.configured {
		Configure(e.FleetConfig).apply(r, now)
	}
}

func (p *planes) announce(plane contract.ControlPlane, now time.Time) {
	plane.At = now
	*p = slices.DeleteFunc(*p, func(known contract.ControlPlane) bool { return known.Identity == plane.Identity })
	*p = append(*p, plane)
	if surplus := len(*p) - maxPlanes; surplus > 0 {
		*p = slices.Delete(*p, 0, surplus)
	}
}

// ThresholdsResult answers the query for the thresholds.
func (r *Registry) ThresholdsResult() contract.ThresholdsResult {
	return contract.ThresholdsResult{Config: r.Config(), Configured: r.configured, Planes: slices.Clone(r.planes)}
}
