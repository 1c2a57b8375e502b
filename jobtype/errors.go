package jobtype

import (
	"errors"
	"fmt"
)

// Errors for handlers.
var (
	// ErrSinkFull means that the group accepts no more proposals. Stop the detection and return it.
	ErrSinkFull = errors.New("the group takes no more proposals")

	// ErrCanceled is the cause after an operator or the group canceled the job.
	ErrCanceled = errors.New("the job was canceled")
	// ErrDeadline is the cause after the execution timeout.
	ErrDeadline = errors.New("the job is over its execution timeout")
	// ErrDraining is the cause when the worker stops. Return soon: another worker gets the job with its last checkpoint.
	ErrDraining = errors.New("the worker is draining")
	// ErrDisconnected is the cause if no heartbeat reached the server for stop_after under on_disconnect: stop.
	// Return before heartbeat_timeout expires. It wraps ErrDraining.
	ErrDisconnected = fmt.Errorf("no heartbeat has reached the server for stop_after: %w", ErrDraining)
	// ErrLeaseLost is the cause when another attempt may already run. Change nothing more.
	ErrLeaseLost = errors.New("the job was taken from this worker")

	// ErrAtCapacity: the handler's external process is full. The job is placed again and no retry is spent.
	ErrAtCapacity = errors.New("no room for the job")
	// ErrExecutorLost: the handler's external process is gone. The job is treated like one of a lost worker.
	ErrExecutorLost = errors.New("the process that ran the job is gone")
	// ErrCannotStart: the worker lacks resources to start programs. The job is placed again and no retry is spent.
	ErrCannotStart = errors.New("the worker cannot start programs")
	// ErrNotInstalled: the worker lacks the job's program. Another worker gets the job; without one it fails.
	ErrNotInstalled = errors.New("the program is not on this worker")
)

type permanentError struct{ err error }

func (e *permanentError) Error() string { return e.err.Error() }
func (e *permanentError) Unwrap() error { return e.err }

// Permanent marks err: the job fails at once, without retries. Permanent(nil) is nil.
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
