package attempt

import "time"

const (
	// MaxCannotStart is the number of failed starts in a row after which a worker is suspect.
	MaxCannotStart = 3
	// StartPause is the first pause of such a worker.
	StartPause = 5 * time.Second
	// StartPauseMost is its longest pause.
	StartPauseMost = time.Minute
	// StartProof is above the 5 s in which a worker may start the attempt.
	StartProof = 15 * time.Second
)

// Starts has the failed starts of programs on one worker.
type Starts struct {
	// Consecutive failed starts, the time of the last one, the pause after it and its error.
	Failed int           `json:"n,omitempty"`
	At     time.Time     `json:"at,omitzero"`
	Pause  time.Duration `json:"p,omitempty"`
	Detail string        `json:"d,omitempty"`
	// Missing: all of them lacked the program. Reported is the time of the last report to the registry.
	Missing  bool      `json:"mi,omitempty"`
	Reported time.Time `json:"re,omitzero"`
	// Probing means that the worker gets only the attempt of item Probe.
	Probing bool      `json:"pr,omitempty"`
	Probe   int       `json:"i,omitempty"`
	ProofAt time.Time `json:"pa,omitzero"`
}

// Failing reports whether too many starts in a row have failed.
func (s Starts) Failing() bool { return s.Failed >= MaxCannotStart }
