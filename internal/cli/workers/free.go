package workers

import (
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/workerview"
)

// A drain interrupts no attempt. The attempts of a silent worker are read from the open runs.
func freeText(drain workerview.Drain, silent bool, now time.Time) string {
	var text string
	switch {
	case silent && len(drain.Jobs) == 0 && drain.Unknown == 0:
		return "at once, by the runs: none has an attempt there; the process does not answer"
	case len(drain.Jobs) == 0 && drain.Unknown == 0:
		return "at once: nothing runs there"
	case drain.FreeAt.IsZero():
		text = "at an unknown time"
	case drain.Unknown == 0:
		text = "about " + ui.Ago(drain.FreeAt, now)
	default:
		text = "not before " + ui.Ago(drain.FreeAt, now)
	}
	if drain.Unknown > 0 {
		text += fmt.Sprintf(": the end of %s is unknown", ui.Plural(drain.Unknown, "job"))
	}
	if !drain.Latest.IsZero() {
		text += fmt.Sprintf("; at the latest %s, by the time limits", ui.Ago(drain.Latest, now))
	}
	return text
}

// foretellDrain prints the attempts that a drain would wait for, and drains nothing.
func (c *commands) foretellDrain(ctx *cli.Context, client *starter.Client, id string) error {
	shown, err := workerview.Shown(ctx.Context, client, id)
	if err != nil {
		return err
	}
	verdict, fault := workerview.MayReboot(ctx.Context, client, shown)
	c.Note(fault)
	if ui.WantsData(ctx) {
		return c.Answer(ctx, map[string]any{"worker": id, "if_drained": shown.IfDrained, "reboot": verdict})
	}
	if fault == nil {
		c.Print("reboot: %s", verdict.Text)
	}
	if shown.IfDrained == nil {
		return fmt.Errorf("the attempts on worker %s are unknown: %s", id, shown.Silent+shown.Unanswered)
	}
	now := c.Env.Now()
	c.Print("%s would be free %s", id, freeText(*shown.IfDrained, shown.Report == nil, now))
	listed := ui.NewTable("JOB", "RUN", "ENDS", "BY", "AT THE LATEST")
	for _, job := range shown.IfDrained.Jobs {
		by := ui.Text(string(job.Basis))
		switch {
		case job.Basis == "":
			by = ui.Cell{Text: "unknown", Paint: ui.Odd}
		case job.Of > 0:
			by.Text = fmt.Sprintf("%d %s", job.Of, job.Basis)
		}
		listed.Add(ui.Text(job.JobID), ui.Text(job.WorkflowID), ui.Text(ui.Ago(job.EndsAt, now)), by, ui.Text(ui.Ago(job.Latest, now)))
	}
	if len(shown.IfDrained.Jobs) > 0 {
		c.PrintTable(listed, "")
	}
	return nil
}
