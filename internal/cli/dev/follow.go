package dev

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/progress"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

const (
	// lookEvery is the interval at which `dev` looks for runs started by hand. The times of ticks are known.
	lookEvery = 5 * time.Second
	// othersEvery is how often runs of other origin are listed.
	othersEvery = time.Second
	showEvery   = 500 * time.Millisecond
	// afterTick gives the Schedule time to start its group.
	afterTick = 300 * time.Millisecond
)

// GroupReport is one group in the output of `dev --once --json`.
type GroupReport struct {
	JobType       string        `json:"job_type"`
	WorkflowID    string        `json:"workflow_id"`
	RunID         string        `json:"run_id"`
	Outcome       string        `json:"outcome"`
	Detected      int           `json:"detected"`
	Duplicates    int           `json:"duplicates"`
	AlreadyActive int           `json:"already_active"`
	Disabled      int           `json:"disabled"`
	Batched       int           `json:"batched"`
	Completed     int           `json:"completed"`
	Warning       int           `json:"warning"`
	Failed        int           `json:"failed"`
	Canceled      int           `json:"canceled"`
	Stale         int           `json:"stale"`
	Retries       int           `json:"retries"`
	DurationMS    int64         `json:"duration_ms"`
	Errors        []reportError `json:"errors"`
}

type reportError struct {
	DedupeKey string `json:"dedupe_key"`
	Message   string `json:"message"`
}

// A run without a result counts as failed.
func reportOf(snapshot starter.Snapshot) GroupReport {
	report := GroupReport{
		JobType: snapshot.JobType, WorkflowID: snapshot.WorkflowID, RunID: snapshot.RunID,
		Outcome: string(contract.OutcomeFailed), Errors: []reportError{},
	}
	if snapshot.Result == nil {
		report.DurationMS = snapshot.Ended.Sub(snapshot.Started).Milliseconds()
		report.Errors = append(report.Errors, reportError{Message: snapshot.Failure})
		return report
	}
	result := snapshot.Result
	report.Outcome, report.DurationMS = string(result.Outcome), result.DurationMS
	report.Detected, report.Duplicates, report.AlreadyActive = result.Counts.Detected, result.Counts.Duplicates, result.Counts.AlreadyActive
	report.Disabled, report.Warning = result.Counts.Disabled, result.Counts.Warning
	report.Completed, report.Failed, report.Canceled = result.Counts.Completed, result.Counts.Failed, result.Counts.Canceled
	report.Batched = result.Counts.Batched
	report.Stale, report.Retries = result.Counts.Stale, result.Counts.Retries
	for _, failed := range result.Errors {
		report.Errors = append(report.Errors, reportError{DedupeKey: failed.DedupeKey, Message: failed.Message})
	}
	if len(report.Errors) == 0 && result.Reason != "" && result.Outcome != contract.OutcomeCompleted {
		report.Errors = append(report.Errors, reportError{Message: result.Reason})
	}
	return report
}

type follower struct {
	client  *starter.Client
	display progress.Display
	open    map[string]starter.RunRef
	// ended, if not nil, receives each run that ended.
	ended func(starter.Snapshot)
}

