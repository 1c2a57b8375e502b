package fleet

import (
	"errors"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/fleet"
)

// rejectedType is the type of the error for a rejected request: an operator's action, or a
// registration after the process has unregistered.
const rejectedType = "rejected"

type signals struct {
	unregister, watch, unwatch, trouble workflow.ReceiveChannel
}

func (s signals) waiting() bool {
	return s.unregister.Len()+s.watch.Len()+s.unwatch.Len()+s.trouble.Len() > 0
}

// Handlers never wait: at most ten updates may be in flight, and a hundred workers may register at once.
func (r *run) listen() error {
	r.signals = signals{
		unregister: workflow.GetSignalChannel(r.ctx, contract.SignalUnregisterWorker),
		watch:      workflow.GetSignalChannel(r.ctx, contract.SignalWatchFleet),
		unwatch:    workflow.GetSignalChannel(r.ctx, contract.SignalUnwatchFleet),
		trouble:    workflow.GetSignalChannel(r.ctx, contract.SignalWorkerTrouble),
	}
	if err := r.listenUpdates(); err != nil {
		return err
	}
	return r.listenQueries()
}

func (r *run) listenQueries() error {
	return errors.Join(
		workflow.SetQueryHandlerWithOptions(r.ctx, contract.QueryFleet, r.queryFleet,
			workflow.QueryHandlerOptions{Description: "The workers that can get work right now, as groups see them."}),
		workflow.SetQueryHandlerWithOptions(r.ctx, contract.QueryWorkers, r.queryWorkers,
			workflow.QueryHandlerOptions{Description: "The registered workers; one of them with its transitions."}),
		workflow.SetQueryHandlerWithOptions(r.ctx, contract.QueryKnown, r.queryKnown,
			workflow.QueryHandlerOptions{Description: "Is exactly this incarnation registered?"}),
		workflow.SetQueryHandlerWithOptions(r.ctx, contract.QuerySettings, r.querySettings,
			workflow.QueryHandlerOptions{Description: "The settings of a worker process: is it registered, how much may it run?"}),
		workflow.SetQueryHandlerWithOptions(r.ctx, contract.QueryStanding, r.queryStanding,
			workflow.QueryHandlerOptions{Description: "The settings of several worker processes, for gateways."}),
		workflow.SetQueryHandlerWithOptions(r.ctx, contract.QueryCleanup, r.queryCleanup,
			workflow.QueryHandlerOptions{Description: "Preview of cleanup-workers."}),
		workflow.SetQueryHandlerWithOptions(r.ctx, contract.QueryThresholds, r.queryThresholds,
			workflow.QueryHandlerOptions{Description: "The thresholds, and the control planes that started last."}),
		workflow.SetQueryHandlerWithOptions(r.ctx, contract.QueryHandlers, r.queryHandlers,
			workflow.QueryHandlerOptions{Description: "Every handler that a registered worker offers."}),
	)
}

func (r *run) queryFleet(filter contract.WatchFleetInput) (contract.FleetView, error) {
	return r.core.View(filter), nil
}

func (r *run) queryKnown(in contract.KnownInput) (bool, error) { return r.core.Known(in), nil }

func (r *run) querySettings(in contract.KnownInput) (contract.WorkerSettings, error) {
	return r.core.Settings(in), nil
}

func (r *run) queryStanding(in contract.StandingInput) (contract.StandingResult, error) {
	return r.core.Standing(in.Of), nil
}

func (r *run) queryWorkers(filter contract.WorkersQueryInput) (contract.WorkersQueryResult, error) {
	result := r.core.Workers(filter)
	result.Observer = r.fault
	for i := range result.Workers {
		explain.Worker(&result.Workers[i])
	}
	return result, nil
}

func (r *run) queryCleanup(in contract.CleanupWorkersInput) (contract.CleanupWorkersResult, error) {
	return contract.CleanupWorkersResult{Removed: r.core.Removable(fleet.Cleanup(in), r.loop.Now())}, nil
}

func (r *run) queryThresholds() (contract.ThresholdsResult, error) {
	return r.core.ThresholdsResult(), nil
}

func (r *run) queryHandlers() (contract.HandlersQueryResult, error) { return r.core.Handlers(), nil }

func (r *run) listenUpdates() error {
	return errors.Join(
		workflow.SetUpdateHandlerWithOptions(r.ctx, contract.UpdateRegisterWorker, r.register,
			workflow.UpdateHandlerOptions{Validator: r.checkRegistration, Description: "A worker process requests its id. Only workers send it."}),
		workflow.SetUpdateHandlerWithOptions(r.ctx, contract.UpdateOperateWorker, r.operate,
			workflow.UpdateHandlerOptions{Description: "Drain, cordon, uncordon or remove a worker."}),
		workflow.SetUpdateHandlerWithOptions(r.ctx, contract.UpdateResizeWorker, r.resize,
			workflow.UpdateHandlerOptions{Validator: checkResize, Description: "Change how much a worker runs at once."}),
		workflow.SetUpdateHandlerWithOptions(r.ctx, contract.UpdateCleanupWorkers, r.cleanup,
			workflow.UpdateHandlerOptions{Description: "Remove OFFLINE workers: all, or those that have been so for the deletion threshold."}),
		workflow.SetUpdateHandlerWithOptions(r.ctx, contract.UpdateConfigureFleet, r.configure,
			workflow.UpdateHandlerOptions{Validator: checkConfig, Description: "Replace the thresholds, if the sender's file has any. The control plane sends it at boot."}),
	)
}

