package fleet

import (
	"errors"
	"fmt"
	"time"
)

// Defaults of [Config].
const (
	DefaultInterval    = 5 * time.Second
	DefaultUnreachable = 2 * time.Minute
	DefaultOffline     = 3 * DefaultUnreachable
	DefaultDelete      = 24 * time.Hour
)

const (
	// freshIntervals is how many heartbeat intervals a beat counts.
	freshIntervals = 3
	// settleIntervals is how many intervals the observer looks after an absence
	// before silence counts. A living worker needs at most 10 s to reconnect to a
	// server that was away, and one interval to beat.
	settleIntervals = 6
	// MaxTransitions is how many transitions of one worker are remembered.
	MaxTransitions = 50
	// MaxDeleted is how many deleted workers are remembered.
	MaxDeleted = 200
	// maxFenced is how many fenced instances of one worker are remembered.
	maxFenced = 5
)

// Config holds the thresholds. Zero fields mean the default.
type Config struct {
	// Interval is how often workers beat (default 5 s). A heartbeat that changed
	// within three intervals is fresh.
	Interval time.Duration
	// Unreachable, Offline and Delete are counted from the last change of the
	// heartbeat (default 2 min, 6 min, 24 h): at exactly that age the state
	// changes. For a worker that unregistered, Delete is counted from then.
	Unreachable time.Duration
	Offline     time.Duration
	Delete      time.Duration
}

// WithDefaults fills in zero fields. Offline follows Unreachable: three times
// as long.
func (c Config) WithDefaults() Config {
	if c.Interval == 0 {
		c.Interval = DefaultInterval
	}
	if c.Unreachable == 0 {
		c.Unreachable = DefaultUnreachable
	}
	if c.Offline == 0 {
		c.Offline = 3 * c.Unreachable
	}
	if c.Delete == 0 {
		c.Delete = DefaultDelete
	}
	return c
}

// Validate returns every fault of a Config whose defaults are filled in.
func (c Config) Validate() error {
	var faults []error
	if c.Interval < time.Second || c.Interval > time.Minute {
		faults = append(faults, fmt.Errorf("heartbeat interval %s must be between 1s and 1m, which is what workers can do", c.Interval))
	}
	if c.Unreachable <= c.FreshFor() {
		faults = append(faults, fmt.Errorf("unreachable threshold %s must be longer than three heartbeat intervals (%s)", c.Unreachable, c.FreshFor()))
	}
	if c.Offline <= c.Unreachable {
		faults = append(faults, fmt.Errorf("offline threshold %s must be longer than the unreachable threshold %s", c.Offline, c.Unreachable))
	}
	if c.Delete <= c.Offline {
		faults = append(faults, fmt.Errorf("delete threshold %s must be longer than the offline threshold %s", c.Delete, c.Offline))
	}
	return errors.Join(faults...)
}

// FreshFor is how long a change of the heartbeat keeps a worker fresh.
func (c Config) FreshFor() time.Duration { return freshIntervals * c.Interval }

// Settle is for how long the observer must have looked without a gap before a
// worker's state may get worse.
func (c Config) Settle() time.Duration { return settleIntervals * c.Interval }