// runAll starts every job type once, adopts groups that were open before, and waits for all of them.
func (f *follower) runAll(ctx context.Context, names []string) ([]GroupReport, error) {
	reports := make([]GroupReport, len(names))
	group, ctx := errgroup.WithContext(ctx)
	for i, name := range names {
		group.Go(func() error {
			ref, err := f.startOrAdopt(ctx, name)
			if err != nil {
				return err
			}
			last, err := f.watch(ctx, ref)
			reports[i] = reportOf(last)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return reports, nil
}

func (f *follower) startOrAdopt(ctx context.Context, name string) (starter.RunRef, error) {
	if ref, open := f.open[name]; open {
		f.display.Note(fmt.Sprintf("%s: %s was running already; waiting for it", name, ref.WorkflowID))
		return ref, nil
	}
	// A run that began since then is the first run of a new job type.
	started, err := jobtypes.Of(f.client).RunNow(ctx, name)
	return started.RunRef, err
}

func (f *follower) watch(ctx context.Context, ref starter.RunRef) (last starter.Snapshot, err error) {
	for snapshot, err := range f.client.Runs().Watch(ctx, ref, showEvery) {
		if err != nil {
			return last, err
		}
		last = snapshot
		f.display.Update(snapshot)
		if !snapshot.Open() && f.ended != nil && snapshot.Kind == starter.KindGroup {
			f.ended(snapshot)
		}
	}
	return last, nil
}

// followAll shows every new run until ctx ends. It runs job types of the configuration that never ran.
func (f *follower) followAll(ctx context.Context, names []string) {
	var group sync.WaitGroup
	for _, name := range names {
		group.Go(func() { f.follow(ctx, name) })
	}
	group.Go(func() { f.followOthers(ctx, names) })
	group.Wait()
}

// otherRuns bounds the runs of one list. Fewer start between two lists.
const otherRuns = 100

// Runs without a Schedule of the configuration are DAGs, submitted jobs, and job types applied later.
func (f *follower) followOthers(ctx context.Context, names []string) {
	var group sync.WaitGroup
	defer group.Wait()
	since, seen := time.Now(), map[string]bool{}
	for rpc.Wait(ctx, othersEvery) == nil {
		runs, err := f.client.Runs().List(ctx, starter.RunFilter{Since: since, Limit: otherRuns})
		if err != nil {
			continue // The next list has them.
		}
		for _, run := range slices.Backward(runs) {
			ofSchedule := run.Kind == starter.KindGroup && run.AdHoc == "" && slices.Contains(names, run.JobType)
			if seen[run.WorkflowID] || ofSchedule {
				continue
			}
			seen[run.WorkflowID] = true
			group.Go(func() {
				if _, err := f.watch(ctx, starter.RunRef{WorkflowID: run.WorkflowID}); err != nil && ctx.Err() == nil {
					f.display.Note(fmt.Sprintf("%s: %v", run.WorkflowID, err))
				}
			})
		}
	}
}

func (f *follower) follow(ctx context.Context, name string) {
	shown, next, err := f.begin(ctx, name)
	if err != nil && ctx.Err() == nil {
		f.display.Note(fmt.Sprintf("%s: %v", name, err))
	}
	for ctx.Err() == nil {
		if next != nil && next.WorkflowID != shown {
			shown = next.WorkflowID
			if _, err := f.watch(ctx, *next); err != nil && ctx.Err() == nil {
				f.display.Note(fmt.Sprintf("%s: %v", name, err))
			}
		}
		ticks, err := jobtypes.Of(f.client).Ticks(ctx, name)
		next = newest(ticks)
		if err != nil || next == nil || next.WorkflowID == shown {
			_ = rpc.Wait(ctx, nextLook(ticks, time.Now())) // The loop checks ctx.
		}
	}
}

// begin returns the run that needs no display because it had ended before, and the first run to show, if any.
func (f *follower) begin(ctx context.Context, name string) (shown string, first *starter.RunRef, err error) {
	if ref, open := f.open[name]; open {
		return "", &ref, nil
	}
	ticks, err := jobtypes.Of(f.client).Ticks(ctx, name)
	switch {
	case err != nil:
		return "", nil, err
	case ticks.Running != nil:
		return "", ticks.Running, nil
	case ticks.Runs == 0:
		started, err := jobtypes.Of(f.client).RunNow(ctx, name)
		return "", &started.RunRef, err
	case ticks.Last != nil:
		shown = ticks.Last.WorkflowID
	}
	return shown, nil, nil
}

func newest(ticks jobtypes.Ticks) *starter.RunRef { return cmp.Or(ticks.Running, ticks.Last) }

func nextLook(ticks jobtypes.Ticks, now time.Time) time.Duration {
	if ticks.Next.IsZero() {
		return lookEvery
	}
	return min(max(ticks.Next.Sub(now)+afterTick, afterTick), lookEvery)
}
