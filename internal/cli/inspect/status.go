package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sync/errgroup"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/progress"
	"github.com/roundsman/roundsman/internal/cli/runs"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/calendar"
	"github.com/roundsman/roundsman/starter/explainer"
	"github.com/roundsman/roundsman/starter/holds"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

const (
	// dueWithin and failedWithin are how far status looks ahead and back.
	dueWithin    = time.Hour
	failedWithin = 24 * time.Hour
	// statusRuns bounds each list of runs.
	statusRuns   = 50
	flagInterval = "interval"
	// minInterval: a look is several requests to the server.
	minInterval = 100 * time.Millisecond
	// statusInterval is the interval of --watch.
	statusInterval = 2 * time.Second
	// clearScreen moves to the top of the terminal and clears all below.
	clearScreen = "\x1b[H\x1b[J"
)

type status struct {
	Running []runningRun `json:"running"`
	Due     []dueRun     `json:"due"`
	// Failed leaves out runs whose job type or DAG has completed since. Recovered counts them.
	Failed    []starter.Run           `json:"failed"`
	Recovered int                     `json:"recovered,omitempty"`
	Skipped   []skippedRuns           `json:"skipped"`
	Stopped   []jobtypes.JobType      `json:"stopped"`
	Workers   []contract.WorkerDetail `json:"workers"`
	// Untold lists the receivers whose last attempt failed and is repeated.
	Untold []contract.ReceiverView `json:"untold,omitempty"`
	// Needs are the states that wait for a person, as /needs of the API lists them.
	Needs []explain.Need `json:"needs"`
	// Since bounds the failed and the skipped runs. Holds and Changes by people are read for a hand-over.
	HandOver bool                  `json:"-"`
	Since    time.Time             `json:"since"`
	Holds    []holds.Hold          `json:"holds,omitempty"`
	Changes  []contract.AuditEntry `json:"changes,omitempty"`
	Unknown  []string              `json:"unknown,omitempty"`
	faults   []error
	jobTypes []jobtypes.JobType
}

type runningRun struct {
	starter.Run

	Progress string `json:"progress,omitempty"`
}

// dueRun is a tick within the next hour. Begins is the expected start, from [calendar.ForecastOf]. Waits is the cause
// of its delay: a lane, a window, the run before it, or an exhausted pool.
type dueRun struct {
	JobType string    `json:"job_type"`
	At      time.Time `json:"at"`
	Begins  time.Time `json:"begins_at,omitzero"`
	Waits   string    `json:"waits_for,omitempty"`
	Skipped string    `json:"skipped,omitempty"`
}

func (c *commands) statusCommand() *cli.Command {
	return &cli.Command{
		Name: "status", Usage: "problems with their remedies, open runs, next starts",
		Description: `It begins with the states that need a person, and the commands that help. Then it lists open runs with their
progress, the starts of the next hour with those that will be skipped, the runs of the last 24 hours that did
not complete or were skipped, with codes, other stopped job types, workers that take no work, and receivers
that fail. Checks that could not be made are named.
--since, for a hand-over, bounds the runs and adds all holds and the changes by people.

Examples:
  roundsman status
  roundsman status --since 8h
  roundsman status --watch
  roundsman status --output json | jq '.due[] | select(.skipped)'`,
		Flags: ui.With(
			&cli.StringFlag{Name: "since", Usage: "list events from `TIME` on, like 8h, with holds and changes"},
			&cli.BoolFlag{Name: ui.FlagWatch, Aliases: []string{"w"}, Hidden: true, Usage: "show it again and again, until interrupted"},
			&cli.DurationFlag{Name: flagInterval, Hidden: true, Usage: "with --watch: look every `DURATION`", Value: statusInterval},
		),
		Before: func(ctx *cli.Context) error {
			_, _, err := c.Period(ctx)
			if interval := ctx.Duration(flagInterval); interval < minInterval {
				err = errors.Join(ui.Usagef("--interval %s: must be at least %s", interval, minInterval), err)
			}
			return err
		},
		Action: c.Connected(c.status),
	}
}

func (c *commands) status(ctx *cli.Context, client *starter.Client) error {
	for {
		since, _, err := c.Period(ctx)
		if err != nil {
			return ui.Faulty(err)
		}
		now := c.Env.Now()
		handOver := !since.IsZero()
		if !handOver {
			since = now.Add(-failedWithin)
		}
		found := statusOf(ctx.Context, client, now, since)
		if handOver {
			found.HandOver = true
			found.handOver(ctx.Context, client)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case ui.WantsData(ctx) && ctx.Bool(ui.FlagWatch):
			if err := c.AnswerPart(ctx, found); err != nil {
				return err
			}
		case ui.WantsData(ctx):
			for _, fault := range found.faults {
				c.Note(fault)
			}
			return c.Answer(ctx, found)
		default:
			if ctx.Bool(ui.FlagWatch) && c.Env.Terminal {
				fmt.Fprint(c.Env.Stdout, clearScreen)
			}
			for _, fault := range found.faults {
				c.Note(fault)
			}
			c.printStatus(found, now)
		}
		if !ctx.Bool(ui.FlagWatch) {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx.Context)
		case <-time.After(ctx.Duration(flagInterval)):
		}
	}
}

