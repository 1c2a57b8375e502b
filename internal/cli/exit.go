package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/roundsman/roundsman/starter"
)

// Exit codes of every command.
const (
	// ExitOK: done, and the answer is the good one.
	ExitOK = 0
	// ExitFailed: it could not be done, or a run did not complete.
	ExitFailed = 1
	// ExitUsage: wrong usage, a faulty configuration, or a difference found.
	ExitUsage = 2
)

// exitError carries an exit code, and a message unless everything was said.
type exitError struct {
	code int
	err  error
}

// Error implements error.
func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

// Unwrap gives the cause.
func (e *exitError) Unwrap() error { return e.err }

// usagef is wrong usage: exit code 2, and the message says what would be right.
func usagef(format string, args ...any) error {
	return &exitError{code: ExitUsage, err: fmt.Errorf(format, args...)}
}

// faulty marks err as the user's to correct: exit code 2.
func faulty(err error) error { return &exitError{code: ExitUsage, err: err} }

// silent ends with code; what there was to say is printed already.
func silent(code int) error {
	if code == ExitOK {
		return nil
	}
	return &exitError{code: code}
}

// finish turns a command's error into an exit code and prints it.
func (e Env) finish(ctx context.Context, err error) int {
	if err == nil {
		return ExitOK
	}
	code := ExitFailed
	if exit, ok := errors.AsType[*exitError](err); ok {
		code = exit.code
		if exit.err == nil {
			return code
		}
	}
	message := starter.Advise(err)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		message = "interrupted"
		if _, asked := errors.AsType[*starter.GivenUpError](err); asked {
			message = "interrupted before the answer came: what was asked for may be done all the same; look before you repeat it"
		}
	}
	fmt.Fprintf(e.Stderr, "roundsman: %s\n", strings.TrimRight(message, "\n"))
	return code
}
