package command

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/activities/command/shim"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/jobtype/jobtypetest"
)

// A start that another node, or this one later, may manage does not fail the job.
func TestWhoseFaultAStartIs(t *testing.T) {
	t.Parallel()
	errUnknown := errors.New("become the child subreaper")
	for cause, kind := range map[error]error{
		syscall.EMFILE: jobtype.ErrCannotStart, syscall.ENFILE: jobtype.ErrCannotStart, syscall.ENOMEM: jobtype.ErrCannotStart,
		syscall.ENOSPC: jobtype.ErrCannotStart, syscall.EAGAIN: jobtype.ErrCannotStart, syscall.ENOENT: jobtype.ErrNotInstalled,
		syscall.EACCES: jobtype.ErrNotInstalled, syscall.ENOEXEC: jobtype.ErrNotInstalled, syscall.E2BIG: nil, errUnknown: nil,
	} {
		wrapped := failure("p", failureOf(shim.Report{Errno: errnoOf(cause), Error: cause.Error()}, "p"))
		for _, each := range []error{jobtype.ErrCannotStart, jobtype.ErrNotInstalled} {
			assert.Equal(t, each == kind, errors.Is(wrapped, each), "%v: %v", cause, wrapped) //nolint:errorlint // the very value
		}
		assert.Equal(t, cause == error(syscall.E2BIG), jobtype.IsPermanent(wrapped), fmt.Sprint(cause)) //nolint:errorlint // the very value
	}
	living := failure("p", &startError{err: errors.Join(errors.New("its shim was killed"), errNotDead), shim: true, begun: true})
	assert.NotErrorIs(t, living, jobtype.ErrCannotStart, "the job may run: no other attempt is free")
	assert.ErrorIs(t, living, errNotDead)
	missing := failure("p", &startError{err: syscall.ENOENT, shim: true})
	assert.ErrorIs(t, missing, jobtype.ErrCannotStart, "the program is not what is missing")
}

// The end of hooks.timeout interrupts the wait for a shim, which may start the hook all the same.
func TestAStopDoesNotHideThatAProgramMayHaveBegun(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	for _, begun := range []bool{true, false} {
		err := unstarted(ctx, &startError{err: errors.New("its roundsman-shim was killed"), shim: true, begun: begun})
		_, unstarted := errors.AsType[*startError](err)
		assert.Equal(t, !begun, unstarted)
		assert.ErrorIs(t, err, context.Canceled)
	}
}

type settled struct {
	jobtypetest.Recorder

	times int
}

func (s *settled) Settle(jobtype.Result, error) { s.times++ }

// The signal of a stop reaches a program and its worker at once, so it is no end by itself.
func TestASignalBesideAStopSettlesNothing(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancelCause(t.Context())
	stop(jobtype.ErrDraining)
	for code, settles := range map[int]bool{-1: false, 1: true} {
		progress, failed := &settled{}, errors.New("it ended")
		_, err := (&surrounding{}).close(ctx, progress, jobtype.Result{Data: map[string]any{"exit_code": code}}, failed)
		assert.ErrorIs(t, err, failed)
		assert.Equal(t, settles, progress.times == 1, code)
	}
}

func errnoOf(err error) int {
	errno, _ := errors.AsType[syscall.Errno](err)
	return int(errno)
}
