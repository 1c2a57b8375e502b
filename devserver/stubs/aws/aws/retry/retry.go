// Package retry stands in for the retry rules of the AWS SDK, see package aws.
package retry

// Standard retries nothing.
type Standard struct{}

// NewStandard returns a Retryer that retries nothing.
func NewStandard() Standard { return Standard{} }

// IsErrorRetryable returns false.
func (Standard) IsErrorRetryable(error) bool { return false }
