package fleet

import (
	"time"

	"github.com/roundsman/roundsman/contract"
)

type worker struct {
	contract.Incarnation
	// Digest is the digest of its registration, which the registry stores by id.
	Digest       uint64    `json:"digest,omitempty"`
	RegisteredAt time.Time `json:"registered_at"`
	// Since is the start of Liveness, or the time of an operator's setting on an ONLINE worker.
	Liveness contract.WorkerState `json:"liveness"`
	Since    time.Time            `json:"since"`
	// Transition at Since. Later ones do not change the state, and may be too many to be stored.
	Why  contract.WorkerTransition `json:"why,omitzero"`
	Mode string                    `json:"mode,omitempty"`
	// Kept is the transition by which an operator set Mode; zero if it is not set.
	Kept contract.WorkerTransition `json:"kept,omitzero"`
	// Left means that it unregistered; beats of this incarnation do not make it ONLINE.
	Left bool  `json:"left,omitempty"`
	Beat int64 `json:"beat"`
	// Revision is the number of its last visible change.
	Revision    int64                       `json:"revision,omitempty"`
	Fenced      []string                    `json:"fenced,omitempty"`
	Transitions []contract.WorkerTransition `json:"transitions,omitempty"`
	Trouble     *contract.WorkerTrouble     `json:"trouble,omitempty"`

	registration contract.WorkerRegistration
	counted      contract.WorkerState
}

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
