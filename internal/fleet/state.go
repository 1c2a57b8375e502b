package fleet

import "time"

// State is what people see of a worker.
type State string

// The states of a worker.
const (
	Online      State = "ONLINE"
	Unreachable State = "UNREACHABLE"
	Offline     State = "OFFLINE"
	Deleted     State = "DELETED"
	Draining    State = "DRAINING"
	Cordoned    State = "CORDONED"
)

// Mode is what the operator wants of a worker.
type Mode string

// The modes.
const (
	ModeNormal   Mode = ""
	ModeDraining Mode = "draining"
	ModeCordoned Mode = "cordoned"
)

// Transition is one change of a worker, kept as its history. From equals To
// where something changed that is not the state, such as the process that
// holds the id.
type Transition struct {
	At     time.Time `json:"at"`
	From   State     `json:"from,omitempty"`
	To     State     `json:"to"`
	Reason string    `json:"reason"`
	By     string    `json:"by,omitempty"`
}

// Identity is one incarnation of a worker.
type Identity struct {
	ID       string `json:"id"`
	Instance string `json:"instance"`
}

// Pulse is what is known of one incarnation's heartbeat, registered or not.
type Pulse struct {
	Identity
	// LastChange is when the heartbeat last changed as far as the registry was
	// told; of a fresh one it may be long ago, because beats are not reported.
	LastChange time.Time `json:"last_change"`
	Fresh      bool      `json:"fresh"`
	// Seen is false as long as only its registration showed that it lives.
	Seen bool `json:"seen,omitempty"`
	// Beat is the observer's note of a heartbeat that it has not seen change yet.
	Beat time.Time `json:"beat,omitzero"`
	// Skew is the worker's clock minus the observer's.
	Skew time.Duration `json:"skew,omitempty"`
	// ShuttingDown: its process said that it ends.
	ShuttingDown bool `json:"shutting_down,omitempty"`
}

// pulse adds whether the running observation was told of it as it is now.
type pulse struct {
	Pulse
	Watched bool `json:"watched,omitempty"`
}

// worker is one id.
type worker struct {
	Identity
	Host string `json:"host"`
	PID  int    `json:"pid"`
	// Digest is that of its registration.
	Digest uint64 `json:"digest,omitempty"`
	// RegisteredAt is when this incarnation registered.
	RegisteredAt time.Time `json:"registered_at"`
	// Liveness is ONLINE, UNREACHABLE, OFFLINE or DELETED; Since is when it
	// became so, or when an operator said something else of one that is ONLINE.
	Liveness State     `json:"liveness"`
	Since    time.Time `json:"since"`
	// Why is the transition at Since. Later ones, of which there may be more than
	// are remembered, are about something else.
	Why  Transition `json:"why,omitzero"`
	Mode Mode       `json:"mode,omitempty"`
	// Kept is the transition by which an operator set Mode; zero if it is not set.
	Kept Transition `json:"kept,omitzero"`
	// Left: it said goodbye; beats of this incarnation do not bring it back.
	Left        bool         `json:"left,omitempty"`
	Beat        int64        `json:"beat"`
	Fenced      []string     `json:"fenced,omitempty"`
	Transitions []Transition `json:"transitions,omitempty"`
}

// shown is the state that people see.
func (w *worker) shown() State {
	switch {
	case w.Liveness != Online:
		return w.Liveness
	case w.Mode == ModeDraining:
		return Draining
	case w.Mode == ModeCordoned:
		return Cordoned
	default:
		return Online
	}
}
