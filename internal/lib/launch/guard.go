package launch

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// DefaultGuardEvery is the default time between two checks of a guard.
const DefaultGuardEvery = jobtype.Duration(time.Minute)

// Guard is a program that runs before the program of a job. While it fails, the job waits.
type Guard struct {
	Command []string `json:"command,omitempty"`
	// Every is the time between two checks; nil: [DefaultGuardEvery].
	Every *jobtype.Duration `json:"every,omitempty"`
}

// Interval returns the time between two checks.
func (g Guard) Interval() time.Duration { return cmp.Or(g.Every, new(DefaultGuardEvery)).Std() }

func (g Guard) faults() []error {
	var faults []error
	switch {
	case len(g.Command) == 0 && g.Every != nil:
		faults = append(faults, errors.New("guard.command: name a program, for example [test, -e, /run/ready]"))
	case len(g.Command) > 0 && g.Command[0] == "":
		faults = append(faults, errors.New("guard.command: names no program"))
	}
	if g.Every != nil {
		if fault := waitFault(*g.Every); fault != nil {
			faults = append(faults, fmt.Errorf("guard.every: %w", fault))
		}
	}
	return faults
}

// waitFault refuses a time for which no job can be deferred.
func waitFault(wait jobtype.Duration) error {
	if wait < jobtype.MinDeferral || wait > jobtype.MaxDeferral {
		return fmt.Errorf("%s is out of range: use %s to %s", wait, jobtype.MinDeferral, jobtype.MaxDeferral)
	}
	return nil
}
