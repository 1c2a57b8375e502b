// Package client stands in for Temporal's worker controller, which the stock server has switched off
// (workercontroller.enabled). See docs/adr/0070-server-without-clouds.md.
package client

import (
	"context"

	"go.uber.org/fx"

	deploymentpb "go.temporal.io/api/deployment/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/auto-scaled-workers/wci/workflow/iface"
	"go.temporal.io/server/common/namespace"
)

const (
	leftOut = "compute config: this Temporal server is built without the worker controller; use a Temporal cluster of your own"
	none    = "compute config: this Temporal server is built without the worker controller, so no version has one"
)

// Module provides the Client.
var Module = fx.Provide(func() Client { return Client{} })

// Client reports that no version of a worker deployment has a compute config, and accepts none.
type Client struct{}

// DescribeWorkerControllerInstance returns NotFound, as for any version without a compute config.
func (Client) DescribeWorkerControllerInstance(
	context.Context, *namespace.Namespace, *deploymentpb.WorkerDeploymentVersion,
) (*iface.QueryDescribeWorkerControllerInstanceResponse, []byte, error) {
	return nil, nil, serviceerror.NewNotFound(none)
}

// UpdateWorkerControllerInstance returns InvalidArgument.
func (Client) UpdateWorkerControllerInstance(
	context.Context, *namespace.Namespace, *deploymentpb.WorkerDeploymentVersion, []byte, string,
	map[string]iface.ScalingGroupSpecUpdate, []string,
) (*iface.UpdateWorkerControllerInstanceResponse, error) {
	return nil, serviceerror.NewInvalidArgument(leftOut)
}

// ValidateWorkerControllerInstanceSpec returns InvalidArgument.
func (Client) ValidateWorkerControllerInstanceSpec(
	context.Context, *namespace.Namespace, *deploymentpb.WorkerDeploymentVersion, string,
	map[string]iface.ScalingGroupSpecUpdate, []string,
) error {
	return serviceerror.NewInvalidArgument(leftOut)
}

// DeleteWorkerControllerInstance does nothing: there is no instance to delete.
func (Client) DeleteWorkerControllerInstance(
	context.Context, *namespace.Namespace, *deploymentpb.WorkerDeploymentVersion, string,
) error {
	return nil
}
