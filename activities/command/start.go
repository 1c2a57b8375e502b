package command

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"

	"github.com/roundsman/roundsman/jobtype"
)

// exhausted are the errors of a node that has no room for another process: too many open
// files, no memory, no disk space, no processes left, a program that is being replaced.
func exhausted() []error {
	return []error{
		syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ENOSPC, syscall.EDQUOT, syscall.EAGAIN, syscall.ENOBUFS, syscall.ETXTBSY,
	}
}

// absent are the errors of a program or directory that this node does not have, or not in
// a form that it can run.
func absent() []error {
	return []error{
		os.ErrNotExist, os.ErrPermission, exec.ErrNotFound, errNoDirectory, syscall.ENOTDIR, syscall.ELOOP, syscall.ENOEXEC, syscall.EISDIR,
	}
}

// errNoDirectory is the error of a working directory that is something else.
var errNoDirectory = errors.New("no directory")

func isAny(err error, kinds []error) bool {
	return slices.ContainsFunc(kinds, func(kind error) bool { return errors.Is(err, kind) })
}

// whyNotStarted is the handler's error for a program that did not start. If the node may be the cause, another one may
// start the program. A cause that every node shares is permanent.
func whyNotStarted(name string, start *startError) error {
	switch {
	case isAny(start.err, exhausted()) || start.shim:
		return &blamedOnNode{fmt.Errorf("start %s: %w", name, start.err), jobtype.ErrCannotStart}
	case start.permanent && isAny(start.err, absent()):
		return &blamedOnNode{start.err, jobtype.ErrNotInstalled}
	case start.permanent:
		return jobtype.Permanent(start)
	}
	return fmt.Errorf("start %s: %w", name, start.err)
}

// blamedOnNode is an error of the node, whose text already has the cause.
type blamedOnNode struct {
	error
	// kind is [jobtype.ErrCannotStart] or [jobtype.ErrNotInstalled].
	kind error
}

// Is makes the error one of its kind.
func (e *blamedOnNode) Is(target error) bool { return target == e.kind }

// Unwrap returns the error of the system.
func (e *blamedOnNode) Unwrap() error { return e.error }
