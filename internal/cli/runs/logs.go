package runs

import (
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/joblogs"
)

// followEvery is how often a log that is followed is read.
const followEvery = 500 * time.Millisecond

const (
	flagFollow  = "follow"
	flagAttempt = "attempt"
)

func (c *commands) jobsLogs() *cli.Command {
	return &cli.Command{
		Name: "logs", ArgsUsage: "[RUN/JOB]", Usage: "print what a job or task prints, while it runs and after",
		Description: jobArgument + `

The worker's own process answers: with the last 1 MiB of a running job, with the last 16 KiB of one that has ended. When
that process is gone, the end of the output is read from the result.

Examples:
  roundsman jobs logs group/scrub-2026-11-20T09:00:00Z/job-00012
  roundsman jobs logs dag/nightly/x/load --follow
  roundsman jobs logs job-00012 --run scrub --attempt 1
  roundsman jobs logs job-00012 --run scrub --output json | jq -r .text`,
		Flags: ui.With(
			&cli.BoolFlag{Name: flagFollow, Aliases: []string{"f"}, Usage: "print what comes, until the job has ended"},
			&cli.IntFlag{Name: flagAttempt, Usage: "of attempt `N`; 0: of the last one"},
			runFlag(), jobKeyFlag(),
		),
		Before: checkJobRef,
		Action: c.Connected(func(ctx *cli.Context, client *starter.Client) error {
			if ctx.Int(flagAttempt) < 0 {
				return ui.Usagef("--attempt %d: must not be negative", ctx.Int(flagAttempt))
			}
			ref, err := jobOf(ctx, client)
			if err != nil {
				return err
			}
			return c.printLog(ctx, client, ref)
		}),
	}
}

// printLog prints part after part; as JSON, each is a line where the log is followed.
func (c *commands) printLog(ctx *cli.Context, client *starter.Client, ref starter.ItemRef) error {
	attempt, follow, asJSON := ctx.Int(flagAttempt), ctx.Bool(flagFollow), ui.WantsData(ctx)
	shown, offset, printed := 0, int64(0), false
	var last joblogs.Part
	for {
		part, err := joblogs.Read(ctx.Context, client, ref, attempt, offset)
		if err != nil {
			return err
		}
		if part.Attempt != shown && offset > 0 {
			// The next attempt has begun: its log has a beginning of its own.
			shown, offset = part.Attempt, 0
			continue
		}
		shown, last = part.Attempt, part
		switch {
		case asJSON && follow && part.Text != "":
			err = c.AnswerPart(ctx, part)
		case asJSON && !follow:
			return c.Answer(ctx, part)
		case part.Text != "":
			if part.Offset > offset {
				c.Complain("note: %d bytes before this are not kept", part.Offset-offset)
			}
			_, err = io.WriteString(c.Env.Stdout, ui.Lines(part.Text))
		}
		if err != nil {
			return err
		}
		printed = printed || part.Text != ""
		offset = max(offset, part.Next)
		switch {
		case part.Text != "" && part.From == joblogs.FromWorker:
			continue // There may be more.
		case !follow, part.Ended && !part.Running, attempt != 0 && !part.Running:
			if !printed {
				c.Complain("note: %s", nothing(last))
			}
			return nil
		}
		if err := rpc.Wait(ctx.Context, followEvery); err != nil {
			return err
		}
	}
}

// nothing says why a log is empty.
func nothing(part joblogs.Part) string {
	switch {
	case part.Silent != "":
		return part.Silent
	case part.Worker == "":
		return fmt.Sprintf("it is %s and has not run on a worker", part.State)
	case part.Running || !part.Ended:
		return "it has printed nothing yet on " + part.Worker
	}
	return "it printed nothing, or worker " + part.Worker + " keeps it no more"
}
