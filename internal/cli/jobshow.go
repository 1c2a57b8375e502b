package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

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
		Flags:  with(runFlag(), jobKeyFlag()),
		Before: checkJobRef,
		Action: c.connected(func(ctx *cli.Context, client *starter.Client) error {
			ref, err := jobOf(ctx, client)
			if err != nil {
				return err
			}
			job, err := client.Job(ctx.Context, ref)
			if err != nil {
				return err
			}
			result, err := client.JobResult(ctx.Context, job)
			c.note(err)
			if wantsJSON(ctx) {
				return printJSON(c.env.Stdout, struct {
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
	now, shown := c.env.Now(), &fields{}
	shown.add("job", textf("%s", job.Ref()))
	shown.add("what", textf("%s", job.Summary))
	if job.Items == 0 {
		shown.add("key", textf("%s", job.DedupeKey))
	}
	for _, item := range job.Batch {
		shown.add("item", text(itemText(item)))
	}
	shown.add("state", cell{text: job.State, paint: statePaint(job.State)})
	shown.add("waiting for", textf("%s", job.Waiting))
	shown.add("priority", textf("%s", job.Priority))
	shown.add("worker", textf("%s", job.Worker))
	shown.add("attempt", textf("%s", attempts(job)))
	if !job.NotBefore.IsZero() {
		shown.add("not before", textf("%s (%s)", stamp(job.NotBefore), ago(job.NotBefore, now)))
	}
	if !job.StartedAt.IsZero() {
		shown.add("started", textf("%s (%s)", stamp(job.StartedAt), ago(job.StartedAt, now)))
	}
	if !job.EndedAt.IsZero() {
		shown.add("ended", textf("%s (%s)", stamp(job.EndedAt), ago(job.EndedAt, now)))
	}
	shown.add("took", textf("%s", jobTook(job, now)))
	shown.add("error", cell{text: job.Error, paint: bad})
	if active := job.Active; active != nil {
		shown.add("progress", textf("%s", strings.TrimSpace(percentOf(*active)+" "+messageOf(*active))))
		if active.Progress != nil {
			shown.add("reported", textf("%s", ago(active.Progress.At, now)))
		}
		shown.add("heartbeat", textf("%s", ago(active.BeatAt, now)))
	}
	if result != nil {
		shown.add("result", textf("%s", result.Summary))
		if len(result.Data) > 0 {
			shown.add("data", text(compactJSON(result.Data)))
		}
	}
	shown.write(c.env.Stdout, c.env.colors())
	if result != nil {
		c.showOutput(*result)
	}
}

// showOutput prints what the job printed, if that is more than its summary, line
// by line: a program's control characters must not reach a terminal.
func (c *commands) showOutput(result jobtype.Result) {
	output := strings.TrimRight(result.Output, "\n")
	if output == "" || output == result.Summary {
		return
	}
	fmt.Fprintln(c.env.Stdout, "\noutput")
	for line := range strings.Lines(output) {
		fmt.Fprintln(c.env.Stdout, "  "+strings.TrimRight(printable(line), " "))
	}
}

func compactJSON(value any) string {
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
