// Package workercomponent stands in for the workers of Temporal's worker controller, see package client.
package workercomponent

import "go.uber.org/fx"

// Module provides no worker.
var Module = fx.Options()
