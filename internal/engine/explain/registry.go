package explain

import (
	"fmt"

	"github.com/roundsman/roundsman/contract"
)

// Worker sets the texts of a worker's transitions.
func Worker(w *contract.WorkerDetail) {
	if w.Trouble != nil {
		w.Trouble.Reason = Trouble(*w.Trouble)
	}
	w.Cause.Reason, w.Kept.Reason = Transition(w.Cause), Transition(w.Kept)
	for i, t := range w.Transitions {
		w.Transitions[i].Reason = Transition(t)
	}
}

// Transition returns the reason of a worker's change; "" for the zero one.
func Transition(t contract.WorkerTransition) string {
	if t.Reason != "" {
		return t.Reason // Written by an older registry.
	}
	switch t.Code {
	case contract.WorkerRegistered:
		return registered(t)
	case contract.WorkerReplaced:
		return fmt.Sprintf("process %s replaces %s, whose heartbeat is stale", process(t.Process), process(t.Former))
	case contract.WorkerTakenOver:
		return fmt.Sprintf("process %s took over from %s, which is fenced", process(t.Process), process(t.Former))
	case contract.WorkerChanged:
		return "registered with other labels, capabilities or slots"
	case contract.WorkerSilent:
		return fmt.Sprintf("no heartbeat for %s (last at %s)", lasted(t), stamp(t.Since))
	case contract.WorkerBack:
		return fmt.Sprintf("its heartbeat is back after %s %s", lasted(t), t.From)
	case contract.WorkerUnregistered:
		return "unregistered"
	case contract.WorkerShuttingDown:
		return "its process is shutting down"
	case contract.WorkerModeSet:
		if t.Mode == "" {
			return noted("uncordoned", t.Note)
		}
		return noted(t.Mode, t.Note)
	case contract.WorkerResized:
		return noted(fmt.Sprintf("resized to %d detect, %d execute", t.Caps.MaxDetect, t.Caps.MaxExecute), t.Note)
	case contract.WorkerRemoved:
		if !t.Since.IsZero() {
			return "cleaned up after " + lasted(t) + " OFFLINE"
		}
		return noted("removed", t.Note)
	case contract.WorkerSuspect:
		return "suspect: " + t.Note
	case contract.WorkerCleared:
		return "no longer suspect after " + lasted(t)
	case contract.WorkerExpired:
		return "OFFLINE for " + lasted(t)
	}
	return string(t.Code)
}

// Trouble returns the reason why a worker is suspect.
func Trouble(t contract.WorkerTrouble) string {
	text := "programs do not start there"
	switch t.Code { //nolint:exhaustive // the others are no trouble of a worker
	case contract.CodeNotInstalled:
		text = "a program is missing there"
	case contract.CodeDiskFull:
		text = "its data directory is full"
	}
	return fmt.Sprintf("%s since %s: %s", text, stamp(t.Since), t.Detail)
}

func registered(t contract.WorkerTransition) string {
	switch {
	case t.Process != contract.WorkerProcess{}:
		return "registered as a new process " + process(t.Process)
	case t.From == contract.WorkerDeleted:
		return "registered again after it was deleted"
	case t.From != "":
		return "registered again"
	}
	return "registered"
}

// Rejection returns the registry's reason to reject a request.
func Rejection(r contract.WorkerRejection) string {
	switch r.Code {
	case contract.WorkerUnknown:
		return fmt.Sprintf("worker %q is not registered; `roundsman workers` shows those that are", r.ID)
	case contract.WorkerActionUnknown:
		return fmt.Sprintf("action %q is unknown; use drain, cordon, uncordon or remove", r.Action)
	case contract.WorkerAlive:
		return fmt.Sprintf("worker %q is alive and would register again within a minute; stop its process (%s) first, or cordon it", r.ID, process(r.Process))
	case contract.WorkerDeparted:
		return "process " + process(r.Process) + " has unregistered: a new process can register"
	}
	return string(r.Code)
}

func process(p contract.WorkerProcess) string { return fmt.Sprintf("%d on %s", p.PID, p.Host) }

// lasted is the duration of the former state.
func lasted(t contract.WorkerTransition) string { return Span(t.At.Sub(t.Since)) }
