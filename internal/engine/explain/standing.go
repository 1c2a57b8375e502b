package explain

import (
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/action"
)

// The states of a job type.
const (
	TypeFault        = "fault"
	TypeOff          = "off"
	TypePaused       = "paused"
	TypeDisabled     = "disabled"
	TypeNoWorker     = "no_worker"
	TypeRunning      = "running"
	TypeWaiting      = "waiting"
	TypeWindowClosed = "window_closed"
	TypeReady        = "ready"
)

// StandingFacts are the facts that determine the standing of a job type.
type StandingFacts struct {
	Name  string
	Fault string
	// Off is `enabled: false` in the configuration.
	Off, Paused         bool
	PauseNote, PausedBy string
	PausedAt            time.Time
	Hold                *contract.AdmissionHold
	// Missing is the property that no worker has; zero if a worker can serve.
	Missing Shortage
	Running int
	// Waits is the standing of an open run if all open runs wait, are paused or are held; nil otherwise.
	Waits                    *RunStanding
	Closed                   string
	ClosedSince, ClosedUntil time.Time
}

// Standing is the state of a job type with its cause.
type Standing struct {
	State string `json:"state"`
	// Stopped means that no run starts by itself.
	Stopped bool   `json:"stopped,omitempty"`
	Detail  string `json:"detail,omitempty"`
	// Quoted means that Detail is the text of a person or a program.
	Quoted bool      `json:"quoted,omitempty"`
	Since  time.Time `json:"since,omitzero"`
	Until  time.Time `json:"until,omitzero"`
	// Code, Actions and Actor are those of the reason for the state; empty without one.
	Code    contract.Code   `json:"code,omitempty"`
	Actions []action.Action `json:"actions,omitempty"`
	Actor   string          `json:"actor,omitempty"`
}

// Line returns the code and the detail.
func (s Standing) Line() string { return coded(s.Code, s.Detail) }

func (s Standing) because(r Reason) Standing {
	s.Code, s.Actions, s.Actor = r.Code, r.Actions, r.Actor
	return s
}

func (f StandingFacts) reason(code contract.Code) Reason {
	return Reason{Code: code}.with(remedy(code, f.Name))
}

// StandingOf returns the gravest state that applies.
func StandingOf(f StandingFacts) Standing {
	switch {
	case f.Fault != "":
		return Standing{State: TypeFault, Stopped: true, Detail: f.Fault, Quoted: true}.because(Reason{}.with(act(action.New(action.ApplyConfiguration, nil))))
	case f.Off:
		return Standing{State: TypeOff, Stopped: true, Detail: "the configuration has enabled: false"}.because(f.reason(contract.CodeDisabled))
	case f.Paused:
		return Standing{State: TypePaused, Stopped: true, Detail: pauseDetail(f), Quoted: f.PausedBy == "" && f.PauseNote != "", Since: f.PausedAt}.because(f.reason(contract.CodePaused))
	case f.Hold != nil:
		return Standing{State: TypeDisabled, Stopped: true, Detail: holdDetail(*f.Hold), Since: f.Hold.Since, Until: f.Hold.Until}.because(reasonOfHold(*f.Hold))
	case f.Missing.Lack != LackNone:
		return Standing{State: TypeNoWorker, Detail: f.Missing.Text()}.because(Reason{Code: contract.CodeNoWorker}.with(f.Missing.Remedy()))
	case f.Running > 0 && f.Waits != nil:
		return Standing{State: TypeWaiting, Detail: waitDetail(*f.Waits), Quoted: f.Waits.Quoted, Code: f.Waits.Code}
	case f.Running > 0:
		return Standing{State: TypeRunning}
	case f.Closed != "":
		return Standing{State: TypeWindowClosed, Detail: f.Closed, Since: f.ClosedSince, Until: f.ClosedUntil}.because(f.reason(contract.CodeWindowClosed))
	}
	return Standing{State: TypeReady}
}

// Waits reports whether an open run begins nothing: it waits, is paused or is held.
func (s RunStanding) Waits() bool { return s.Open && s.State != RunRunning }

func waitDetail(s RunStanding) string {
	switch {
	case s.State == RunWaiting || s.Quoted:
		return s.Cause
	case s.State == RunPaused:
		return strings.TrimSpace("its run is paused " + s.Cause)
	}
	return strings.TrimSuffix("its run is "+s.State+": "+s.Cause, ": ")
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
