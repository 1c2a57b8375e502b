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

// exhausted are the errors of a node without room for another process.
func exhausted() []error {
	return append(short(), syscall.ENOSPC, syscall.EDQUOT, syscall.ETXTBSY)
}

// short returns the errors of a node that cannot open files either.
func short() []error {
	return []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EAGAIN, syscall.ENOBUFS}
}

// absent are the errors of a program or directory that this node lacks or cannot run.
func absent() []error {
	return []error{
		os.ErrNotExist, os.ErrPermission, exec.ErrNotFound, errNoDirectory, syscall.ENOTDIR, syscall.ELOOP, syscall.ENOEXEC, syscall.EISDIR,
	}
}

var errNoDirectory = errors.New("no directory")

func isAny(err error, kinds []error) bool {
	return slices.ContainsFunc(kinds, func(kind error) bool { return errors.Is(err, kind) })
}

// If the node may be the cause, another one may start the program. A cause that every node shares is permanent.
func whyNotStarted(name string, start *startError) error {
	switch {
	case errors.Is(start.err, errNotDead): // The job may run here: no other attempt is free.
		return fmt.Errorf("start %s: %w", name, start.err)
	case isAny(start.err, exhausted()) || start.shim:
		return &blamedOnNode{fmt.Errorf("start %s: %w", name, start.err), jobtype.ErrCannotStart}
	case start.permanent && isAny(start.err, absent()):
		return &blamedOnNode{start.err, jobtype.ErrNotInstalled}
	case start.permanent:
		return jobtype.Permanent(start)
	}
	return fmt.Errorf("start %s: %w", name, start.err)
}

type blamedOnNode struct {
	error
	// kind is [jobtype.ErrCannotStart] or [jobtype.ErrNotInstalled].
	kind error
}

// Is makes the error one of its kind.
func (e *blamedOnNode) Is(target error) bool { return target == e.kind }

// Unwrap returns the error of the system.
func (e *blamedOnNode) Unwrap() error { return e.error }
