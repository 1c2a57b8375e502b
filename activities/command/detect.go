package command

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/roundsman/roundsman/internal/lib/tail"
	"github.com/roundsman/roundsman/jobtype"
)

const stderrKept = 2 << 10

// Detect implements [jobtype.Handler]: one proposal per line of the detection program. An exit code other than
// success, or nothing but invalid lines, fails the detection.
func (h *Handler) Detect(ctx context.Context, in jobtype.DetectInput, out jobtype.ProposalSink) error {
	settings, err := readDetect(in.Settings)
	if err != nil {
		return jobtype.Permanent(err)
	}
	data, err := detectData(in)
	if err != nil {
		return jobtype.Permanent(err)
	}
	ready, err := settings.render("detect", data)
	if err != nil {
		return jobtype.Permanent(err)
	}
	owner := detectionOwner(in)
	if err := h.awaitEnd(ctx, in.WorkerID, owner, nil); err != nil {
		return err
	}
	found := &proposals{format: settings.Format, sink: out, most: h.maxSurplus}
	errorOutput := tail.New(stderrKept)
	var alive func()
	if sink, ok := out.(jobtype.Alive); ok {
		alive = sink.Alive
	}
	program := h.program(ready, detectEnvironment(in), in.Params, in.WorkerID)
	program.watcher, program.owner = newWatcher(in.Liveness, in.StallTimeout, alive), owner
	outcome, err := program.with(
		func(stdout io.Reader) error { return found.read(ctx, stdout) },
		errorOutput,
	).run(ctx)
	switch {
	case errors.Is(err, errEnough):
		return jobtype.ErrSinkFull
	case err != nil:
		return failure(ready.argv[0], err)
	case outcome.signal == "" && settings.ExitCodes.Warned(outcome.code):
		jobtype.Explain(out, jobtype.ClipCause(describe(ready.argv[0], outcome, outcome.text(errorOutput), "").Error(), jobtype.MaxExplanationBytes))
	case !settings.ExitCodes.Succeeded(outcome.code):
		return describe(ready.argv[0], outcome, outcome.text(errorOutput), "")
	}
	return found.verdict()
}

func (h *Handler) program(ready rendered, own []string, params []byte, workerID string) program {
	if len(params) == 0 {
		params = []byte("{}")
	}
	return program{
		argv: ready.argv, launch: ready.Spec, inherited: h.options.inherited(), own: own, stdin: params,
		killGrace: ready.Grace(), outputGrace: h.options.OutputGrace, ledger: h.ledger(workerID), shim: h.options.Shim, cgroups: &h.cgroups,
	}
}

func (p program) with(stdout func(io.Reader) error, stderr io.Writer) program {
	p.stdout = stdout
	p.stderr = func(from io.Reader) error {
		_, err := io.Copy(stderr, from)
		return err
	}
	return p
}

func failure(name string, err error) error {
	if start, ok := errors.AsType[*startError](err); ok {
		return whyNotStarted(name, start)
	}
	return fmt.Errorf("%s was stopped: %w", name, err)
}

func describe(name string, outcome ended, errorOutput, output string) error {
	said := lastWords(errorOutput, output)
	if outcome.signal != "" {
		return fmt.Errorf("%s was killed by a signal (%s)%s", name, outcome.signal, said)
	}
	return fmt.Errorf("%s exited with status %d%s", name, outcome.code, said)
}
