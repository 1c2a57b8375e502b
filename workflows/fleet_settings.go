package workflows

import (
	"errors"
	"fmt"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/fleet"
)

// settings are what one incarnation has to know.
func (f *fleetRun) settings(who contract.KnownInput) contract.WorkerSettings {
	if !f.core.Known(fleet.Identity{ID: who.ID, Instance: who.Instance}) {
		return contract.WorkerSettings{}
	}
	status, _ := f.core.Worker(who.ID)
	settings := contract.WorkerSettings{
		Known: true, Resized: f.registrations[who.ID].Resized, Held: status.Mode != fleet.ModeNormal,
	}
	if settings.Held {
		settings.Kept = &contract.WorkerKept{Mode: string(status.Mode), WorkerTransition: wireTransition(status.Kept)}
	}
	return settings
}

// keptBefore is what the worker says of an operator's drain or cordon, for a
// registry that was terminated and has lost it.
func keptBefore(said *contract.WorkerKept) (fleet.Mode, fleet.Transition) {
	if said == nil {
		return fleet.ModeNormal, fleet.Transition{}
	}
	t := said.WorkerTransition
	return fleet.Mode(said.Mode), fleet.Transition{At: t.At, From: fleet.State(t.From), To: fleet.State(t.To), Reason: t.Reason, By: t.By}
}

func (f *fleetRun) querySettings(in contract.KnownInput) (contract.WorkerSettings, error) {
	return f.settings(in), nil
}

// resizedBefore keeps an operator's caps over a restart of the worker. A
// registry that was terminated has lost them; then the worker's own word counts.
func (f *fleetRun) resizedBefore(id string, said *contract.WorkerCaps) *contract.WorkerCaps {
	if before, known := f.registrations[id]; known {
		return before.Resized
	}
	if said != nil && checkCaps(*said) != nil {
		return nil
	}
	return said
}

func checkResize(_ workflow.Context, in contract.ResizeWorkerInput) error {
	switch {
	case in.Reset && (in.MaxDetect != 0 || in.MaxExecute != 0):
		return errors.New("either reset or new caps, not both")
	case in.Reset:
		return nil
	case in.MaxDetect == 0 && in.MaxExecute == 0:
		return errors.New("nothing to change: give max_detect, max_execute or reset")
	}
	return checkCaps(contract.WorkerCaps{MaxDetect: in.MaxDetect, MaxExecute: in.MaxExecute})
}

// checkCaps lets 0 pass, which leaves a cap as it is.
func checkCaps(caps contract.WorkerCaps) error {
	if caps.MaxDetect < 0 || caps.MaxExecute < 0 || caps.MaxDetect > contract.MaxWorkerCap || caps.MaxExecute > contract.MaxWorkerCap {
		return fmt.Errorf("caps must be between 1 and %d", contract.MaxWorkerCap)
	}
	return nil
}

// hasCaps reports whether an operator said the same before: a repeat is no
// transition.
func (f *fleetRun) hasCaps(id string, caps *contract.WorkerCaps) bool {
	before := f.registrations[id].Resized
	if status, known := f.core.Worker(id); !known || status.State == fleet.Deleted {
		return false
	}
	return before == caps || (before != nil && caps != nil && *before == *caps)
}

func (f *fleetRun) resize(ctx workflow.Context, in contract.ResizeWorkerInput) (contract.WorkerDetail, error) {
	registration := f.registrations[in.ID]
	caps := registration.Caps()
	before := caps
	registration.Resized = nil
	if in.Reset {
		caps = registration.Caps()
	} else {
		if in.MaxDetect > 0 {
			caps.MaxDetect = in.MaxDetect
		}
		if in.MaxExecute > 0 {
			caps.MaxExecute = in.MaxExecute
		}
		registration.Resized = &caps
	}
	if f.hasCaps(in.ID, registration.Resized) {
		f.auditCaps(ctx, in, before, caps)
		status, _ := f.core.Worker(in.ID)
		return f.detail(status, true), nil
	}
	text := fmt.Sprintf("resized to %d detect, %d execute", caps.MaxDetect, caps.MaxExecute)
	for _, decision := range f.step(fleet.Annotate{ID: in.ID, Note: text, By: in.By, Reason: in.Reason}) {
		if d, ok := decision.(fleet.Rejected); ok {
			return contract.WorkerDetail{}, temporal.NewNonRetryableApplicationError(d.Reason, rejectedType, nil)
		}
	}
	f.registrations[in.ID] = registration
	f.touched = true
	f.auditCaps(ctx, in, before, caps)
	status, _ := f.core.Worker(in.ID)
	return f.detail(status, true), nil
}
