// Package attempts reads the attempts at items from the histories of their runs.
package attempts

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/lib/launch"
	"github.com/roundsman/roundsman/jobtype"
)

// ItemHistory has the attempts at an item. Runs keep none of it, so that they stay small.
type ItemHistory struct {
	Attempts []Attempt `json:"attempts,omitempty"`
	// Requests of operators about this item, oldest first; a cancellation of the run is one, too.
	Requests []ItemRequest `json:"requests,omitempty"`
	Rendered
	// Result of the handler, or the output of the last attempt if it failed; nil without a report.
	Result *jobtype.Result `json:"result,omitempty"`
}

// Rendered has the programs and the params of an attempt.
type Rendered struct {
	// Of the last attempt: command line, programs around it, params of the handler. Nil if the handler runs none.
	Command []string        `json:"command,omitempty"`
	Hooks   []launch.Hook   `json:"hooks,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
}

// Render returns the programs and the params of an attempt.
type Render func(contract.ExecuteInput) Rendered

// Attempt is one attempt at an item.
type Attempt struct {
	Number int    `json:"number"`
	Worker string `json:"worker,omitempty"`
	// StartedAt is zero for an attempt that its worker did not take, EndedAt for an open one.
	SentAt    time.Time `json:"sent_at,omitzero"`
	StartedAt time.Time `json:"started_at,omitzero"`
	EndedAt   time.Time `json:"ended_at,omitzero"`
	// EndedAs is completed, or the kind of the failure.
	EndedAs string `json:"ended_as,omitempty"`
	Error   string `json:"error,omitempty"`
}

// ItemRequest is one request of an operator.
type ItemRequest struct {
	At time.Time `json:"at"`
	// Action is the name of the message: cancel-item, approve, skip. Did has it in words.
	Action string `json:"action"`
	Did    string `json:"did"`
	By     string `json:"by,omitempty"`
	Note   string `json:"note,omitempty"`
}

// Prepend adds the item's history of the workflow run before this one.
func (i *ItemHistory) Prepend(before ItemHistory) {
	i.Attempts, i.Requests = append(before.Attempts, i.Attempts...), append(before.Requests, i.Requests...)
	i.Result = cmp.Or(i.Result, before.Result)
	if i.Params == nil && i.Command == nil {
		i.Rendered = before.Rendered
	}
}

// Enumerate numbers the attempts whose activities have no number: runs of DAGs.
func (i *ItemHistory) Enumerate() {
	last := 0
	for k := range i.Attempts {
		attempt := &i.Attempts[k]
		if attempt.Number <= last {
			attempt.Number = last + 1
		}
		last = attempt.Number
	}
}

func (i *ItemHistory) find(number int) int {
	return slices.IndexFunc(i.Attempts, func(a Attempt) bool { return a.Number == number })
}

// Times sets the start and the end of an item in a state to those of the last attempt that a worker took. A run only has the
// times at which it sent an attempt and read its outcome.
func (i *ItemHistory) Times(startedAt, endedAt *time.Time, state string) {
	n := len(i.Attempts)
	if n == 0 {
		return
	}
	last, ended := i.Attempts[n-1], explain.EndedState(state)
	// The start of an open attempt is only known from the run, unless [ItemHistory.InFlight] has added it.
	for k := n - 1; k >= 0 && (startedAt.IsZero() || ended || k == n-1 && last.EndedAt.IsZero()); k-- {
		if at := i.Attempts[k].StartedAt; !at.IsZero() {
			*startedAt = at
			break
		}
	}
	if ended && !last.EndedAt.IsZero() && (endedAt.IsZero() || last.ends(state)) {
		*endedAt = last.EndedAt
	}
}

// ends reports whether an item in this state ended with the attempt. An item may be canceled or skipped later.
func (a Attempt) ends(state string) bool {
	switch state {
	case contract.JobCompleted, contract.JobWarning, contract.JobFailed, contract.JobStale:
		return true
	}
	return a.EndedAs == state
}

// InFlight adds worker and start of the open attempt, which a history has only after its end.
func (i *ItemHistory) InFlight(worker string, startedAt time.Time) {
	n := len(i.Attempts)
	if n == 0 {
		return
	}
	if last := &i.Attempts[n-1]; last.EndedAt.IsZero() && last.StartedAt.IsZero() {
		last.StartedAt, last.Worker = startedAt, cmp.Or(last.Worker, worker)
	}
}

func (i *ItemHistory) outcome(attempt *Attempt, state contract.ExecuteState) {
	attempt.Worker = cmp.Or(attempt.Worker, state.Worker)
	attempt.EndedAs, attempt.Error = cmp.Or(string(state.Failure), contract.JobCompleted), cmp.Or(state.Message, attempt.Error)
	if !state.StartedAt.IsZero() {
		attempt.StartedAt = state.StartedAt
	}
	result := state.Result
	if fields, printed := contract.ResultData(result); printed {
		result.Data = fields
	}
	i.Result = &result
}

// String returns the decision in words.
func (r ItemRequest) String() string {
	said := r.Did
	if r.By != "" {
		said += " by " + r.By
	}
	return strings.TrimSuffix(said+": "+r.Note, ": ")
}
