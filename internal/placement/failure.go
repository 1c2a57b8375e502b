package placement

// Failure says why an attempt at some work failed; empty means that it
// succeeded. The values are the wire's.
type Failure string

// The failures of an attempt.
const (
	FailureNone Failure = ""
	// FailureFailed, FailurePermanent, FailureStale and FailureTimeout are the
	// work's own: the first, third and fourth may be tried again.
	FailureFailed    Failure = "failed"
	FailurePermanent Failure = "permanent"
	FailureStale     Failure = "stale"
	FailureTimeout   Failure = "timeout"
	// FailureCanceled: it was canceled and its handler has ended.
	FailureCanceled Failure = "canceled"
	// FailureAtCapacity, FailureDraining, FailureUnsupported and FailureNotTaken
	// are the worker's: the work goes elsewhere and nothing is counted.
	FailureAtCapacity  Failure = "at_capacity"
	FailureDraining    Failure = "draining"
	FailureUnsupported Failure = "unsupported"
	FailureNotTaken    Failure = "not_taken"
	// FailureWorkerLost: nobody knows what became of it.
	FailureWorkerLost Failure = "worker_lost"
)
