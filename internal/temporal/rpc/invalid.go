package rpc

import "fmt"

// InvalidError refuses an argument: nothing was done, and a repeat fails as well.
type InvalidError struct{ Err error }

// Error implements error.
func (e *InvalidError) Error() string { return e.Err.Error() }

// Unwrap gives the fault.
func (e *InvalidError) Unwrap() error { return e.Err }

// Invalidf is an [InvalidError] with a formatted text.
func Invalidf(format string, args ...any) error {
	return &InvalidError{fmt.Errorf(format, args...)}
}
