package workerview

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/duration"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

// Drain is the estimate of when a worker is free if drained now.
type (
	Drain = duration.Drain
	// DrainJob is the estimated end of one attempt.
	DrainJob = duration.DrainJob
)

type attempt struct {
	duration.Running

	jobType   string
	detection bool
}

type learned struct {
	limit, detectLimit time.Duration
	past               []time.Duration
}

// Viewers of a worker repeat the estimate every 2 s. Jobs of other runs count as unknown.
const mostAsked = 10

// drainOf uses the progress of jobs, the estimates of proposals and the records of job types.
func drainOf(ctx context.Context, client *starter.Client, shown ShownWorker) *Drain {
	if shown.State == contract.WorkerDeleted || shown.Report == nil && shown.Unanswered != "" {
		return nil
	}
	attempts, omitted := attemptsOn(shown)
	estimates, types := map[string]map[string]time.Duration{}, map[string]*learned{}
	for _, one := range attempts {
		estimates[one.WorkflowID], types[one.jobType] = map[string]time.Duration{}, &learned{}
	}
	var asking errgroup.Group
	asking.SetLimit(describers)
	for _, run := range busiest(attempts, func(one attempt) string { return one.WorkflowID }) {
		of := estimates[run]
		asking.Go(func() error {
			items, _, err := client.Runs().Items(ctx, starter.RunRef{WorkflowID: run}, starter.ItemFilter{States: []string{contract.JobRunning}, Limit: starter.All})
			for _, item := range items {
				of[item.ID] = item.EstimatedRuntime.Std()
			}
			return err
		})
	}
	for _, name := range busiest(attempts, func(one attempt) string { return one.jobType }) {
		of := types[name]
		asking.Go(func() error {
			var err error
			*of, err = learnedBy(ctx, client, name)
			return err
		})
	}
	if err := asking.Wait(); err != nil {
		client.Logger().Debug("estimate when a worker is free", "worker", shown.Registration.ID, "error", err)
	}
	running := make([]duration.Running, len(attempts))
	for i, one := range attempts {
		known := types[one.jobType]
		switch {
		case one.detection:
			one.Limit = known.detectLimit
		default:
			one.Estimated, one.Past = estimates[one.WorkflowID][one.JobID], known.past
			if known.limit > 0 {
				one.Limit = max(known.limit, min(one.Estimated, jobtype.MaxEstimatedRuntime.Std()))
			}
		}
		running[i] = one.Running
	}
	return new(duration.DrainOf(time.Now(), running, omitted))
}

func busiest(attempts []attempt, of func(attempt) string) []string {
	counts := map[string]int{}
	for _, one := range attempts {
		counts[of(one)]++
	}
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b))
	})
	return names[:min(len(names), mostAsked)]
}

func attemptsOn(shown ShownWorker) (attempts []attempt, omitted int) {
	if shown.Report == nil {
		for _, item := range shown.Items {
			percent := -1.0
			if item.Active != nil && item.Active.Progress != nil {
				percent = item.Active.Progress.Percent
			}
			one := duration.Running{JobID: item.ID, WorkflowID: item.Run.WorkflowID, StartedAt: item.StartedAt, Attempt: duration.Attempt{Percent: percent}}
			attempts = append(attempts, attempt{Running: one, jobType: starter.JobTypeOfRun(item.Run.WorkflowID)})
		}
		return attempts, 0
	}
	for _, job := range shown.Report.Jobs {
		one := duration.Running{JobID: job.JobID, WorkflowID: job.GroupID, StartedAt: job.StartedAt, Attempt: duration.Attempt{Percent: job.Percent}}
		switch job.State { //nolint:exhaustive // the others continue
		case contract.WorkerJobReporting:
			one.Percent = 100
		case contract.WorkerJobZombie:
			one.Percent, job.JobType = -1, "" // No past duration and no limit ends it.
		}
		attempts = append(attempts, attempt{one, job.JobType, job.Detection})
	}
	return attempts, shown.Report.Omitted
}

func learnedBy(ctx context.Context, client *starter.Client, name string) (learned, error) {
	if name == "" || strings.Contains(name, "/") {
		return learned{}, nil
	}
	known, err := jobtypes.Of(client).Get(ctx, name)
	if errors.Is(err, starter.ErrNotFound) {
		return learned{}, nil
	}
	if err != nil {
		return learned{}, fmt.Errorf("job type %s: %w", name, err)
	}
	of := learned{limit: known.Spec.Policy.ExecutionTimeout.Std(), detectLimit: known.Spec.Policy.DetectionTimeout.Std()}
	record, err := jobtypes.Of(client).Record(ctx, known)
	for _, ms := range record.TookMS {
		of.past = append(of.past, time.Duration(ms)*time.Millisecond)
	}
	return of, err
}
