package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/roundsman/roundsman/internal/lib/launch"
	"github.com/roundsman/roundsman/internal/lib/tail"
	"github.com/roundsman/roundsman/jobtype"
)

// Execute implements [jobtype.Handler]. Exit code 0 (or exit_codes.success) completes the job, another fails it with
// the tail of stderr. On cancel the result has the output so far.
func (h *Handler) Execute(ctx context.Context, job jobtype.Job, progress jobtype.Progress) (jobtype.Result, error) {
	settings, input, ready, err := prepared(job)
	if err != nil {
		return jobtype.Result{}, jobtype.Permanent(err)
	}
	if ctx.Err() != nil {
		return jobtype.Result{}, notBegun(ctx, context.Cause(ctx))
	}
	owner := jobOwner(job)
	if err := h.awaitEnd(ctx, job.WorkerID, owner, progress); err != nil {
		return jobtype.Result{}, err
	}
	program := h.program(ready, jobEnvironment(job), input, job.WorkerID)
	if err := program.awaitGuard(ctx, ready.Guard, newWatcher(job.Liveness, job.StallTimeout, progress.Alive), owner); err != nil {
		return jobtype.Result{}, notBegun(ctx, err)
	}
	jobtype.KeepOutput(progress, ready.Output.Policy())
	log := jobtype.Log(progress)
	program.watcher, program.owner = newWatcher(job.Liveness, job.StallTimeout, progress.Alive), owner
	hooks := program.surround(log, progress.Alive)
	result, err := hooks.before(ctx, settings)
	if err == nil {
		result, err = settings.run(ctx, program, progress, log)
	}
	return hooks.close(ctx, progress, result, err)
}

// notBegun makes err a [jobtype.ErrAtCapacity] if the job is canceled or drains, so the attempt does not count. After a
// deadline the attempt counts: a guard that hangs would be repeated forever.
func notBegun(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause == nil || errors.Is(cause, jobtype.ErrDeadline) {
		return err
	}
	return fmt.Errorf("%w: not started: %w", jobtype.ErrAtCapacity, err)
}

func (s executeSettings) run(ctx context.Context, program program, progress jobtype.Progress, log io.Writer) (jobtype.Result, error) {
	reported := progress
	if s.Progress == progressNone {
		reported = nil
	}
	output, errorOutput := tail.New(jobtype.MaxOutputBytes), tail.New(stderrKept)
	outcome, err := program.with(
		func(stdout io.Reader) error { return follow(stdout, io.MultiWriter(output, log), reported) },
		io.MultiWriter(output, errorOutput, log),
	).run(ctx)
	if err == nil {
		program.collect(ctx, progress)
	}
	return s.result(program.argv[0], outcome, err, outcome.text(output), outcome.text(errorOutput))
}

func prepared(job jobtype.Job) (settings executeSettings, input json.RawMessage, ready rendered, err error) {
	if settings, err = readExecute(job.Settings, job.Argv); err != nil {
		return settings, nil, ready, err
	}
	if input, err = inputOf(job); err != nil {
		return settings, nil, ready, err
	}
	data, err := executeData(job, input)
	if err != nil {
		return settings, input, ready, err
	}
	ready, err = settings.render("execute", data)
	if err != nil && len(job.Batch) > 0 {
		err = fmt.Errorf("%w (the job type has batch: the items of a job are in %s, .Batch and .Params.items, not in .Params)", err, eachMark)
	}
	return settings, input, ready, err
}

// Line is the command line that [Handler.Execute] runs for a job, and those of its hooks.
func Line(job jobtype.Job) ([]string, []launch.Hook, error) {
	_, _, ready, err := prepared(job)
	return ready.argv, ready.Hooks.All(), err
}

func (s executeSettings) result(name string, outcome ended, err error, output, errorOutput string) (jobtype.Result, error) {
	result := jobtype.Result{Output: output, Summary: jobtype.OneLine(lastLine(output), jobtype.MaxSummaryBytes)}
	if err != nil {
		return result, failure(name, err)
	}
	result.Data = map[string]any{"exit_code": outcome.code}
	if outcome.signal == "" && s.ExitCodes.Succeeded(outcome.code) {
		return result, nil
	}
	err = describe(name, outcome, errorOutput, output)
	if outcome.signal == "" && s.ExitCodes.Warned(outcome.code) {
		result.Warning = err.Error()
		return result, nil
	}
	wait, deferred := s.ExitCodes.Defer[outcome.code]
	switch {
	case outcome.signal != "":
	case slices.Contains(s.ExitCodes.Permanent, outcome.code):
		err = jobtype.Permanent(err)
	case deferred:
		err = jobtype.Defer(wait.Std(), err.Error())
	}
	return result, err
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

func lastWords(errorOutput, output string) string {
	said := strings.TrimSpace(errorOutput)
	if said == "" {
		said = strings.TrimSpace(output)
		if len(said) > stderrKept {
			said = strings.ToValidUTF8(said[len(said)-stderrKept:], "")
		}
	}
	if said == "" {
		return " and said nothing"
	}
	return ": " + said
}
