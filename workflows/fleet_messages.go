package workflows

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/fleet"
)

// rejectedType is the type of the error that answers what cannot be done: an
// operator's action, a hello after the goodbye.
const rejectedType = "rejected"

// fleetMessages are the channels of the registry's signals.
type fleetMessages struct {
	unregister, watch, unwatch workflow.ReceiveChannel
}

func (m fleetMessages) waiting() bool {
	return m.unregister.Len()+m.watch.Len()+m.unwatch.Len() > 0
}

// listen opens the registry to messages. Handlers never wait: at most ten
// updates may be in flight, and a hundred workers may register at once.
func (f *fleetRun) listen() error {
	f.messages = fleetMessages{
		unregister: workflow.GetSignalChannel(f.ctx, contract.SignalUnregisterWorker),
		watch:      workflow.GetSignalChannel(f.ctx, contract.SignalWatchFleet),
		unwatch:    workflow.GetSignalChannel(f.ctx, contract.SignalUnwatchFleet),
	}
	if err := f.listenUpdates(); err != nil {
		return err
	}
	return f.listenQueries()
}

func (f *fleetRun) listenQueries() error {
	if err := workflow.SetQueryHandlerWithOptions(f.ctx, contract.QueryFleet, f.queryFleet,
		workflow.QueryHandlerOptions{Description: "Who can get work right now, as groups see it."}); err != nil {
		return err
	}
	if err := workflow.SetQueryHandlerWithOptions(f.ctx, contract.QueryWorkers, f.queryWorkers,
		workflow.QueryHandlerOptions{Description: "The registered workers; one of them with its transitions."}); err != nil {
		return err
	}
	if err := workflow.SetQueryHandlerWithOptions(f.ctx, contract.QueryKnown, f.queryKnown,
		workflow.QueryHandlerOptions{Description: "Is exactly this incarnation registered?"}); err != nil {
		return err
	}
	if err := workflow.SetQueryHandlerWithOptions(f.ctx, contract.QuerySettings, f.querySettings,
		workflow.QueryHandlerOptions{Description: "What a worker process has to know: is it registered, how much may it run?"}); err != nil {
		return err
	}
	return workflow.SetQueryHandlerWithOptions(f.ctx, contract.QueryHandlers, f.queryHandlers,
		workflow.QueryHandlerOptions{Description: "Every handler that a registered worker offers."})
}

func (f *fleetRun) listenUpdates() error {
	if err := workflow.SetUpdateHandlerWithOptions(f.ctx, contract.UpdateRegisterWorker, f.register,
		workflow.UpdateHandlerOptions{Validator: f.checkRegistration, Description: "A worker process asks for its id. Only workers send it."}); err != nil {
		return err
	}
	if err := workflow.SetUpdateHandlerWithOptions(f.ctx, contract.UpdateOperateWorker, f.operate,
		workflow.UpdateHandlerOptions{Description: "Drain, cordon, uncordon or remove a worker."}); err != nil {
		return err
	}
	if err := workflow.SetUpdateHandlerWithOptions(f.ctx, contract.UpdateResizeWorker, f.resize,
		workflow.UpdateHandlerOptions{Validator: checkResize, Description: "Change how much a worker runs at once."}); err != nil {
		return err
	}
	if err := workflow.SetUpdateHandlerWithOptions(f.ctx, contract.UpdateCleanupWorkers, f.cleanup,
		workflow.UpdateHandlerOptions{Description: "Remove OFFLINE workers: all, or those that have been so for the deletion threshold."}); err != nil {
		return err
	}
	return workflow.SetUpdateHandlerWithOptions(f.ctx, contract.UpdateConfigureFleet, f.configure,
		workflow.UpdateHandlerOptions{Validator: checkFleetConfig, Description: "Replace the thresholds. The control plane sends it at boot."})
}

func (f *fleetRun) checkRegistration(_ workflow.Context, in contract.WorkerRegistration) error {
	if _, known := f.registrations[in.ID]; !known && len(f.registrations) >= contract.MaxWorkers {
		return errFleetFull
	}
	return checkRegistration(in)
}

