package runs

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
)

func (c *commands) jobsShow() *cli.Command {
	return &cli.Command{
		Name: "show", ArgsUsage: "[RUN/JOB]", Usage: "show one job with its progress, or what came of it",
		Description: jobArgument + `

Examples:
  roundsman jobs show group/scrub-2026-11-20T09:00:00Z/job-00012
  roundsman jobs show job-00012 --run scrub
  roundsman jobs show compress_logs --key /var/log/app/big.log`,
		Flags:  ui.With(runFlag(), jobKeyFlag()),
		Before: checkJobRef,
		Action: c.Connected(func(ctx *cli.Context, client *starter.Client) error {
			ref, err := jobOf(ctx, client)
			if err != nil {
				return err
			}
			job, err := client.Runs().Job(ctx.Context, ref)
			if err != nil {
				return err
			}
			result, err := client.Runs().JobResult(ctx.Context, job)
			c.Note(err)
			if ui.WantsJSON(ctx) {
				return ui.PrintJSON(c.Env.Stdout, struct {
					starter.Job
					Result *jobtype.Result `json:"result,omitempty"`
				}{job, result})
			}
			c.showJob(job, result)
			return nil
		}),
	}
}

func (c *commands) showJob(job starter.Job, result *jobtype.Result) {
	now, shown := c.Env.Now(), &ui.Fields{}
	shown.Add("job", ui.Textf("%s", job.Ref()))
	shown.Add("what", ui.Textf("%s", job.Summary))
	if job.Items == 0 {
		shown.Add("key", ui.Textf("%s", job.DedupeKey))
	}
	for _, item := range job.Batch {
		shown.Add("item", ui.Text(itemText(item)))
	}
	shown.Add("state", ui.Cell{Text: job.State, Paint: statePaint(job.State)})
	shown.Add("waiting for", ui.Textf("%s", job.Waiting))
	shown.Add("priority", ui.Textf("%s", job.Priority))
	shown.Add("worker", ui.Textf("%s", job.Worker))
	shown.Add("attempt", ui.Textf("%s", attempts(job)))
	if !job.NotBefore.IsZero() {
		shown.Add("not before", ui.Textf("%s (%s)", ui.Stamp(job.NotBefore), ui.Ago(job.NotBefore, now)))
	}
	if !job.StartedAt.IsZero() {
		shown.Add("started", ui.Textf("%s (%s)", ui.Stamp(job.StartedAt), ui.Ago(job.StartedAt, now)))
	}
	if !job.EndedAt.IsZero() {
		shown.Add("ended", ui.Textf("%s (%s)", ui.Stamp(job.EndedAt), ui.Ago(job.EndedAt, now)))
	}
	shown.Add("took", ui.Textf("%s", jobTook(job, now)))
	shown.Add("error", ui.Cell{Text: job.Error, Paint: ui.Bad})
	if active := job.Active; active != nil {
		shown.Add("progress", ui.Textf("%s", strings.TrimSpace(PercentOf(*active)+" "+MessageOf(*active))))
		if active.Progress != nil {
			shown.Add("reported", ui.Textf("%s", ui.Ago(active.Progress.At, now)))
		}
		shown.Add("heartbeat", ui.Textf("%s", ui.Ago(active.BeatAt, now)))
	}
	if result != nil {
		shown.Add("result", ui.Textf("%s", result.Summary))
		if len(result.Data) > 0 {
			shown.Add("data", ui.Text(CompactJSON(result.Data)))
		}
	}
	shown.Write(c.Env.Stdout, c.Env.Colors())
	if result != nil {
		ShowOutput(c.Program, *result)
	}
}

// ShowOutput prints what the job printed, if that is more than its summary, line
// by line: a program's control characters must not reach a terminal.
func ShowOutput(c *ui.Program, result jobtype.Result) {
	output := strings.TrimRight(result.Output, "\n")
	if output == "" || output == result.Summary {
		return
	}
	fmt.Fprintln(c.Env.Stdout, "\noutput")
	for line := range strings.Lines(output) {
		fmt.Fprintln(c.Env.Stdout, "  "+strings.TrimRight(ui.Printable(line), " "))
	}
}

// CompactJSON is a value on one line.
func CompactJSON(value any) string {
	encoded, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(encoded)
}

// itemText is the key of an item of a batch and what it is about, if that says
// more.
func itemText(item jobtype.BatchItem) string {
	if item.Summary == item.DedupeKey || item.Summary == "" {
		return item.DedupeKey
	}
	return strings.TrimSpace(item.DedupeKey + "  " + item.Summary)
}
