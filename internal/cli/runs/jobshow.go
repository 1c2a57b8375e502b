package runs

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
)

// ShowItem shows one job or task.
func ShowItem(p *ui.Program, ctx *cli.Context, client *starter.Client, ref starter.ItemRef) error {
	c := &commands{p}
	item, err := client.Runs().Item(ctx.Context, ref)
	if err != nil {
		return err
	}
	detail, err := client.Runs().Detail(ctx.Context, item)
	c.Note(err)
	c.Note(starter.RecallOf(ctx.Context))
	if ui.WantsData(ctx) {
		return c.Answer(ctx, struct {
			starter.ItemDetail
			AsOf time.Time `json:"as_of,omitzero"`
		}{detail, starter.AsOf(ctx.Context)}, detail.Item.Ref().String())
	}
	c.showJob(detail)
	c.showHistory(detail)
	return nil
}

func (c *commands) showJob(detail starter.ItemDetail) {
	job, now, shown := detail.Item, c.Env.Now(), &ui.Fields{}
	shown.Add("job", ui.Textf("%s", job.Ref()))
	shown.Add("what", ui.Textf("%s", job.Summary))
	if job.Items == 0 {
		shown.Add("key", ui.Textf("%s", job.DedupeKey))
	}
	for _, item := range job.Batch {
		shown.Add("item", ui.Text(itemText(item)))
	}
	shown.Add("needs", ui.Text(strings.Join(job.Needs, ", ")))
	shown.Add("state", ui.Cell{Text: job.State, Paint: statePaint(job.State)})
	if job.FromTask != "" {
		shown.Add("taken over", ui.Text("from "+job.FromRun+"/"+job.FromTask+", which has the same key"))
	} else {
		shown.Add("from run", ui.Text(job.FromRun))
	}
	if job.Redefined {
		shown.Add("definition", ui.Text("replaced after the run had begun"))
	}
	shown.Add("waits", ui.Textf("%s", job.Waiting))
	shown.Add("priority", ui.Textf("%s", job.Priority))
	shown.Add("worker", ui.Textf("%s", job.Worker))
	shown.Add("attempt", ui.Textf("%s", attempts(job)))
	for _, at := range []struct {
		name string
		time time.Time
	}{
		{"created", job.CreatedAt},
		{"modified", job.ModifiedAt},
		{"not before", job.NotBefore},
		{"until", job.Until},
		{"started", job.StartedAt},
		{"ended", job.EndedAt},
	} {
		if !at.time.IsZero() {
			shown.Add(at.name, ui.Textf("%s (%s)", ui.Stamp(at.time), ui.Ago(at.time, now)))
		}
	}
	shown.Add("took", ui.Textf("%s", itemTook(job, now)))
	if job.State == contract.JobWarning {
		shown.Add("warning", ui.Cell{Text: job.Error, Paint: ui.Odd})
	} else {
		shown.Add("error", ui.Cell{Text: job.Error, Paint: ui.Bad})
	}
	if active := job.Active; active != nil {
		shown.Add("progress", ui.Textf("%s", strings.TrimSpace(PercentOf(*active)+" "+MessageOf(*active))))
		if active.Progress != nil {
			shown.Add("reported", ui.Textf("%s", ui.Ago(active.Progress.At, now)))
		}
		shown.Add("heartbeat", ui.Textf("%s", ui.Ago(active.BeatAt, now)))
	}
	addCommand(shown, detail)
	c.PrintFields(shown)
}

func addCommand(shown *ui.Fields, detail starter.ItemDetail) {
	if len(detail.Command) > 0 {
		shown.Add("command", ui.Text(ui.OneLine(compactJSON(detail.Command))))
	}
	for _, hook := range detail.Hooks {
		shown.Add("hook "+hook.Name, ui.Text(ui.OneLine(compactJSON(hook.Command))))
	}
}

func (c *commands) showHistory(detail starter.ItemDetail) {
	now := c.Env.Now()
	if len(detail.Attempts) > 0 {
		listed := ui.NewTable("TRY", "WORKER", "STARTED", "TOOK", "ENDED AS", "ERROR")
		for _, attempt := range detail.Attempts {
			listed.Add(ui.Textf("%d", attempt.Number), ui.Text(attempt.Worker), ui.Text(ui.Stamp(attempt.StartedAt)), ui.Text(attemptTook(attempt, now)),
				ui.Cell{Text: attempt.EndedAs, Paint: statePaint(attempt.EndedAs)}, ui.Cause(attempt.Error))
		}
		c.Print("")
		c.PrintTable(listed, "")
	}
	if len(detail.Requests) > 0 {
		listed := ui.NewTable("REQUEST", "BY", "AT", "NOTE")
		for _, request := range detail.Requests {
			listed.Add(ui.Text(request.Did), ui.Text(request.By), ui.Text(ui.Stamp(request.At)), ui.Text(request.Note))
		}
		c.Print("")
		c.PrintTable(listed, "")
	}
	if detail.Result == nil {
		return
	}
	of := attemptOf(detail)
	shown := &ui.Fields{}
	shown.Add("result"+of, ui.Text(ui.OneLine(detail.Result.Summary)))
	if len(detail.Result.Data) > 0 {
		shown.Add("data", ui.Text(compactJSON(detail.Result.Data)))
	}
	if detail.Result.Summary != "" || len(detail.Result.Data) > 0 {
		c.Print("")
		c.PrintFields(shown)
	}
	c.showOutput("output"+of, *detail.Result)
}

// attemptOf marks a result of an open job as the result of an earlier attempt.
func attemptOf(detail starter.ItemDetail) string {
	if detail.Ended() {
		return ""
	}
	return " of an earlier attempt"
}

func attemptTook(attempt starter.Attempt, now time.Time) string {
	switch {
	case attempt.StartedAt.IsZero():
		return "not taken"
	case attempt.EndedAt.IsZero():
		return ui.Span(now.Sub(attempt.StartedAt))
	}
	return ui.Span(attempt.EndedAt.Sub(attempt.StartedAt))
}

// Line by line: a program's control characters must not reach a terminal.
func (c *commands) showOutput(title string, result jobtype.Result) {
	output := strings.TrimRight(result.Output, "\n")
	if output == "" || output == result.Summary {
		return
	}
	fmt.Fprintln(c.Env.Stdout, "\n"+title)
	for line := range strings.Lines(output) {
		fmt.Fprintln(c.Env.Stdout, "  "+strings.TrimRight(ui.Printable(line), " "))
	}
}

// compactJSON writes a value on one line for people, without escapes of >.
func compactJSON(value any) string {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// itemText returns the key of an item of a batch, and its summary if that differs.
func itemText(item jobtype.BatchItem) string {
	if item.Summary == item.DedupeKey || item.Summary == "" {
		return item.DedupeKey
	}
	return strings.TrimSpace(item.DedupeKey + "  " + item.Summary)
}
