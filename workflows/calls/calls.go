// Package calls has the activity options that several workflows share.
package calls

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
)

// controlTimeout bounds one attempt of a short control activity.
const controlTimeout = 30 * time.Second

// ControlOptions returns the options of short activities of the control plane.
// They are retried until they succeed: while the control plane is away, nothing
// else would continue either.
func ControlOptions(summary string) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		TaskQueue:           contract.ControlQueue,
		StartToCloseTimeout: controlTimeout,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 10 * time.Second},
		Summary:             summary,
	}
}
