package ui

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
	"github.com/roundsman/roundsman/starter"
)

// Exit codes of every command.
const (
	// ExitOK: done, and the answer is the good one.
	ExitOK = 0
	// ExitFailed: the command failed, or a run did not complete.
	ExitFailed = 1
	// ExitDifference: done, and the state differs from the wanted one.
	ExitDifference = 2
	// ExitUsage: wrong usage, or a faulty file.
	ExitUsage = 3
	// ExitWarning: a run completed, and some of its items with a warning.
	ExitWarning = 4
)

// ExitOf returns the exit code of an awaited run. warnings counts its items with a warning.
func ExitOf(outcome contract.Outcome, warnings int) int {
	switch {
	case outcome != contract.OutcomeCompleted:
		return ExitFailed
	case warnings > 0:
		return ExitWarning
	}
	return ExitOK
}

// ExitError carries an exit code, and a message unless all output is printed.
type ExitError struct {
	Code int
	Err  error
}

// Error implements error.
func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap gives the cause.
func (e *ExitError) Unwrap() error { return e.Err }

// Usagef reports wrong usage with exit code 3. Its message includes the correct form.
func Usagef(format string, args ...any) error {
	return &ExitError{Code: ExitUsage, Err: fmt.Errorf(format, args...)}
}

// Faulty marks err as the user's to correct: exit code 3.
func Faulty(err error) error { return &ExitError{Code: ExitUsage, Err: err} }

// Silent ends with code. All output is printed already.
func Silent(code int) error {
	if code == ExitOK {
		return nil
	}
	return &ExitError{Code: code}
}

// Worse returns the exit code of two things.
func Worse(a, b int) int {
	if rank(a) < rank(b) {
		return b
	}
	return a
}

func rank(code int) int {
	switch code {
	case ExitOK:
		return 0
	case ExitWarning:
		return 1
	case ExitDifference:
		return 2
	case ExitUsage:
		return 3
	default:
		return 4
	}
}

// Finish turns a command's error into an exit code and prints it. Of joined errors each is printed. The program's name is
// not before a fault: editors and terminals link a line that begins with file:line:column.
func (e Env) Finish(ctx context.Context, err error) int {
	code := ExitOK
	var messages, faults []string
	for _, one := range apart(err) {
		code = Worse(code, codeOf(one))
		list := &messages
		if ofFile(one) {
			list = &faults
		}
		if message := e.Own.Text(Lines(messageOf(ctx, one))); message != "" && !slices.Contains(*list, message) {
			*list = append(*list, message)
		}
	}
	if len(messages) > 0 {
		messages[0] = e.Own.Name() + ": " + messages[0]
	}
	for _, message := range append(messages, faults...) {
		fmt.Fprintln(e.Stderr, message)
	}
	return code
}

// Faults outside files are before those of files.
func ofFile(err error) bool {
	if faults, configuration := errors.AsType[config.Faults](err); configuration && len(faults) > 0 {
		first := faults[0]
		return first.Line > 0 || first.File != config.EnvironmentFile && first.File != config.NoFile
	}
	_, dag := errors.AsType[spec.Faults](err)
	return dag
}

// apart undoes [errors.Join]. Another error with several causes is one.
func apart(err error) []error {
	joined := reflect.TypeOf(errors.Join(context.Canceled))
	switch several, ok := err.(interface{ Unwrap() []error }); {
	case err == nil:
		return nil
	case !ok || reflect.TypeOf(err) != joined:
		return []error{err}
	default:
		var all []error
		for _, one := range several.Unwrap() {
			all = append(all, apart(one)...)
		}
		return all
	}
}

func codeOf(err error) int {
	code := ExitFailed
	if exit, ok := errors.AsType[*ExitError](err); ok {
		code = exit.Code
	}
	if _, invalid := errors.AsType[*starter.InvalidError](err); invalid && code == ExitFailed {
		code = ExitUsage
	}
	return code
}

// messageOf is empty if all output is printed already.
func messageOf(ctx context.Context, err error) string {
	if exit, ok := errors.AsType[*ExitError](err); ok && exit.Err == nil {
		return ""
	}
	if ctx.Err() == nil || !errors.Is(err, context.Canceled) {
		return strings.TrimRight(rpc.Advise(err), "\n")
	}
	if _, asked := errors.AsType[*starter.GivenUpError](err); asked {
		return "interrupted before the answer: the request may still take effect; check before you repeat it"
	}
	return "interrupted"
}
