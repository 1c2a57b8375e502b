package jobtype

import (
	"errors"
	"fmt"
)

// Errors that a handler meets.
var (
	// ErrSinkFull is what Emit answers when the group takes no more proposals.
	// Stop detecting and return it.
	ErrSinkFull = errors.New("the group takes no more proposals")

	// ErrCanceled is the cause when an operator or the group canceled the job.
	ErrCanceled = errors.New("the job was canceled")
	// ErrDeadline is the cause when the job's time is over.
	ErrDeadline = errors.New("the job is over its execution timeout")
	// ErrDraining is the cause when the worker stops: return soon, the job is
	// handed to another worker together with its last checkpoint.
	ErrDraining = errors.New("the worker is draining")
	// ErrDisconnected is the cause under on_disconnect: stop when no heartbeat has
	// reached the server for stop_after: return before heartbeat_timeout is over,
	// another worker may get the job then. It is a kind of ErrDraining.
	ErrDisconnected = fmt.Errorf("no heartbeat has reached the server for stop_after: %w", ErrDraining)
	// ErrLeaseLost is the cause when the job no longer belongs to this worker:
	// another attempt may already run, so nothing may be changed any more.
	ErrLeaseLost = errors.New("the job was taken from this worker")

	// ErrAtCapacity is returned by a handler that passes work to another process and
	// finds it full: the job is placed again, and no retry is spent.
	ErrAtCapacity = errors.New("no room for the job")
	// ErrExecutorLost is returned by a handler whose other process is gone and runs
	// nothing any more: the job counts as one whose worker was lost.
	ErrExecutorLost = errors.New("the process that ran the job is gone")
)

type permanentError struct{ err error }

func (e *permanentError) Error() string { return e.err.Error() }
func (e *permanentError) Unwrap() error { return e.err }

// Permanent marks err as one that another attempt would meet again: the job
// fails at once, whatever retry_limit says. Permanent(nil) is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err: err}
}

// IsPermanent reports whether err or an error that it wraps was marked by
// [Permanent].
func IsPermanent(err error) bool {
	var permanent *permanentError
	return errors.As(err, &permanent)
}
