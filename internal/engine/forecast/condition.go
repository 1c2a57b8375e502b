package forecast

import (
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// Condition is a rule about past successes that decides about a run when it starts. The forecast assumes no later success.
type Condition struct {
	// Code is AFTER_PENDING: the run waits for a success of Object that is not older than Within.
	// NOT_DUE_UNTIL: it runs only if its own last success is older.
	Code   contract.Code    `json:"code"`
	Object string           `json:"object,omitempty"`
	Within jobtype.Duration `json:"within"`
	// Text is the condition in words.
	Text string `json:"text,omitempty"`
	// Last is the last known success; zero: none is known.
	Last time.Time `json:"last_success_at,omitzero"`
}

// open lists the conditions of a tick whose answer is not known.
func (t JobType) open(at time.Time) (list []Condition) {
	for _, c := range t.Conditions {
		met := c.Code == contract.CodeAfter && !c.Last.IsZero() && !c.Last.Add(c.Within.Std()).Before(at)
		if !met {
			list = append(list, c)
		}
	}
	return list
}

// notDue reports whether a run that starts then is skipped because of a known success.
func (t JobType) notDue(at time.Time) bool {
	for _, c := range t.Conditions {
		if c.Code == contract.CodeNotDue && !c.Last.IsZero() && at.Before(c.Last.Add(c.Within.Std())) {
			return true
		}
	}
	return false
}

// conditional adds the conditions to a tick that runs. The start of a run that waits for a success
// is not known.
func (t JobType) conditional(tick *Tick) {
	if tick.State != contract.TickRuns {
		return
	}
	tick.If = t.open(tick.At)
	for _, c := range tick.If {
		if c.Code == contract.CodeAfter {
			tick.Code, tick.Object = c.Code, c.Object
			tick.Begins, tick.Ends, tick.Waits = time.Time{}, time.Time{}, 0
			return
		}
	}
}
