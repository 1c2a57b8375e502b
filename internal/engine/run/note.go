package run

import (
	"time"

	"github.com/roundsman/roundsman/contract"
)

// Verdict is the kind of a [Note].
type Verdict string

const (
	// Rejected means that the work will not be done, or not by this run.
	Rejected Verdict = "refused"
	// Delayed means that it is done later than possible.
	Delayed Verdict = "delayed"
	// Replaced means that it was begun and is done again elsewhere.
	Replaced Verdict = "replaced"
	// Terminated means that it was begun and ended early.
	Terminated Verdict = "ended"
)

// WholeRun is the subject of a [Note] about the run as a whole.
const WholeRun = -1

// Noticeable is the shortest wait that counts as a delay, above request and answer on a busy machine.
const Noticeable = 2 * time.Second

// Note is one decision that refused or delayed work, for the audit log.
type Note struct {
	Verdict Verdict
	Code    contract.Code
	// Item is the subject; WholeRun means the run.
	Item int
	// Count is the number of such events; 0 means one.
	Count  int
	Detail string
	// Waited is the past or future delay.
	Waited time.Duration
}

// Notes returns the notes since its last call. They are not part of the state.
func (e *outbox) Notes() []Note {
	taken := e.notes
	e.notes = nil
	return taken
}

// Note adds a note of the source.
func (e *outbox) Note(n Note) { e.notes = append(e.notes, n) }

func (e *outbox) noteWait(code contract.Code, id int, detail string, since, now time.Time) {
	if waited := now.Sub(since); !since.IsZero() && waited >= Noticeable {
		e.Note(Note{Verdict: Delayed, Code: code, Item: id, Detail: detail, Waited: waited})
	}
}

func (e *outbox) noteSettled(it *item, state State, message string, late bool) {
	switch state {
	case Expired:
		e.Note(Note{Verdict: Rejected, Code: contract.CodeExpired, Item: it.ID, Detail: message})
	case NotStarted:
		code := contract.CodeNotStarted
		if late {
			code = contract.CodeWindowFit
		}
		e.Note(Note{Verdict: Rejected, Code: code, Item: it.ID, Detail: message})
	case Stale:
		e.Note(Note{Verdict: Terminated, Code: contract.CodeStale, Item: it.ID, Detail: message})
	case Open, Completed, Failed, Canceled:
	}
}

func requeueCode(failure Failure) contract.Code {
	switch failure { //nolint:exhaustive // the others do not requeue
	case contract.FailureDraining:
		return contract.CodeDraining
	case contract.FailureUnsupported:
		return contract.CodeUnsupported
	case contract.FailureNotTaken:
		return contract.CodeNotTaken
	case contract.FailureCannotStart, contract.FailureNotInstalled:
		return causeOf(failure)
	}
	return contract.CodeAtCapacity
}
