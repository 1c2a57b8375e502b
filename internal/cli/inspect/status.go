package inspect

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sync/errgroup"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/jobtypes"
	"github.com/roundsman/roundsman/internal/cli/progress"
	"github.com/roundsman/roundsman/internal/cli/runs"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/cli/workers"
	"github.com/roundsman/roundsman/starter"
)

const (
	// dueWithin and failedWithin are how far status looks ahead and back.
	dueWithin    = time.Hour
	failedWithin = 24 * time.Hour
	// statusRuns bounds each list of runs.
	statusRuns = 50
)

// status is the state of everything at one moment.
type status struct {
	Running  []runningRun            `json:"running"`
	Due      []dueRun                `json:"due"`
	Failed   []starter.Run           `json:"failed"`
	Stopped  []starter.JobType       `json:"stopped"`
	Workers  []contract.WorkerDetail `json:"workers"`
	Unknown  []string                `json:"unknown,omitempty"`
	jobTypes []starter.JobType
}

// runningRun is an open run with how far it has come and what it waits for.
type runningRun struct {
	starter.Run

	Progress string `json:"progress,omitempty"`
}

// dueRun is a tick within the next hour; Skipped says why nothing will come of it.
type dueRun struct {
	JobType string    `json:"job_type"`
	At      time.Time `json:"at"`
	Skipped string    `json:"skipped,omitempty"`
}

func (c *commands) statusCommand() *cli.Command {
	return &cli.Command{
		Name: "status", Usage: "what runs, what is due, what failed, what is stopped, which workers are not well",
		Description: `It shows open runs with their progress, what is due in the next hour and what of it will be skipped, the
runs of the last 24 hours that did not complete, job types that are paused or disabled, and workers that
take no work. What cannot be found out is named; the rest is shown.

Examples:
  roundsman status
  roundsman status --output json | jq '.due[] | select(.skipped)'`,
		Flags: ui.With(),
		Action: c.Connected(func(ctx *cli.Context, client *starter.Client) error {
			now := c.Env.Now()
			found := statusOf(ctx.Context, client, now)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if ui.WantsJSON(ctx) {
				return ui.PrintJSON(c.Env.Stdout, found)
			}
			c.printStatus(found, now)
			return nil
		}),
	}
}

// statusOf asks for everything at the same time; a question without an answer is
// noted and keeps no other from being answered.
func statusOf(ctx context.Context, client *starter.Client, now time.Time) status {
	found := status{Running: []runningRun{}, Due: []dueRun{}, Failed: []starter.Run{}, Stopped: []starter.JobType{}, Workers: []contract.WorkerDetail{}}
	var asking errgroup.Group
	faults := make([]error, 5)
	asking.Go(func() error {
		found.Running, faults[0] = openRuns(ctx, client)
		return nil
	})
	asking.Go(func() error {
		var failed []starter.Run
		failed, faults[1] = client.Runs().List(ctx, starter.RunFilter{
			Outcomes: []contract.Outcome{contract.OutcomeFailed, contract.OutcomeTimeout, contract.OutcomePartial},
			Since:    now.Add(-failedWithin), Limit: statusRuns,
		})
		found.Failed = ui.OrEmpty(failed)
		return nil
	})
	asking.Go(func() error {
		if found.jobTypes, faults[2] = client.JobTypes().List(ctx); faults[2] == nil {
			faults[3] = client.JobTypes().AddHolds(ctx, found.jobTypes)
		}
		return nil
	})
	asking.Go(func() error {
		var all []contract.WorkerDetail
		all, faults[4] = client.Workers().List(ctx, contract.WorkersQueryInput{})
		for _, worker := range all {
			if worker.State != contract.WorkerOnline && worker.State != contract.WorkerDeleted || !worker.Fresh {
				found.Workers = append(found.Workers, worker)
			}
		}
		return nil
	})
	_ = asking.Wait() // Faults are noted.
	for _, err := range faults {
		if err != nil {
			found.Unknown = append(found.Unknown, err.Error())
		}
	}
	for _, known := range found.jobTypes {
		found.Due = append(found.Due, dueOf(known, now)...)
		if known.Paused || known.DisabledByConfig || known.HeldBack != nil || known.Fault != "" {
			found.Stopped = append(found.Stopped, known)
		}
	}
	slices.SortStableFunc(found.Due, func(a, b dueRun) int { return a.At.Compare(b.At) })
	return found
}

