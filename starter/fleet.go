package starter

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// Workers is the part of the client about workers.
type Workers struct{ client *Client }

// Workers gives the part of the client about workers.
func (c *Client) Workers() Workers { return Workers{c} }

// WorkerAction is what an operator does to a worker.
type WorkerAction string

// The actions. Drain and cordon both stop new work; drain also says that the
// worker is meant to end. Uncordon takes either back.
const (
	ActionDrain    WorkerAction = "drain"
	ActionCordon   WorkerAction = "cordon"
	ActionUncordon WorkerAction = "uncordon"
	ActionRemove   WorkerAction = "remove"
)

func fleetRef() RunRef { return RunRef{WorkflowID: contract.FleetWorkflowID} }

// List lists the registry. It needs a control plane.
func (w Workers) List(ctx context.Context, filter contract.WorkersQueryInput) ([]contract.WorkerDetail, error) {
	answer, err := w.Registry(ctx, filter)
	return answer.Workers, err
}

// Registry is the list with what else the registry says: whether it may lack living
// workers, and why it does not observe them.
func (w Workers) Registry(ctx context.Context, filter contract.WorkersQueryInput) (contract.WorkersQueryResult, error) {
	answer, err := query[contract.WorkersQueryResult](ctx, w.client, fleetRef(), contract.QueryWorkers, filter)
	if err != nil {
		return answer, err
	}
	slices.SortFunc(answer.Workers, func(a, b contract.WorkerDetail) int {
		if a.Registration.ID < b.Registration.ID {
			return -1
		}
		return 1
	})
	return answer, nil
}

// Get shows one worker with its transitions.
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

// Operate carries out an operator's action and returns the worker after
// it. by and reason are kept in the worker's transitions.
func (w Workers) Operate(ctx context.Context, id string, action WorkerAction, by, reason string) (contract.WorkerDetail, error) {
	after, err := update[contract.WorkerDetail](ctx, w.client, fleetRef(), contract.UpdateOperateWorker,
		contract.OperateWorkerInput{ID: id, Action: string(action), By: by, Reason: reason})
	if err != nil {
		return after, fmt.Errorf("%s worker %s: %w", action, id, err)
	}
	return after, nil
}

// RemovedWorkers names what a clean-up has removed; of a dry run, what it would.
type RemovedWorkers struct {
	Removed []string `json:"removed"`
	DryRun  bool     `json:"dry_run,omitempty"`
}

// Cleanup removes OFFLINE workers from the registry: all of them, or
// those offline for longer than the deletion threshold.
func (w Workers) Cleanup(ctx context.Context, all bool, by string) (RemovedWorkers, error) {
	result, err := update[contract.CleanupWorkersResult](ctx, w.client, fleetRef(), contract.UpdateCleanupWorkers, contract.CleanupWorkersInput{AllOffline: all, By: by})
	return RemovedWorkers{Removed: result.Removed}, err
}

// PreviewCleanup names the workers that Cleanup would remove now.
func (w Workers) PreviewCleanup(ctx context.Context, all bool) (RemovedWorkers, error) {
	result, err := query[contract.CleanupWorkersResult](ctx, w.client, fleetRef(), contract.QueryCleanup, contract.CleanupWorkersInput{AllOffline: all})
	return RemovedWorkers{result.Removed, true}, err
}

// Thresholds returns those of the registry, and the control planes that started last.
// It needs a control plane.
func (w Workers) Thresholds(ctx context.Context) (contract.ThresholdsResult, error) {
	return query[contract.ThresholdsResult](ctx, w.client, fleetRef(), contract.QueryThresholds)
}

// Handlers are the descriptors that workers of the fleet have registered, one
// per name. It needs a control plane.
func (w Workers) Handlers(ctx context.Context) ([]jobtype.Descriptor, error) {
	answer, err := query[contract.HandlersQueryResult](ctx, w.client, fleetRef(), contract.QueryHandlers)
	if err != nil {
		return nil, err
	}
	// Of several versions of one handler, the one that most workers have.
	slices.SortStableFunc(answer.Handlers, func(a, b contract.FleetHandler) int { return cmp.Compare(b.Workers, a.Workers) })
	var known []jobtype.Descriptor
	for _, handler := range answer.Handlers {
		if !slices.ContainsFunc(known, func(d jobtype.Descriptor) bool { return d.Name == handler.Descriptor.Name }) {
			known = append(known, handler.Descriptor)
		}
	}
	return known, nil
}
