// Package aws stands in for the AWS SDK, see docs/adr/0070-server-without-clouds.md.
package aws

import (
	"context"
	"errors"
)

// ErrLeftOut reports that this build of the server contains no AWS SDK.
var ErrLeftOut = errors.New("this Temporal server is built without the AWS SDK; use a Temporal cluster of your own")

// ClientLogMode selects the requests to log.
type ClientLogMode uint64

// Config configures clients. Its only source, LoadDefaultConfig, fails.
type Config struct{ Credentials CredentialsProvider }

// Credentials are AWS credentials.
type Credentials struct{ AccessKeyID, SecretAccessKey, SessionToken string }

// CredentialsProvider supplies credentials.
type CredentialsProvider interface {
	Retrieve(context.Context) (Credentials, error)
}

// Retryer decides about retries.
type Retryer interface{ IsErrorRetryable(error) bool }

// String returns a pointer to s.
func String(s string) *string { return &s }

// Int32 returns a pointer to i.
func Int32(i int32) *int32 { return &i }
