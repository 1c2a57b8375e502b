package jobtype

import (
	"errors"
	"fmt"
)

// Errors for handlers.
var (
	// ErrSinkFull is the result of Emit when the group accepts no more proposals. Stop the detection
	// and return it.
	ErrSinkFull = errors.New("the group takes no more proposals")

	// ErrCanceled is the cause after an operator or the group canceled the job.
	ErrCanceled = errors.New("the job was canceled")
	// ErrDeadline is the cause after the execution timeout.
	ErrDeadline = errors.New("the job is over its execution timeout")
	// ErrDraining is the cause when the worker stops. Return soon: another worker gets the job with
	// its last checkpoint.
	ErrDraining = errors.New("the worker is draining")
	// ErrDisconnected is the cause if no heartbeat reached the server for stop_after under
	// on_disconnect: stop. Return before heartbeat_timeout expires, because another worker may then
	// get the job. It wraps ErrDraining.
	ErrDisconnected = fmt.Errorf("no heartbeat has reached the server for stop_after: %w", ErrDraining)
	// ErrLeaseLost is the cause when the job no longer belongs to this worker. Another attempt may
	// already run, so change nothing more.
	ErrLeaseLost = errors.New("the job was taken from this worker")

	// ErrAtCapacity is returned by a handler whose external process is full. The job is placed again
	// and no retry is spent.
	ErrAtCapacity = errors.New("no room for the job")
	// ErrExecutorLost is returned by a handler whose external process is gone. The job is treated like
	// one of a lost worker.
	ErrExecutorLost = errors.New("the process that ran the job is gone")
	// ErrCannotStart is wrapped by a handler whose worker lacks the resources to start the job's
	// program. The job is placed again and no retry is spent.
	ErrCannotStart = errors.New("the worker cannot start programs")
	// ErrNotInstalled is wrapped by a handler whose worker does not have the job's program. Another
	// worker gets the job. It fails if no worker has the program.
	ErrNotInstalled = errors.New("the program is not on this worker")
)

type permanentError struct{ err error }

func (e *permanentError) Error() string { return e.err.Error() }
func (e *permanentError) Unwrap() error { return e.err }

// Permanent marks err as permanent: the job fails at once, without the retries of retry_limit.
// Permanent(nil) is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err: err}
}

// IsPermanent reports whether err wraps an error marked by [Permanent].
func IsPermanent(err error) bool {
	var permanent *permanentError
	return errors.As(err, &permanent)
}