// beginUpdate applies the signals received before an update: the deregistration of a process must precede the
// registration of its successor.
func (r *run) beginUpdate() {
	r.collectSignals()
	r.loop.Touch()
	r.loop.Received(1)
}

func (r *run) collectSignals() {
	for {
		var in contract.UnregisterWorkerInput
		if !r.signals.unregister.ReceiveAsync(&in) {
			break
		}
		r.loop.Received(1)
		r.step(fleet.Unregister(in))
	}
	for {
		var in contract.WatchFleetInput
		if !r.signals.watch.ReceiveAsync(&in) {
			break
		}
		r.loop.Received(1)
		r.step(fleet.Watch(in))
	}
	for {
		var in contract.WatchFleetInput
		if !r.signals.unwatch.ReceiveAsync(&in) {
			break
		}
		r.loop.Received(1)
		r.step(fleet.Unwatch(in))
	}
	for {
		var in contract.WorkerTroubleInput
		if !r.signals.trouble.ReceiveAsync(&in) {
			break
		}
		r.loop.Received(1)
		r.step(fleet.Trouble(in))
	}
}

func (r *run) checkRegistration(_ workflow.Context, in contract.WorkerRegistration) error {
	return r.core.Check(in)
}

func (r *run) register(ctx workflow.Context, in contract.WorkerRegistration) (contract.RegisterWorkerResult, error) {
	r.beginUpdate()
	before, _ := r.core.Worker(in.ID)
	var result contract.RegisterWorkerResult
	for _, decision := range r.step(fleet.Register(in)) {
		switch d := decision.(type) {
		case fleet.Accepted:
			result.Accepted = true
			result.Settings = new(r.core.Settings(d.Incarnation))
			r.auditTakeOver(ctx, in, d.Fenced, before.Registration)
		case fleet.Refused:
			result.Refused, result.Stale = &d.Holder, d.Stale
			if !d.Stale || in.Answered == d.Holder.Instance {
				r.auditRefused(in, d.Holder)
			}
		case fleet.Rejected:
			return contract.RegisterWorkerResult{}, rejected(d)
		default:
		}
	}
	return result, nil
}

func rejected(d fleet.Rejected) error {
	return temporal.NewNonRetryableApplicationError(explain.Rejection(contract.WorkerRejection(d)), rejectedType, nil)
}

func rejection(decisions []fleet.Decision) error {
	for _, decision := range decisions {
		if d, ok := decision.(fleet.Rejected); ok {
			return rejected(d)
		}
	}
	return nil
}

func (r *run) operate(ctx workflow.Context, in contract.OperateWorkerInput) (contract.WorkerDetail, error) {
	r.beginUpdate()
	before, _ := r.core.Worker(in.ID)
	if err := rejection(r.step(fleet.Operate(in))); err != nil {
		return contract.WorkerDetail{}, err
	}
	after, _ := r.core.Worker(in.ID)
	r.auditOperate(ctx, in, before, after)
	explain.Worker(&after)
	return after, nil
}

func checkResize(_ workflow.Context, in contract.ResizeWorkerInput) error {
	return fleet.CheckResize(in)
}

func (r *run) resize(ctx workflow.Context, in contract.ResizeWorkerInput) (contract.WorkerDetail, error) {
	r.beginUpdate()
	before, _ := r.core.Worker(in.ID)
	if err := rejection(r.step(fleet.Resize(in))); err != nil {
		return contract.WorkerDetail{}, err
	}
	after, _ := r.core.Worker(in.ID)
	r.auditCaps(ctx, in, before, after)
	explain.Worker(&after)
	return after, nil
}

func (r *run) cleanup(ctx workflow.Context, in contract.CleanupWorkersInput) (contract.CleanupWorkersResult, error) {
	r.beginUpdate()
	result := contract.CleanupWorkersResult{Removed: []string{}}
	for _, decision := range r.step(fleet.Cleanup(in)) {
		if d, ok := decision.(fleet.Transitioned); ok {
			result.Removed = append(result.Removed, d.ID)
		}
	}
	r.auditCleanup(ctx, in, result.Removed)
	return result, nil
}

func checkConfig(_ workflow.Context, in contract.ConfigureFleetInput) error {
	return in.WithDefaults().Validate()
}

func (r *run) configure(ctx workflow.Context, in contract.ConfigureFleetInput) (contract.FleetConfig, error) {
	r.beginUpdate()
	before, known := r.core.Config(), r.core.Configured()
	r.step(fleet.Boot(in))
	if known {
		r.auditThresholds(ctx, in.Plane, before, r.core.Config())
	}
	return before, nil
}
