package rpc

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/api/serviceerror"
	"google.golang.org/grpc/codes"

	"github.com/roundsman/roundsman/contract"
)

const (
	// callTimeout bounds one attempt of a call.
	callTimeout = 10 * time.Second
	// repeatFor is how long a call that the server could not take is repeated.
	repeatFor = 20 * time.Second
)

// Retry repeats a call that the server could not take. The request must carry an id,
// so that one that was taken after all has its effect once.
func Retry(ctx context.Context, call func(context.Context) error) error {
	begun := time.Now()
	for attempt := 1; ; attempt++ {
		attemptCtx, cancel := context.WithTimeout(ctx, callTimeout)
		err := call(attemptCtx)
		cancel()
		if ctx.Err() != nil && err != nil {
			return fmt.Errorf("%w (%w)", context.Cause(ctx), err)
		}
		if !transient(err) || time.Since(begun) > repeatFor {
			return err
		}
		if err := Wait(ctx, min(50*time.Millisecond<<min(attempt, 6), 2*time.Second)); err != nil {
			return err
		}
	}
}

func transient(err error) bool {
	switch Code(err) {
	case codes.Unavailable, codes.ResourceExhausted, codes.Aborted, codes.DeadlineExceeded:
		return true
	default:
		return false
	}
}

// Code is the gRPC code of an error that a call returned.
func Code(err error) codes.Code {
	if err == nil {
		return codes.OK
	}
	return serviceerror.ToStatus(err).Code()
}

// Advised adds the remedy to a refusal that a new namespace meets: it lacks a search
// attribute. Every other error is returned as it is.
func Advised(err error) error {
	if err != nil && (strings.Contains(err.Error(), contract.SearchAttributeJobType) || strings.Contains(err.Error(), contract.SearchAttributeOutcome)) {
		return fmt.Errorf("%w: the namespace lacks a search attribute; `roundsman doctor` says how to create it", err)
	}
	return err
}

// Wait waits that long, or returns why ctx ended.
func Wait(ctx context.Context, duration time.Duration) error {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
