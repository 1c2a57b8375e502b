package runs

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/target"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/lib/joblog"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/joblogs"
)

const followEvery = 500 * time.Millisecond

const (
	flagAttempt = "attempt"
	flagTail    = "tail"

	flagArtifacts = "artifacts"
	flagArtifact  = "artifact"
)

func (c *commands) logs() *cli.Command {
	return &cli.Command{
		Name: "logs", ArgsUsage: "REF", Usage: "print the output of a job or task",
		Description: `REF is RUN/ITEM or a dedupe key, TYPE:KEY. The worker of the attempt answers, from the files of its data directory:
docs/programs.md#output. Without such a worker, the last 16 KiB come from the result.

Examples:
  roundsman logs scrub/12
  roundsman logs compress_logs:/var/log/big.log -f
  roundsman logs nightly@last/load --attempt 1 > attempt-1.log
  roundsman logs scrub/12 --tail 20
  roundsman logs scrub/12 --artifacts
  roundsman logs scrub/12 --artifact reports/a.json > a.json`,
		Flags: ui.With(
			&cli.BoolFlag{Name: ui.FlagFollow, Aliases: []string{"f"}, Usage: "print until it has ended"},
			&cli.IntFlag{Name: flagAttempt, Usage: "of attempt `N`; 0: of the last one"},
			&cli.IntFlag{Name: flagTail, Usage: "begin with the last `N` lines, at most 256 KiB; 0: print all"},
			&cli.BoolFlag{Name: flagArtifacts, Usage: "list the files that the attempt has left"},
			&cli.StringFlag{Name: flagArtifact, Usage: "print the file with that `NAME` in the list"},
		),
		Before: func(ctx *cli.Context) error {
			for _, flag := range []string{flagAttempt, flagTail} {
				if ctx.Int(flag) < 0 {
					return ui.Usagef("--%s %d: must not be negative", flag, ctx.Int(flag))
				}
			}
			return nil
		},
		Action: target.All(c.Program, target.Accepts{Items: true}, func(ctx *cli.Context, client *starter.Client, t target.Target) error {
			if !ctx.Bool(ui.FlagFollow) { // What follows needs the state of now.
				ctx.Context = starter.WithMemory(ctx.Context)
				defer func() { c.Note(starter.RecallOf(ctx.Context)) }()
			}
			if ctx.Bool(flagArtifacts) || ctx.IsSet(flagArtifact) {
				return c.artifacts(ctx, client, t.Item)
			}
			return c.printLog(ctx, client, t.Item)
		}),
	}
}

type log struct {
	*commands
	// read returns the output of an attempt from an offset; attempt 0 is the last one.
	read    func(ctx context.Context, attempt int, offset int64) (joblogs.Part, error)
	attempt int
	follow  bool
	// shown is the attempt of the last part printed, offset the end of that part, last the end of its text.
	shown  int
	offset int64
	last   string
	// tail is the number of lines to begin with, 0 after they are printed.
	tail    int
	printed bool
}

// next reads the next part. With a tail the first part has the last lines.
func (l *log) next(ctx context.Context) (joblogs.Part, error) {
	if l.tail == 0 {
		return l.read(ctx, l.attempt, l.offset)
	}
	part, err := l.read(ctx, l.attempt, -joblog.MaxChunk)
	for err == nil && part.Text != "" && part.From == joblogs.FromWorker {
		var more joblogs.Part
		if more, err = l.read(ctx, part.Attempt, part.Next); err != nil || more.Text == "" {
			break
		}
		if more.Offset == part.Next {
			more.Text = part.Text + more.Text
		}
		more.Text = lastLines(more.Text, l.tail)
		part = more
	}
	part.Text, l.tail = lastLines(part.Text, l.tail), 0
	part.Offset = max(0, part.Next-int64(len(part.Text)))
	l.offset = part.Offset
	return part, err
}

// printLog prints part after part. A followed log as JSON has a part on each line.
func (c *commands) printLog(ctx *cli.Context, client *starter.Client, ref starter.ItemRef) error {
	l := &log{commands: c, attempt: ctx.Int(flagAttempt), follow: ctx.Bool(ui.FlagFollow), tail: ctx.Int(flagTail)}
	l.read = func(ctx context.Context, attempt int, offset int64) (joblogs.Part, error) {
		return joblogs.Read(ctx, client, ref, attempt, offset)
	}
	asJSON := ui.WantsData(ctx)
	if asJSON && !l.follow {
		part, err := l.next(ctx.Context)
		if err != nil {
			return err
		}
		return c.Answer(ctx, part)
	}
	return l.run(ctx.Context, func(part joblogs.Part) error {
		if asJSON {
			return c.AnswerPart(ctx, part)
		}
		return l.print(part)
	})
}

