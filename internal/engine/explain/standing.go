package explain

import (
	"time"

	"github.com/roundsman/roundsman/contract"
)

// The states of a job type.
const (
	TypeFault        = "fault"
	TypeOff          = "off"
	TypePaused       = "paused"
	TypeDisabled     = "disabled"
	TypeNoWorker     = "no_worker"
	TypeRunning      = "running"
	TypeWindowClosed = "window_closed"
	TypeReady        = "ready"
)

// StandingFacts are the facts that determine the standing of a job type.
type StandingFacts struct {
	Fault string
	// Off is `enabled: false` in the configuration.
	Off, Paused         bool
	PauseNote, PausedBy string
	PausedAt            time.Time
	Hold                *contract.AdmissionHold
	// Missing is the text of NO_WORKER.
	Missing                  string
	Running                  int
	Closed                   string
	ClosedSince, ClosedUntil time.Time
}

// Standing is the state of a job type with its cause.
type Standing struct {
	State string `json:"state"`
	// Stopped means that no run starts by itself.
	Stopped bool      `json:"stopped,omitempty"`
	Detail  string    `json:"detail,omitempty"`
	Since   time.Time `json:"since,omitzero"`
	Until   time.Time `json:"until,omitzero"`
}

// StandingOf returns the gravest state that applies.
func StandingOf(f StandingFacts) Standing {
	switch {
	case f.Fault != "":
		return Standing{State: TypeFault, Stopped: true, Detail: f.Fault}
	case f.Off:
		return Standing{State: TypeOff, Stopped: true, Detail: "enabled: false in the configuration"}
	case f.Paused:
		return Standing{State: TypePaused, Stopped: true, Detail: pauseDetail(f), Since: f.PausedAt}
	case f.Hold != nil:
		return Standing{State: TypeDisabled, Stopped: true, Detail: holdDetail(*f.Hold), Since: f.Hold.Since, Until: f.Hold.Until}
	case f.Missing != "":
		return Standing{State: TypeNoWorker, Detail: f.Missing}
	case f.Running > 0:
		return Standing{State: TypeRunning}
	case f.Closed != "":
		return Standing{State: TypeWindowClosed, Detail: f.Closed, Since: f.ClosedSince, Until: f.ClosedUntil}
	}
	return Standing{State: TypeReady}
}

func pauseDetail(f StandingFacts) string {
	switch {
	case f.PausedBy == "":
		return f.PauseNote
	case f.PauseNote == "":
		return "by " + f.PausedBy
	}
	return "by " + f.PausedBy + ": " + f.PauseNote
}

func holdDetail(hold contract.AdmissionHold) string {
	if hold.LastError == "" {
		return "its retry budget is used up"
	}
	return "its retry budget is used up: " + hold.LastError
}
