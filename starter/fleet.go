package starter

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// Workers is the client for workers.
type Workers struct{ client *Client }

// Workers returns the client for workers.
func (c *Client) Workers() Workers { return Workers{c} }

// WorkerAction is an operator's action on a worker.
type WorkerAction string

// Drain and cordon both stop new work; drain also marks the worker as about to end. Uncordon undoes both.
const (
	ActionDrain    WorkerAction = "drain"
	ActionCordon   WorkerAction = "cordon"
	ActionUncordon WorkerAction = "uncordon"
	ActionRemove   WorkerAction = "remove"
)

func fleetRef() RunRef { return RunRef{WorkflowID: contract.FleetWorkflowID} }

// List lists the registered workers. It needs a control plane.
func (w Workers) List(ctx context.Context, filter contract.WorkersQueryInput) ([]contract.WorkerDetail, error) {
	answer, err := w.Registry(ctx, filter)
	return answer.Workers, err
}

// Registry lists the workers, and whether living ones may be missing or are not observed.
func (w Workers) Registry(ctx context.Context, filter contract.WorkersQueryInput) (contract.WorkersQueryResult, error) {
	answer, err := query[contract.WorkersQueryResult](ctx, w.client, fleetRef(), contract.QueryWorkers, filter)
	if err != nil {
		return answer, err
	}
	slices.SortFunc(answer.Workers, func(a, b contract.WorkerDetail) int { return cmp.Compare(a.Registration.ID, b.Registration.ID) })
	return answer, nil
}

// Get returns one worker with its transitions.
func (w Workers) Get(ctx context.Context, id string) (contract.WorkerDetail, error) {
	found, err := w.List(ctx, contract.WorkersQueryInput{ID: id, Deleted: true})
	if err != nil {
		return contract.WorkerDetail{}, err
	}
	for _, worker := range found {
		if worker.Registration.ID == id {
			return worker, nil
		}
	}
	return contract.WorkerDetail{}, &NotFoundError{What: "worker", Name: id, Hint: "see `roundsman workers`"}
}

// Operate carries out an operator's action and returns the worker after it.
func (w Workers) Operate(ctx context.Context, id string, action WorkerAction, by, reason string) (contract.WorkerDetail, error) {
	after, err := update[contract.WorkerDetail](ctx, w.client, fleetRef(), contract.UpdateOperateWorker,
		contract.OperateWorkerInput{ID: id, Action: string(action), By: by, Reason: reason})
	if err != nil {
		return after, fmt.Errorf("%s worker %s: %w", action, id, err)
	}
	return after, nil
}

// RemovedWorkers names the workers that a clean-up removed, or would remove in a dry run.
type RemovedWorkers struct {
	Removed []string `json:"removed"`
	DryRun  bool     `json:"dry_run,omitempty"`
}

// Cleanup removes OFFLINE workers: all, or those offline for longer than the deletion threshold.
func (w Workers) Cleanup(ctx context.Context, all bool, by string) (RemovedWorkers, error) {
	result, err := update[contract.CleanupWorkersResult](ctx, w.client, fleetRef(), contract.UpdateCleanupWorkers, contract.CleanupWorkersInput{AllOffline: all, By: by})
	return RemovedWorkers{Removed: result.Removed}, err
}

// PreviewCleanup returns the workers that Cleanup would remove now.
func (w Workers) PreviewCleanup(ctx context.Context, all bool) (RemovedWorkers, error) {
	result, err := query[contract.CleanupWorkersResult](ctx, w.client, fleetRef(), contract.QueryCleanup, contract.CleanupWorkersInput{AllOffline: all})
	return RemovedWorkers{result.Removed, true}, err
}

// Thresholds returns the registry's thresholds and the last started control planes. It needs a control plane.
func (w Workers) Thresholds(ctx context.Context) (contract.ThresholdsResult, error) {
	return query[contract.ThresholdsResult](ctx, w.client, fleetRef(), contract.QueryThresholds)
}

// Handlers returns the registered descriptors, one per name. It needs a control plane.
func (w Workers) Handlers(ctx context.Context) ([]jobtype.Descriptor, error) {
	answer, err := query[contract.HandlersQueryResult](ctx, w.client, fleetRef(), contract.QueryHandlers)
	if err != nil {
		return nil, err
	}
	// Among versions of one handler, the version of most workers comes first.
	slices.SortStableFunc(answer.Handlers, func(a, b contract.FleetHandler) int { return cmp.Compare(b.Workers, a.Workers) })
	var known []jobtype.Descriptor
	for _, handler := range answer.Handlers {
		if !slices.ContainsFunc(known, func(d jobtype.Descriptor) bool { return d.Name == handler.Descriptor.Name }) {
			known = append(known, handler.Descriptor)
		}
	}
	return known, nil
}
