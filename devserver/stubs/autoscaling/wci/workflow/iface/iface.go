// Package iface stands in for the messages of Temporal's worker controller, see package client.
package iface

import (
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
)

// Values of the server's dynamic types.
type (
	ComputeProviderType  string
	ScalingAlgorithmType string
	ValidationResult     string
)

// ValidationResultFailed marks a failed validation.
const ValidationResultFailed ValidationResult = "failed"

// Messages have the fields that the server uses.
type (
	ComputeProviderSpec struct {
		ProviderType  ComputeProviderType
		Config        *commonpb.Payload
		NexusEndpoint string
	}
	ScalingAlgorithmSpec struct {
		ScalingAlgorithm ScalingAlgorithmType
		Config           *commonpb.Payload
	}
	ScalingGroupSpec struct {
		TaskTypes []enumspb.TaskQueueType
		Compute   ComputeProviderSpec
		Scaling   *ScalingAlgorithmSpec
	}
	ScalingGroupSpecUpdate struct {
		Spec       ScalingGroupSpec
		UpdateMask []string
	}
	WorkerControllerInstanceSpec struct{ ScalingGroupSpecs map[string]ScalingGroupSpec }
	ValidationStatus             struct {
		LastValidationTime time.Time
		Status             ValidationResult
		ErrMessage         string
	}
	QueryDescribeWorkerControllerInstanceResponse struct {
		Spec             *WorkerControllerInstanceSpec
		ValidationStatus *ValidationStatus
	}
	UpdateWorkerControllerInstanceResponse struct{ Spec *WorkerControllerInstanceSpec }
)
