package inspect

import (
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
)

type subject struct{ jobType, dag string }

func subjectOf(run starter.Run) subject {
	if run.JobType != "" {
		return subject{jobType: run.JobType}
	}
	return subject{dag: run.DAG}
}

const (
	maxQuestions = 4
	// lastCompleted bounds the completed runs searched for a run by schedule, which does the same work again.
	lastCompleted = 20
)

// stillFailed leaves out failed runs if a later run of their job type or DAG has completed.
func stillFailed(ctx context.Context, client *starter.Client, failed []starter.Run) (left []starter.Run, recovered int, err error) {
	var mu sync.Mutex
	completed := map[subject]starter.Run{}
	var asking errgroup.Group
	asking.SetLimit(maxQuestions)
	for _, of := range subjectsOf(failed) {
		asking.Go(func() error {
			last, err := client.Runs().List(ctx, starter.RunFilter{
				JobType: of.jobType, DAG: of.dag, Outcomes: []contract.Outcome{contract.OutcomeCompleted}, Limit: lastCompleted,
			})
			at := slices.IndexFunc(last, func(run starter.Run) bool { return run.AdHoc == "" })
			if err != nil || at < 0 {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			completed[of] = last[at]
			return nil
		})
	}
	err = asking.Wait()
	left = []starter.Run{}
	for _, run := range failed {
		if last, ok := completed[subjectOf(run)]; ok && run.AdHoc == "" && last.Started.After(run.Started) {
			recovered++
			continue
		}
		left = append(left, run)
	}
	return left, recovered, err
}

func subjectsOf(failed []starter.Run) []subject {
	var list []subject
	for _, run := range failed {
		if of := subjectOf(run); !slices.Contains(list, of) {
			list = append(list, of)
		}
	}
	return list
}
