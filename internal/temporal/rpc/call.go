package rpc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/api/serviceerror"
	"google.golang.org/grpc/codes"

	"github.com/roundsman/roundsman/contract"
)

const (
	callTimeout = 10 * time.Second
	repeatFor   = 20 * time.Second
)

// Retry repeats a call to a server that is unavailable, or busy with the workflow. The request must carry an id against
// a second effect.
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
		return NotReady(err)
	}
}

// NotReady reports whether a workflow does not answer yet: its first task is not complete, or its last tasks failed. On a
// busy server tasks of Schedules time out, and the server repeats them.
func NotReady(err error) bool {
	_, is := errors.AsType[*serviceerror.WorkflowNotReady](err)
	return is
}

// Code returns the gRPC code of an error.
func Code(err error) codes.Code {
	if err == nil {
		return codes.OK
	}
	return serviceerror.ToStatus(err).Code()
}

// Advised adds the remedy to the error of a namespace without the search attributes.
func Advised(err error) error {
	if err != nil && (strings.Contains(err.Error(), contract.SearchAttributeJobType) || strings.Contains(err.Error(), contract.SearchAttributeOutcome)) {
		return fmt.Errorf("%w: the namespace lacks a search attribute; `roundsman doctor` has the command to create it", err)
	}
	return err
}

// Wait waits for duration, or returns the cause of the end of ctx.
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
