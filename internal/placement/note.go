package placement

import "time"

// Verdict says what became of work that could not simply go on.
type Verdict string

// The verdicts.
const (
	// Refused: it will not be done, or not by this run.
	Refused Verdict = "refused"
	// Delayed: it is done later than it could have been.
	Delayed Verdict = "delayed"
	// Replaced: it was begun and is done again elsewhere.
	Replaced Verdict = "replaced"
	// Ended: it was begun and brought to an end.
	Ended Verdict = "ended"
)

// NoteCode says why.
type NoteCode string

// The codes of what is noted while work is placed. Where docs/explain.md has a
// code for the same thing it is that one.
const (
	NoteRetryBackoff NoteCode = "RETRY_BACKOFF_UNTIL"
	NoteWorkerLost   NoteCode = "WORKER_LOST"
	NoteAtCapacity   NoteCode = "AT_CAPACITY"
	NoteDraining     NoteCode = "WORKER_DRAINING"
	NoteUnsupported  NoteCode = "UNSUPPORTED"
	NoteNotTaken     NoteCode = "NOT_TAKEN"
	NoteNoWorker     NoteCode = "NO_WORKER"
	NoteResources    NoteCode = "RESOURCES_PENDING"
	NoteGrantLost    NoteCode = "GRANT_LOST"
	NoteDeduped      NoteCode = "DEDUPED"
	NoteDuplicate    NoteCode = "DUPLICATE"
	NoteSurplus      NoteCode = "SURPLUS"
	NoteInvalid      NoteCode = "INVALID"
	NoteExpired      NoteCode = "EXPIRED"
	NoteNotStarted   NoteCode = "NOT_STARTED"
	NoteStale        NoteCode = "STALE"
	NoteDeadline     NoteCode = "DEADLINE"
	// NoteWindow: the maintenance window closed; NoteWindowFit: a job does not end
	// before that.
	NoteWindow    NoteCode = "WINDOW_CLOSED"
	NoteWindowFit NoteCode = "DOES_NOT_FIT_WINDOW"
	// NoteStopped: nothing more of that key, or of the job type, may start.
	NoteStopped NoteCode = "STOPPED"
)

// NoteCodes lists them all.
func NoteCodes() []NoteCode {
	return []NoteCode{
		NoteRetryBackoff, NoteWorkerLost, NoteAtCapacity, NoteDraining, NoteUnsupported, NoteNotTaken, NoteNoWorker,
		NoteResources, NoteGrantLost, NoteDeduped, NoteDuplicate, NoteSurplus, NoteInvalid, NoteExpired, NoteNotStarted,
		NoteStale, NoteDeadline, NoteWindow, NoteWindowFit, NoteStopped,
	}
}

// Noticeable is the shortest wait that counts as a delay: below it, it is only
// the time that asking and answering takes, also on a busy machine.
const Noticeable = 2 * time.Second

// Note is one decision that refused or delayed work, for the audit log.
type Note struct {
	Verdict Verdict
	Code    NoteCode
	// Subject is the number of the job or task; negative: the run as a whole.
	Subject int
	// Count is how many it were; 0: one.
	Count  int
	Detail string
	// Waited is how long it was, or will be, delayed.
	Waited time.Duration
}

// Notes gathers what one step has noted.
type Notes struct{ list []Note }

// Add notes a decision.
func (n *Notes) Add(note Note) { n.list = append(n.list, note) }

// Take returns what was noted since it was called last.
func (n *Notes) Take() []Note {
	taken := n.list
	n.list = nil
	return taken
}

// BounceCode is the code for a worker that did not take work, or handed it back.
func BounceCode(failure Failure) NoteCode {
	switch failure {
	case FailureDraining:
		return NoteDraining
	case FailureUnsupported:
		return NoteUnsupported
	case FailureNotTaken:
		return NoteNotTaken
	case FailureNone, FailureFailed, FailurePermanent, FailureStale, FailureTimeout, FailureCanceled,
		FailureAtCapacity, FailureWorkerLost:
	}
	return NoteAtCapacity
}