// A failed request is noted and does not stop the others.
func statusOf(ctx context.Context, client *starter.Client, now, since time.Time) status {
	found := status{Since: since, Running: []runningRun{}, Due: []dueRun{}, Failed: []starter.Run{}, Stopped: []jobtypes.JobType{}, Workers: []contract.WorkerDetail{}, Needs: []explain.Need{}}
	var asking sync.WaitGroup
	var ahead calendar.Forecast
	faults := make([]error, 9)
	asking.Go(func() { found.Running, faults[0] = openRuns(ctx, client) })
	asking.Go(func() { found.Failed, found.Recovered, faults[1] = failedSince(ctx, client, since) })
	asking.Go(func() {
		if found.jobTypes, faults[2] = jobtypes.Of(client).List(ctx); faults[2] == nil {
			faults[3] = errors.Join(jobtypes.Of(client).AddHolds(ctx, found.jobTypes), jobtypes.Of(client).AddServed(ctx, found.jobTypes))
		}
	})
	asking.Go(func() {
		var all []contract.WorkerDetail
		all, faults[4] = client.Workers().List(ctx, contract.WorkersQueryInput{})
		for _, worker := range all {
			if worker.State != contract.WorkerOnline && worker.State != contract.WorkerDeleted || !worker.Fresh || worker.Trouble != nil {
				found.Workers = append(found.Workers, worker)
			}
		}
	})
	asking.Go(func() { ahead, faults[5] = calendar.ForecastOf(ctx, client, now, dueWithin) })
	asking.Go(func() { found.Untold, faults[6] = failingReceivers(ctx, client) })
	asking.Go(func() { found.Skipped, faults[7] = skippedSince(ctx, client, since) })
	asking.Go(func() { found.Needs, faults[8] = explainer.NeedsPerson(ctx, client) })
	asking.Wait()
	for _, err := range single(faults) {
		if !slices.Contains(found.Unknown, err.Error()) {
			found.Unknown, found.faults = append(found.Unknown, err.Error()), append(found.faults, err)
		}
	}
	for _, known := range found.jobTypes {
		if standing := known.Standing(); standing.Stopped || standing.State == explain.TypeNoWorker || known.HeldKeys > 0 {
			found.Stopped = append(found.Stopped, known)
		}
	}
	found.Due = dueOf(ahead.Ticks, found.jobTypes)
	addPools(ctx, client, found.Due, found.jobTypes)
	return found
}

func failedSince(ctx context.Context, client *starter.Client, since time.Time) (failed []starter.Run, recovered int, err error) {
	failed, err = client.Runs().List(ctx, starter.RunFilter{
		Outcomes: []contract.Outcome{contract.OutcomeFailed, contract.OutcomeTimeout, contract.OutcomePartial}, Since: since, Limit: statusRuns,
	})
	if err != nil {
		return nil, 0, err
	}
	return stillFailed(ctx, client, failed)
}

func single(faults []error) (all []error) {
	for _, err := range faults {
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			all = append(all, single(joined.Unwrap())...)
		} else if err != nil {
			all = append(all, err)
		}
	}
	return all
}

func failingReceivers(ctx context.Context, client *starter.Client) ([]contract.ReceiverView, error) {
	view, err := client.Notifications().View(ctx)
	if errors.Is(err, starter.ErrNotFound) {
		return nil, nil
	}
	return slices.DeleteFunc(view.Receivers, func(r contract.ReceiverView) bool { return r.FailingSince.IsZero() }), err
}

func openRuns(ctx context.Context, client *starter.Client) ([]runningRun, error) {
	listed, err := client.Runs().List(ctx, starter.RunFilter{Running: true, Limit: statusRuns})
	open := make([]runningRun, len(listed))
	var asking errgroup.Group
	asking.SetLimit(8)
	for i, run := range listed {
		open[i] = runningRun{Run: run}
		asking.Go(func() error {
			open[i].Progress, open[i].Pace = progressOf(ctx, client, run)
			return nil
		})
	}
	_ = asking.Wait() // A run without an answer has no progress to show.
	return open, err
}

