package seaweedfs

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/roundsman/roundsman/activities/command"
	"github.com/roundsman/roundsman/internal/lib/launch"
	"github.com/roundsman/roundsman/internal/seaweedfs/weed"
	"github.com/roundsman/roundsman/jobtype"
)

const killGrace = jobtype.Duration(5 * time.Second)

// shellRun is one run of `weed shell`. Its exit code is always 0: errors are lines.
type shellRun struct {
	commands []string
	progress jobtype.Progress

	output    []string
	bytes     int
	truncated bool
	errors    []string
}

func (r *shellRun) run(ctx context.Context, runner *command.Runner, program string, spec weed.Spec) error {
	args := []string{"shell", "-master=" + strings.Join(spec.Masters, ",")}
	if len(spec.Filers) > 0 {
		args = append(args, "-filer="+spec.Filers[0])
	}
	reader, writer := io.Pipe()
	read := make(chan struct{})
	go func() {
		defer close(read)
		r.read(reader)
	}()
	exit, err := runner.Run(ctx, command.Call{
		Argv: append([]string{program}, args...), Keys: launch.Spec{KillGrace: new(killGrace)}, Output: writer,
		Input: []byte("lock\n" + strings.Join(r.commands, "\n") + "\nunlock\nexit\n"),
	})
	_ = writer.Close()
	<-read
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("the script was stopped: %w; its lease ends within 10s; last output: %s", context.Cause(ctx), r.last())
	case err != nil:
		return err
	case exit != command.Exit{}:
		return fmt.Errorf("weed shell failed: %s; last output: %s", exit, r.last())
	}
	return nil
}

func (r *shellRun) read(output io.Reader) {
	lines := bufio.NewScanner(output)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		r.line(lines.Text())
	}
	_, _ = io.Copy(io.Discard, output) // a line that is too long must not block the shell
}

// A prompt may precede the text.
func (r *shellRun) line(text string) {
	text = strings.TrimRight(text, "\r")
	bare := strings.TrimSpace(strings.TrimLeft(text, "> "))
	lower := strings.ToLower(bare)
	switch {
	case strings.HasPrefix(lower, "error:"), strings.HasPrefix(lower, "unknown command:"):
		r.errors = append(r.errors, bare)
	case strings.HasPrefix(lower, "waiting for lock"):
		r.progress.Report(-1, "waiting for the shell lease", bare)
	default:
		r.progress.Alive()
	}
	r.output = append(r.output, text)
	r.bytes += len(text) + 1
	for r.bytes > jobtype.MaxOutputBytes && len(r.output) > 1 {
		r.bytes -= len(r.output[0]) + 1
		r.output, r.truncated = r.output[1:], true
	}
}

func (r *shellRun) last() string {
	if len(r.output) == 0 {
		return "none"
	}
	return r.output[len(r.output)-1]
}

func (r *shellRun) result() (jobtype.Result, error) {
	if len(r.errors) > 0 {
		return jobtype.Result{}, fmt.Errorf("SCRIPT_ERRORS: %d of the script's commands failed: %s", len(r.errors), strings.Join(r.errors, "; "))
	}
	return jobtype.Result{
		Summary: fmt.Sprintf("%d commands", len(r.commands)), Output: strings.Join(r.output, "\n"),
		Data: map[string]any{"command_count": len(r.commands), "error_count": 0, "commands": r.commands, "script_hash": scriptHash(r.commands), "output_truncated": r.truncated},
	}, nil
}
