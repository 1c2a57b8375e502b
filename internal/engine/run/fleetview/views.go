// Package fleetview puts the views of the fleet that a run receives into order.
package fleetview

import (
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run"
)

// Views takes the views of the fleet in the order of their numbers.
type Views struct {
	// Newest view that was taken; 0: views are missing, and the run requests a whole one.
	Seen    int64
	missing bool
}

// Take returns the changes of a view; false if the view is old or an earlier one is missing. lost reports the latter once.
func (v *Views) Take(view contract.FleetView) (changed run.WorkersChanged, ok, lost bool) {
	whole := view.Since == 0
	if view.Seq <= v.Seen || v.missing && !whole {
		return changed, false, false
	}
	if view.Since > v.Seen {
		v.Seen, v.missing = 0, true
		return changed, false, true
	}
	v.Seen, v.missing = view.Seq, false
	return run.WorkersChanged{Workers: view.Workers, Incomplete: view.Incomplete, Partial: !whole, Gone: view.Gone}, true, false
}