func (f *fleetRun) register(ctx workflow.Context, in contract.WorkerRegistration) (contract.RegisterWorkerResult, error) {
	said, kept := in.Resized, in.Kept
	in.Resized, in.Kept = nil, nil
	digest, _, err := digestOf(in)
	if err != nil {
		return contract.RegisterWorkerResult{}, err
	}
	in.Resized = f.resizedBefore(in.ID, said)
	before := f.registrations[in.ID]
	event := fleet.Register{Identity: fleet.Identity{ID: in.ID, Instance: in.Instance}, Host: in.Host, PID: in.PID, TakeOver: in.TakeOver, Digest: digest}
	event.Mode, event.Kept = keptBefore(kept)
	var result contract.RegisterWorkerResult
	for _, decision := range f.step(event) {
		switch d := decision.(type) {
		case fleet.Accepted:
			result.Accepted = true
			f.auditTakeOver(ctx, in, d.Fenced, before)
			f.registrations[in.ID] = f.descriptors.share(in)
			f.touched = true
			settings := f.settings(contract.KnownInput{ID: in.ID, Instance: in.Instance})
			result.Settings = &settings
		case fleet.Refused:
			result.Refused = refused(d.Holder)
			f.auditRefused(in, d.Holder)
		case fleet.Rejected:
			return contract.RegisterWorkerResult{}, temporal.NewNonRetryableApplicationError(d.Reason, rejectedType, nil)
		default:
		}
	}
	return result, nil
}

func (f *fleetRun) operate(ctx workflow.Context, in contract.OperateWorkerInput) (contract.WorkerDetail, error) {
	before, _ := f.core.Worker(in.ID)
	event := fleet.Operate{ID: in.ID, Action: fleet.Action(in.Action), By: in.By, Reason: in.Reason}
	for _, decision := range f.step(event) {
		if d, ok := decision.(fleet.Rejected); ok {
			return contract.WorkerDetail{}, temporal.NewNonRetryableApplicationError(d.Reason, rejectedType, nil)
		}
	}
	f.touched = true
	f.auditOperate(ctx, in, before)
	status, _ := f.core.Worker(in.ID)
	return f.detail(status, true), nil
}

func (f *fleetRun) cleanup(ctx workflow.Context, in contract.CleanupWorkersInput) (contract.CleanupWorkersResult, error) {
	result := contract.CleanupWorkersResult{Removed: []string{}}
	for _, decision := range f.step(fleet.Cleanup{AllOffline: in.AllOffline, By: in.By}) {
		if d, ok := decision.(fleet.Transitioned); ok && d.To == fleet.Deleted {
			result.Removed = append(result.Removed, d.ID)
		}
	}
	f.touched = true
	f.auditCleanup(ctx, in, result.Removed)
	return result, nil
}

func checkFleetConfig(_ workflow.Context, in contract.FleetConfig) error {
	return coreConfig(in).Validate()
}

func (f *fleetRun) configure(ctx workflow.Context, in contract.FleetConfig) (contract.FleetConfig, error) {
	before := wireConfig(f.core.Config())
	if f.configured {
		f.auditThresholds(ctx, before, wireConfig(coreConfig(in)))
	}
	if !f.configured {
		// The running observation was only to ask for the thresholds.
		f.stopObserving()
	}
	f.configured, f.touched = true, true
	f.step(fleet.Configure{Config: coreConfig(in)})
	return before, nil
}

// collectSignals takes in all signals that have come. A signal that cannot be
// decoded is logged and dropped by the SDK.
func (f *fleetRun) collectSignals() {
	for {
		var in contract.UnregisterWorkerInput
		if !f.messages.unregister.ReceiveAsync(&in) {
			break
		}
		f.step(fleet.Unregister{Identity: fleet.Identity{ID: in.ID, Instance: in.Instance}})
	}
	for {
		var in contract.WatchFleetInput
		if !f.messages.watch.ReceiveAsync(&in) {
			break
		}
		f.watch(in)
	}
	for {
		var in contract.WatchFleetInput
		if !f.messages.unwatch.ReceiveAsync(&in) {
			break
		}
		delete(f.watchers, in.WorkflowID)
	}
}

func (f *fleetRun) queryFleet(filter contract.WatchFleetInput) (contract.FleetView, error) {
	return f.view(filter), nil
}

func (f *fleetRun) queryKnown(in contract.KnownInput) (bool, error) {
	return f.core.Known(fleet.Identity{ID: in.ID, Instance: in.Instance}), nil
}

func (f *fleetRun) queryWorkers(filter contract.WorkersQueryInput) (contract.WorkersQueryResult, error) {
	result := contract.WorkersQueryResult{Workers: []contract.WorkerDetail{}, Observer: f.fault}
	list := f.core.View()
	if filter.Deleted {
		list = append(list, f.core.Deleted()...)
	}
	for _, status := range list {
		if (filter.ID != "" && status.ID != filter.ID) || (filter.Online && status.State != fleet.Online) {
			continue
		}
		result.Workers = append(result.Workers, f.detail(status, filter.ID != ""))
	}
	return result, nil
}

func (f *fleetRun) queryHandlers() (contract.HandlersQueryResult, error) {
	return f.handlers(), nil
}
