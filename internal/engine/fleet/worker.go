package fleet

import (
	"time"

	"github.com/roundsman/roundsman/contract"
)

// worker is one id.
type worker struct {
	contract.Incarnation
	// Digest is that of its registration, which the registry keeps by id.
	Digest uint64 `json:"digest,omitempty"`
	// RegisteredAt is when this incarnation registered.
	RegisteredAt time.Time `json:"registered_at"`
	// Liveness is ONLINE, UNREACHABLE, OFFLINE or DELETED; Since is when it
	// became so, or when an operator set something else of one that is ONLINE.
	Liveness contract.WorkerState `json:"liveness"`
	Since    time.Time            `json:"since"`
	// Why is the transition at Since. Later ones, of which there may be more than
	// are remembered, are about something else.
	Why  contract.WorkerTransition `json:"why,omitzero"`
	Mode string                    `json:"mode,omitempty"`
	// Kept is the transition by which an operator set Mode; zero if it is not set.
	Kept contract.WorkerTransition `json:"kept,omitzero"`
	// Left: it unregistered; beats of this incarnation do not bring it back.
	Left bool  `json:"left,omitempty"`
	Beat int64 `json:"beat"`
	// Revision is the number of its last change that others can see.
	Revision    int64                       `json:"revision,omitempty"`
	Fenced      []string                    `json:"fenced,omitempty"`
	Transitions []contract.WorkerTransition `json:"transitions,omitempty"`
	Trouble     *contract.WorkerTrouble     `json:"trouble,omitempty"`

	registration contract.WorkerRegistration
	// counted is the state that [Registry.counts] has it under.
	counted contract.WorkerState
}

// shown is the state that people see.
func (w *worker) shown() contract.WorkerState {
	switch {
	case w.Liveness != contract.WorkerOnline:
		return w.Liveness
	case w.Mode == contract.ModeDraining:
		return contract.WorkerDraining
	case w.Mode == contract.ModeCordoned:
		return contract.WorkerCordoned
	default:
		return contract.WorkerOnline
	}
}
