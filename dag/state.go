package dag

import "github.com/roundsman/roundsman/dag/internal/wire"

// State is the state of a task. The zero value is Pending.
type State uint8

// The states of a task; see the package documentation.
const (
	Pending State = iota
	Ready
	Running
	Completed
	Failed
	UpstreamFailed
	Skipped
	Canceled

	stateCount
)

// States lists every state in display order.
func States() []State {
	return []State{Pending, Ready, Running, Completed, Failed, UpstreamFailed, Skipped, Canceled}
}

var stateNames = [stateCount]string{ //nolint:gochecknoglobals // constant table
	"pending", "ready", "running", "completed", "failed", "upstream_failed", "skipped", "canceled",
}

// String returns the state's name on the wire and in views.
func (s State) String() string { return wire.NameOf(stateNames[:], int(s), "State") }

// MarshalText encodes a state as its name.
func (s State) MarshalText() ([]byte, error) { return wire.MarshalName(stateNames[:], int(s), "state") }

// UnmarshalText is the inverse of MarshalText.
func (s *State) UnmarshalText(text []byte) error {
	n, err := wire.ParseName(stateNames[:], string(text), "state")
	*s = State(n)
	return err
}

// Terminal reports whether the state is final, except for an operator's retry, skip or rerun.
func (s State) Terminal() bool { return s >= Completed }

// satisfies reports whether a dependency in this state fulfills an all_success rule.
func (s State) satisfies() bool { return s == Completed || s == Skipped }

// blocks reports whether a dependency in this state makes an all_success dependant upstream_failed.
func (s State) blocks() bool { return s == Failed || s == UpstreamFailed || s == Canceled }

// failure reports whether a dependency in this state triggers a one_failed dependant.
func (s State) failure() bool { return s == Failed || s == UpstreamFailed }
