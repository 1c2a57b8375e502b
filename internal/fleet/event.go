package fleet

import "time"

// Event is something that happened. The set is closed.
type Event interface {
	apply(r *Registry, now time.Time)
}

// Register asks for an id. The answer is [Accepted] or [Refused], or [Rejected] to
// an incarnation that said goodbye in the last ten minutes: its hello is late.
type Register struct {
	Identity
	Host string
	PID  int
	// TakeOver takes the id from a live holder and fences it.
	TakeOver bool
	// Digest identifies what else the registration says, which the registry
	// does not look into: labels, capabilities, slots.
	Digest uint64
	// Mode and Kept are what an operator said before, as the worker remembers it.
	// They count only where the registry knows nothing of the id: it has lost it.
	Mode Mode
	Kept Transition
}

// Unregister is a worker's goodbye: OFFLINE at once. From an incarnation that does
// not hold the id it only says that a registration still to come is void.
type Unregister struct{ Identity }

// Observed is what the observer saw. Changes are the pulses that changed.
type Observed struct {
	// At is until when it looked, Since is when it began to look without a gap.
	At, Since time.Time
	Changes   []Pulse
}

// Watching says that an observation was started with the current [Watch].
type Watching struct{}

// Action is what an operator does.
type Action string

// The actions.
const (
	Drain    Action = "drain"
	Cordon   Action = "cordon"
	Uncordon Action = "uncordon"
	Remove   Action = "remove"
)

// Operate is an operator's action. Repeating it changes nothing. The answer is
// [Rejected] if it cannot be done.
type Operate struct {
	ID     string
	Action Action
	By     string
	Reason string
}

// Cleanup removes OFFLINE workers: all of them, or those that have reached
// [Config.Delete].
type Cleanup struct {
	AllOffline bool
	By         string
}

// Configure replaces the thresholds. They apply from the next observation on.
type Configure struct{ Config Config }

// Tick says that [Registry.NextDeadline] was reached.
type Tick struct{}

// Decision is what follows from an event. The set is closed.
type Decision interface{ decision() }

// Accepted says that the incarnation holds the id.
type Accepted struct {
	Identity
	// Fenced is the incarnation that lost the id to it while it may still be
	// alive; what that one reports is ignored from now on.
	Fenced string
}

// Refused says that another live incarnation holds the id.
type Refused struct {
	Holder Holder
}

// Holder is the incarnation that holds an id.
type Holder struct {
	Identity
	Host string
	PID  int
	// Age is how long it has been registered; SinceBeat is how long ago its
	// heartbeat changed, at most.
	Age, SinceBeat time.Duration
}

// Transitioned says that the worker changed.
type Transitioned struct {
	ID string
	Transition
}

// Rejected says why it cannot be done.
type Rejected struct{ Reason string }

// Observe says that the running observation does not know of a worker that
// should have been seen by now, or has old thresholds; start a new one with the current [Watch].
type Observe struct{}

func (Accepted) decision()     {}
func (Refused) decision()      {}
func (Transitioned) decision() {}
func (Rejected) decision()     {}
func (Observe) decision()      {}
