// Package whole measures a group that has run to its end: its histories, their replay, and the lists of its jobs.
package whole

import (
	"context"
	"fmt"
	"os"
	"time"

	commonpb "go.temporal.io/api/common/v1"

	"github.com/roundsman/roundsman/bench/cputime"
	"github.com/roundsman/roundsman/bench/figure"
	"github.com/roundsman/roundsman/bench/histories"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite/replay"
)

// Figures returns those of a group of n jobs.
func Figures(ctx context.Context, client *starter.Client, workflow string, n int) (map[string]float64, error) {
	history, err := histories.Measure(ctx, client.Temporal(), workflow)
	if err != nil {
		return nil, err
	}
	jobs := float64(n)
	found := map[string]float64{
		"runs_of_the_workflow": history.Runs, "history_bytes_per_job": figure.Round(history.Bytes / jobs),
		"history_bytes_per_job_without_activities": figure.Round(history.OwnBytes / jobs), "history_events_per_job": figure.Round(history.Events / jobs),
		"longest_workflow_task_s": history.LongestTask.Seconds(), "longest_task_with_calls_s": history.LongestCall.Seconds(),
		"failed_workflow_tasks": history.FailedTasks,
	}
	if err := replays(ctx, client, history.Executions, found); err != nil {
		return nil, err
	}
	return found, lists(ctx, client.Runs(), workflow, n, found)
}

// replays replays all histories. This process does nothing else then, so its CPU time is theirs.
func replays(ctx context.Context, client *starter.Client, runs []*commonpb.WorkflowExecution, found map[string]float64) error {
	for _, run := range runs {
		history, err := replay.Fetch(ctx, client.Temporal(), run.GetWorkflowId(), run.GetRunId())
		if err != nil {
			return err
		}
		before, err := cputime.Seconds(os.Getpid())
		if err != nil {
			return err
		}
		tasks := &taskClock{}
		if err := replay.Play(history, tasks); err != nil {
			return err
		}
		after, err := cputime.Seconds(os.Getpid())
		if err != nil {
			return err
		}
		found["longest_replay_cpu_s"] = max(found["longest_replay_cpu_s"], figure.Round(after-before))
		found["longest_task_cpu_s"] = max(found["longest_task_cpu_s"], figure.Round(tasks.end()))
	}
	return nil
}

// lists measures how long parts of the list of jobs take.
func lists(ctx context.Context, runs starter.Runs, workflow string, n int, found map[string]float64) error {
	for name, filter := range map[string]starter.ItemFilter{
		"list_s":        {},
		"list_end_s":    {Offset: n - 200},
		"list_state_s":  {States: []string{contract.JobFailed}},
		"find_number_s": {ID: fmt.Sprintf("job-%05d", n/2)},
	} {
		began := time.Now()
		items, total, err := runs.Items(ctx, starter.RunRef{WorkflowID: workflow}, filter)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		found[name] = figure.Round(time.Since(began).Seconds())
		if want := map[string]int{"list_s": n, "list_end_s": n, "find_number_s": 1}[name]; total != want || (len(items) == 0) != (want == 0) {
			return fmt.Errorf("%s: %d of %d jobs, want %d", name, len(items), total, want)
		}
	}
	return nil
}
