package inspect

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"
	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/runs"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/explainer"
)

func (c *commands) explainCommand() *cli.Command {
	return &cli.Command{
		Name: "explain", ArgsUsage: "THING [JOB|TASK]", Usage: "cause, since when, until when, and the remedy",
		Description: `THING is a job type (with all its open runs), a worker, a run, a job (RUN/JOB), a run of a DAG
(dag/NAME/RUN; NAME alone is the newest one) or a task of it (RUN/TASK). JOB and TASK may also
follow their run as a word of their own. The dedupe key of a job in an open run is found as well, and
the name of a receiver of notifications.

Of an open run the answer begins with a summary: what runs, what has been silent since when and until
when, how many wait for which code.

The reasons are ordered: what to act on first. docs/explain.md describes every code. Nothing is
changed. Without a control plane the first line says so, and the exit code is 1: facts are missing,
and those of an open run are from its history.

Examples:
  roundsman explain scrub
  roundsman explain scrub job-00012
  roundsman explain /srv/a.bin
  roundsman explain group/scrub-2026-11-20T09:00:00Z/job-00012
  roundsman explain rolling-maintenance go-ahead
  roundsman explain dag/nightly/20261120T090000-1f2e3d/load.7
  roundsman explain node-a --output json | jq -r '.reasons[].code'`,
		Flags: ui.With(),
		Action: ui.Recalling(c.Connected(func(ctx *cli.Context, client *starter.Client) error {
			return Explain(c.Program, ctx, client, strings.Join(ctx.Args().Slice(), "/"))
		})),
	}
}

// Explain prints why a thing does not run, and what to do.
func Explain(p *ui.Program, ctx *cli.Context, client *starter.Client, thing string) error {
	c := &commands{p}
	explanation, err := explainer.Explain(ctx.Context, client, thing)
	if err != nil {
		explanation, err = explainKey(ctx.Context, client, thing, err)
	}
	if err != nil {
		return err
	}
	for _, reason := range explanation.Reasons {
		if reason.Code == contract.CodeControlPlaneDown {
			c.Incomplete(string(reason.Code) + ": " + reason.Detail + "; " + (explain.Remedy{Actions: reason.Actions}).Text())
		}
	}
	now := activityOf(ctx.Context, client, explanation, c.Env.Now())
	if ui.WantsData(ctx) {
		return c.Answer(ctx, struct {
			explainer.Explanation
			Now  *activity `json:"now,omitempty"`
			AsOf time.Time `json:"as_of,omitzero"`
		}{explanation, now, starter.AsOf(ctx.Context)})
	}
	c.printExplanation(explanation, append(now.lines(c.Env.Now()), receiverLines(explanation.Receiver, c.Env.Now())...)...)
	return nil
}

func (c *commands) printExplanation(e explainer.Explanation, summary ...string) {
	c.Print("%s %s: %s", e.Kind, e.Name, cmp.Or(e.State, "unknown"))
	for _, line := range summary {
		c.Print("%s", line)
	}
	if e.Pace != nil && e.Pace.Verdict != contract.PaceUnknown {
		c.Print("pace: %s", runs.PaceText(e.Pace))
	}
	if c.printEnded(e) && e.Ended.Of == e.Name && len(e.Reasons) == 0 {
		return
	}
	if len(e.Reasons) == 0 && len(summary) > 0 {
		return
	}
	if len(e.Reasons) == 0 {
		fmt.Fprintln(c.Env.Stdout, c.Env.Own.Text(e.Nothing))
		return
	}
	for _, reason := range e.Reasons {
		c.printReason(reason)
	}
	c.printChain(e.Chain)
}

// printChain lists the holders from the first one to the root, which has the remedy.
func (c *commands) printChain(chain []explainer.Link) {
	for i, link := range chain {
		head := "then"
		if i == len(chain)-1 {
			head = "root"
		}
		c.Print("")
		because := strings.TrimSpace(string(link.Because) + " " + link.Detail)
		c.printWrapped(head+": ", fmt.Sprintf("%s has %s (%s): %s", link.Thing(), link.Holds, cmp.Or(link.State, "unknown"), because))
		if link.Remedy != "" {
			c.printWrapped("  → ", c.Env.Own.Text(link.Remedy))
		}
	}
}

// printEnded prints nothing after a plain success.
func (c *commands) printEnded(e explainer.Explanation) bool {
	if e.Ended == nil || e.Ended.Detail == "" && e.Ended.Remedy == "" {
		return false
	}
	about := "it ended"
	if e.Ended.Of != e.Name {
		about = "its last run, " + e.Ended.Of + ", ended as " + e.Ended.Outcome
	}
	if !e.Ended.At.IsZero() {
		about += " " + ui.Ago(e.Ended.At, c.Env.Now())
	}
	c.printWrapped("", strings.TrimSuffix(about+": "+ui.OneLine(e.Ended.Detail), ": "))
	if e.Ended.Remedy != "" {
		c.printWrapped("  → ", c.Env.Own.Text(e.Ended.Remedy))
	}
	return true
}

func (c *commands) printReason(reason explain.Reason) {
	now := c.Env.Now()
	head := ui.Bold.Apply(c.Env.Colors(), string(reason.Code))
	if reason.Object != "" {
		head += "(" + ui.OneLine(reason.Object) + ")"
	}
	c.Print("\n%s%s", head, sinceUntil(reason.Since, reason.Until, now))
	if reason.Of != "" {
		c.printWrapped("  ", "of "+reason.Of)
	}
	c.printWrapped("  ", reason.Detail)
	if reason.Remedy != "" {
		c.printWrapped("  → ", c.Env.Own.Text(reason.Remedy))
	}
}

// A pipe gets one line, for grep. A command line in backquotes stays in one piece, so that it can be copied.
func (c *commands) printWrapped(first, text string) {
	width := cmp.Or(c.Env.Width, math.MaxInt)
	indent := strings.Repeat(" ", runewidth.StringWidth(first))
	line := first
	for _, word := range unbroken(c.Env.Own.Code(ui.OneLine(text))) {
		if line != first && line != indent && runewidth.StringWidth(line)+1+runewidth.StringWidth(word) > width {
			fmt.Fprintln(c.Env.Stdout, line)
			line = indent
		}
		if line != first && line != indent {
			line += " "
		}
		line += word
	}
	fmt.Fprintln(c.Env.Stdout, line)
}

// unbroken splits text at spaces outside backquotes.
func unbroken(text string) []string {
	var words []string
	for i, part := range strings.Split(text, "`") {
		pieces := strings.Split(part, " ")
		if i%2 == 1 {
			pieces = []string{"`" + part + "`"}
		}
		if len(words) > 0 { // It continues the last word: "(`x`," is one.
			words[len(words)-1] += pieces[0]
			pieces = pieces[1:]
		}
		words = append(words, pieces...)
	}
	return words
}

func sinceUntil(since, until, now time.Time) string {
	text := ""
	if !since.IsZero() {
		text += " for " + ui.Span(max(0, now.Sub(since)))
	}
	if !until.IsZero() {
		text += " until " + ui.Stamp(until)
	}
	return text
}
