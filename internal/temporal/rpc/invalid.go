package rpc

import "fmt"

// InvalidError refuses an argument. Nothing was done, and a repetition fails as well.
type InvalidError struct{ Err error }

// Error implements error.
func (e *InvalidError) Error() string { return e.Err.Error() }

// Unwrap returns the fault.
func (e *InvalidError) Unwrap() error { return e.Err }

// Invalidf returns an [InvalidError] with a formatted text.
func Invalidf(format string, args ...any) error {
	return &InvalidError{fmt.Errorf(format, args...)}
}