func openRuns(ctx context.Context, client *starter.Client) ([]runningRun, error) {
	listed, err := client.Runs().List(ctx, starter.RunFilter{Running: true, Limit: statusRuns})
	open := make([]runningRun, len(listed))
	var asking errgroup.Group
	asking.SetLimit(8)
	for i, run := range listed {
		open[i] = runningRun{Run: run}
		asking.Go(func() error {
			open[i].Progress = progressOf(ctx, client, run)
			return nil
		})
	}
	_ = asking.Wait() // A run without an answer has no progress to show.
	return open, err
}

func progressOf(ctx context.Context, client *starter.Client, run starter.Run) string {
	if run.Kind == starter.KindDAG {
		snapshot, err := client.DAGs().Show(ctx, run.RunRef)
		if err != nil || snapshot.State == nil {
			return ""
		}
		return withWait(progress.DAGCounts(snapshot.State.Counts), snapshot.State.Paused, snapshot.State.Waiting)
	}
	snapshot, err := client.Runs().Show(ctx, run.RunRef)
	if err != nil || snapshot.Group == nil {
		return ""
	}
	group := snapshot.Group
	done := fmt.Sprintf("%s: %d of %d done, %d running", group.Phase, progress.Ended(group.Counts), group.Counts.Accepted, group.Running)
	return withWait(done, group.Paused, group.Waiting)
}

func withWait(text string, paused bool, waiting string) string {
	if paused {
		text += "; paused"
	}
	if waiting != "" {
		text += "; " + waiting
	}
	return text
}

// dueOf are the ticks of a job type within the next hour: the first, which stands for
// them all where it is due more often.
func dueOf(known starter.JobType, now time.Time) []dueRun {
	if len(known.Next) == 0 || known.Next[0].Sub(now) > dueWithin {
		return nil
	}
	due := dueRun{JobType: known.Name, At: known.Next[0]}
	switch w := known.Window; {
	case known.HeldBack != nil:
		due.Skipped = "disabled by its retry budget until " + ui.Stamp(known.HeldBack.Until)
	case w != nil && !w.Open && (w.Until.IsZero() || w.Until.After(due.At)):
		due.Skipped = "its window is " + runs.WindowState(w, now).Text
	case w != nil && w.Open && !w.Until.IsZero() && w.Until.Before(due.At):
		due.Skipped = "its window closes before"
	}
	return []dueRun{due}
}

func (c *commands) printStatus(found status, now time.Time) {
	colors := c.Env.Colors()
	running := ui.NewTable("RUNNING", "SINCE", "PROGRESS")
	for _, run := range found.Running {
		running.Add(ui.Text(run.WorkflowID), ui.Text(ui.Ago(run.Started, now)), ui.Text(ui.Shorten(run.Progress, 100)))
	}
	running.Write(c.Env.Stdout, colors, "nothing runs")
	c.Print("")
	due := ui.NewTable("DUE", "AT", "SKIPPED BECAUSE")
	for _, tick := range found.Due {
		due.Add(ui.Text(tick.JobType), ui.Text(ui.Ago(tick.At, now)), ui.Cell{Text: tick.Skipped, Paint: ui.Odd})
	}
	due.Write(c.Env.Stdout, colors, "nothing is due in the next hour")
	c.Print("")
	failed := ui.NewTable("FAILED", "OUTCOME", "STARTED")
	for _, run := range found.Failed {
		failed.Add(ui.Text(run.WorkflowID), runs.RunOutcome(run), ui.Text(ui.Ago(run.Started, now)))
	}
	failed.Write(c.Env.Stdout, colors, "nothing failed in the last 24 hours")
	if len(found.Stopped) > 0 {
		c.Print("")
		stopped := ui.NewTable("STOPPED", "STATE", "BY")
		for _, known := range found.Stopped {
			stopped.Add(ui.Text(known.Name), jobtypes.State(known), ui.Text(known.PausedBy))
		}
		stopped.Write(c.Env.Stdout, colors, "")
	}
	if len(found.Workers) > 0 {
		c.Print("")
		unwell := ui.NewTable("WORKER", "STATE", "SINCE")
		for _, worker := range found.Workers {
			unwell.Add(ui.Text(worker.Registration.ID), workers.State(worker), ui.Text(ui.Ago(worker.Since, now)))
		}
		unwell.Write(c.Env.Stdout, colors, "")
	}
	for _, unknown := range found.Unknown {
		c.Complain("note: %s", unknown)
	}
}
