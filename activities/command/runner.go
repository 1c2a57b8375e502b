package command

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/roundsman/roundsman/internal/lib/cgroup"
	"github.com/roundsman/roundsman/internal/lib/launch"
)

// Runner runs programs for other packages, with the keys of the configuration, to the end of all their processes.
type Runner struct {
	options Options
	ledger  *ledger
	cgroups cgroup.Tree
}

// NewRunner returns a runner. Its programs are noted in memory only.
func NewRunner(options Options) *Runner {
	return &Runner{options: options.withDefaults(), ledger: newLedger()}
}

// Call is one program to run.
type Call struct {
	Argv []string
	// Keys are without templates.
	Keys launch.Spec
	// Environ has the inherited variables; nil: the worker's without its credentials. Own has further ones.
	Environ, Own []string
	Input        []byte
	// Output gets stdout and stderr. It must be safe for concurrent use.
	Output io.Writer
}

// Exit is how a program ended by itself.
type Exit struct {
	Code int
	// Signal is the name of the signal that ended the program; Code is then -1.
	Signal string
}

// String returns the end in words.
func (e Exit) String() string {
	if e.Signal != "" {
		return "signal: " + e.Signal
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// Run returns when nothing of the program is left. The error is the reason why it did not start, or the cause of ctx.
func (r *Runner) Run(ctx context.Context, call Call) (Exit, error) {
	to := func(from io.Reader) error {
		_, err := io.Copy(call.Output, from)
		return err
	}
	if call.Environ == nil {
		call.Environ = r.options.inherited()
	}
	p := program{
		argv: call.Argv, launch: call.Keys, inherited: call.Environ, own: call.Own, stdin: call.Input,
		killGrace: call.Keys.Grace(), outputGrace: r.options.OutputGrace, ledger: r.ledger, shim: r.options.Shim, cgroups: &r.cgroups,
		stdout: to, stderr: to,
	}
	outcome, err := p.run(ctx)
	if start, ok := errors.AsType[*startError](err); ok {
		err = whyNotStarted(call.Argv[0], start)
	}
	return Exit{Code: outcome.code, Signal: outcome.signal}, err
}
