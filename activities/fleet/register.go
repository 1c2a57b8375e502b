package fleet

import (
	"go.temporal.io/sdk/activity"

	"github.com/roundsman/roundsman/contract"
)

// Registry is where activities are registered: a worker or a test environment.
type Registry interface {
	RegisterActivityWithOptions(a any, options activity.RegisterOptions)
}

// Register registers the observer's activities under their names.
func Register(r Registry, o *Observer) {
	r.RegisterActivityWithOptions(o.ObserveWorkers, activity.RegisterOptions{Name: contract.ObserveWorkersActivity})
	r.RegisterActivityWithOptions(o.ServerAway, activity.RegisterOptions{Name: contract.ServerAwayActivity})
	r.RegisterActivityWithOptions(o.ProbeWorker, activity.RegisterOptions{Name: contract.ProbeWorkerActivity})
}
