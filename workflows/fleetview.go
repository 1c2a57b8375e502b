package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
)

// newestView takes what the registry sent and returns the newest view that is
// newer than seen, which it moves on; nil if there is none.
func newestView(sent workflow.ReceiveChannel, seen *int64) *contract.FleetView {
	var newest *contract.FleetView
	for {
		var view contract.FleetView
		if !sent.ReceiveAsync(&view) {
			return newest
		}
		if view.Seq > *seen {
			*seen, newest = view.Seq, &view
		}
	}
}