func progressOf(ctx context.Context, client *starter.Client, run starter.Run) (string, *contract.Pace) {
	snapshot, err := client.Runs().Show(ctx, run.RunRef)
	if err != nil || snapshot.Phase == "" {
		return "", nil
	}
	waiting := snapshot.Waiting
	if waiting == "" && (snapshot.Progress.Running > len(snapshot.Active) || snapshot.Group != nil && snapshot.Group.Pending > 0) {
		waiting = waitInside(ctx, client, run)
	}
	return withWait(countsText(snapshot)+quietText(snapshot.Active), snapshot.Paused, waiting), snapshot.Pace
}

func countsText(snapshot starter.Snapshot) string {
	text := fmt.Sprintf("%s: %s, %d running", snapshot.Phase, cmp.Or(progress.Ended(snapshot), "0 of 0 ended"), snapshot.Progress.Running)
	if failed := snapshot.Progress.Failed; failed > 0 {
		text += fmt.Sprintf(", %d failed", failed)
	}
	return text
}

// waitInside returns the first wait of items without an activity: pending jobs, or a DAG inside the run.
func waitInside(ctx context.Context, client *starter.Client, run starter.Run) string {
	explained, err := explainer.Explain(ctx, client, run.WorkflowID)
	if err != nil || len(explained.Reasons) == 0 {
		return ""
	}
	first := explained.Reasons[0]
	return waitText(first, run.WorkflowID)
}

func waitText(reason explain.Reason, run string) string {
	text := string(reason.Code)
	if reason.Object != "" {
		text += "(" + reason.Object + ")"
	}
	return text + " of " + cmp.Or(reason.Of, run)
}

// quietFrom is the silence from which status counts a job as silent.
const quietFrom = 5 * time.Minute

func quietText(active []starter.ActiveItem) string {
	n, longest := 0, time.Duration(0)
	for _, job := range active {
		if quiet := job.Quiet.Std(); quiet >= quietFrom {
			n, longest = n+1, max(longest, quiet)
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", %d of them without output, CPU or I/O for %s", n, ui.Span(longest))
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

// dueOf returns the next tick of each job type. Paused job types are listed as stopped.
func dueOf(ticks []calendar.ForecastTick, types []jobtypes.JobType) []dueRun {
	due, known := []dueRun{}, map[string]bool{}
	for _, tick := range ticks {
		if known[tick.JobType] || tick.Code == contract.CodePaused {
			continue
		}
		known[tick.JobType] = true
		next := dueRun{JobType: tick.JobType, At: tick.At, Begins: tick.Begins}
		at := slices.IndexFunc(types, func(t jobtypes.JobType) bool { return t.Name == tick.JobType })
		switch {
		case at >= 0 && types[at].NoWorker:
			next.Skipped, next.Begins = types[at].Missing, time.Time{}
		case tick.State == contract.TickSkipped:
			next.Skipped, next.Begins = strings.TrimSpace(string(tick.Code)+" "+tick.Object), time.Time{}
		case tick.Waits > 0:
			next.Waits = strings.TrimSpace(string(tick.Code) + " " + tick.Object)
		}
		due = append(due, next)
	}
	return due
}

func (c *commands) printStatus(found status, now time.Time) {
	c.printNeeds(found.Needs, now)
	running := ui.NewTable("RUNNING", "SINCE", "PACE", "PROGRESS")
	for _, run := range found.Running {
		running.Add(ui.Text(run.WorkflowID), ui.Text(ui.Ago(run.Started, now)), runs.PaceCell(run.Pace), ui.Text(run.Progress))
	}
	c.PrintTable(running, "nothing runs")
	c.Print("")
	due := ui.NewTable("DUE", "AT", "BEGINS", "WAITS FOR", "SKIPPED BECAUSE")
	for _, tick := range found.Due {
		due.Add(ui.Text(tick.JobType), ui.Text(ui.Ago(tick.At, now)), ui.Text(ui.Ago(tick.Begins, now)), ui.Text(tick.Waits), ui.Cell{Text: tick.Skipped, Paint: ui.Odd})
	}
	c.PrintTable(due, "nothing is due in the next hour")
	c.Print("")
	failed := ui.NewTable("FAILED", "OUTCOME", "STARTED")
	for _, run := range found.Failed {
		failed.Add(ui.Text(run.WorkflowID), runs.StateCell(run.Standing), ui.Text(ui.Ago(run.Started, now)))
	}
	past := "the last " + ui.Span(now.Sub(found.Since))
	nothing := "nothing failed in " + past
	if found.Recovered > 0 {
		nothing = "nothing is failed: " + ui.Plural(found.Recovered, "failed run") + " of " + past + ", and a later one completed"
	}
	c.PrintTable(failed, nothing)
	c.printSkipped(found, now)
	c.printUnwell(withoutNeeds(found), now)
	c.printHandOver(found, now)
}
