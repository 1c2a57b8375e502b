package command

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/roundsman/roundsman/internal/lib/launch"
	"github.com/roundsman/roundsman/internal/lib/tail"
	"github.com/roundsman/roundsman/jobtype"
)

const guardKept = 4 << 10

// awaitGuard returns a deferral if the guard fails.
func (p program) awaitGuard(ctx context.Context, guard launch.Guard, watched *watcher, by owner) error {
	if len(guard.Command) == 0 {
		return nil
	}
	output := tail.New(guardKept)
	p.argv, p.stdin, p.watcher, p.owner = guard.Command, nil, watched, by
	p.launch.Stdin = launch.StdinNone
	outcome, err := p.with(func(stdout io.Reader) error {
		_, err := io.Copy(output, stdout)
		return err
	}, output).run(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("guard: %w", failure(guard.Command[0], err))
	case outcome.code == 0 && outcome.signal == "":
		return nil
	}
	end := describe(guard.Command[0], outcome, "", "").Error()
	return jobtype.DeferGuard(guard.Interval(), cmp.Or(jobtype.OneLine(lastLine(outcome.text(output)), jobtype.MaxSummaryBytes), end))
}