func (l *log) run(ctx context.Context, show func(joblogs.Part) error) error {
	for {
		part, err := l.next(ctx)
		if err != nil {
			return err
		}
		switch {
		case l.shown > 0 && part.Attempt > l.shown:
			// The next attempt has begun, and its log starts at 0.
			if err := l.finish(ctx, show); err != nil {
				return err
			}
			continue
		case l.shown > part.Attempt && part.Attempt > 0 && l.offset > 0:
			l.begin(part.Attempt)
			continue
		}
		if err := l.show(part, show); err != nil {
			return err
		}
		switch {
		case part.Text != "" && part.From == joblogs.FromWorker:
			continue // There may be more.
		case !l.follow, part.Ended && !part.Running, l.attempt != 0 && !part.Running:
			if !l.printed {
				l.Complain("note: %s", part.Note)
			} else {
				l.conclude(part)
			}
			return nil
		}
		if err := rpc.Wait(ctx, followEvery); err != nil {
			return err
		}
	}
}

func (l *log) begin(attempt int) { l.shown, l.offset, l.last = attempt, 0, "" }

// finish prints the rest of the attempt before the present one, from its last offset to its end.
func (l *log) finish(ctx context.Context, show func(joblogs.Part) error) error {
	for {
		part, err := l.read(ctx, l.shown, l.offset)
		switch {
		case err != nil && !errors.Is(err, starter.ErrNotFound):
			return err
		case part.Text != "" && part.From == joblogs.FromWorker:
			if err := l.show(part, show); err != nil {
				return err
			}
			continue
		}
		l.conclude(part)
		l.begin(l.shown + 1)
		return nil
	}
}

func (l *log) show(part joblogs.Part, show func(joblogs.Part) error) error {
	// The result of a short output begins at the offset. A long output has only its end in the result, and a part of it may be printed.
	if l.printed && part.From == joblogs.FromResult && part.Text != "" && part.Offset < l.offset {
		text, known := continued(l.last, part.Text)
		if part.Text = text; !known {
			l.Complain("note: output before this may be missing: %s", part.Note)
		}
	}
	if part.Text != "" {
		if err := show(part); err != nil {
			return err
		}
		l.printed = true
	}
	if part.Attempt > 0 {
		l.shown = part.Attempt
	}
	l.offset, l.last = max(l.offset, part.Next), l.last+part.Text
	l.last = l.last[max(0, len(l.last)-jobtype.MaxOutputBytes):]
	return nil
}

// continued returns the text after the printed one; known is false if nothing of output was printed. The result of a job
// has the end of its output.
func continued(printed, output string) (text string, known bool) {
	if _, rest, found := strings.Cut(output, printed); found {
		return rest, true
	}
	for k := min(len(printed), len(output)); k > 0; k-- {
		if strings.HasSuffix(printed, output[:k]) {
			return output[k:], true
		}
	}
	return output, false
}

// conclude notes that the end of an attempt may be missing.
func (l *log) conclude(last joblogs.Part) {
	nothing := last.Gone == joblogs.GoneNothing || last.Gone == joblogs.GoneKept && l.offset == 0
	if last.From == joblogs.FromNowhere && last.Gone != "" && !nothing {
		l.Complain("note: the end of attempt %d may be missing: %s", last.Attempt, last.Note)
	}
}

func (l *log) print(part joblogs.Part) error {
	if part.From == joblogs.FromResult && !l.printed {
		l.Complain("note: only the end, from the result; %s", part.Note)
	}
	if part.Offset > l.offset {
		l.Complain("note: %d bytes before this are not kept (output.max, or a full disk)", part.Offset-l.offset)
	}
	_, err := io.WriteString(l.Env.Stdout, ui.Lines(part.Text))
	return err
}

// lastLines returns the last lines of a text, all of them for 0.
func lastLines(text string, lines int) string {
	if lines <= 0 {
		return text
	}
	at := len(strings.TrimSuffix(text, "\n"))
	for ; lines > 0 && at >= 0; lines-- {
		at = strings.LastIndexByte(text[:at], '\n')
	}
	return text[at+1:]
}
