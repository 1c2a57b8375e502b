package main

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/bench/figure"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

const (
	sharedFleetSlots = 4
	sharedFleetJobs  = 200
	sharedFleetMS    = 50
	// occupiedMS is longer than each measured run next to it.
	occupiedMS = 120_000
)

// placementSharedFleet measures a group next to another one that fills half of the fleet with long jobs. The baseline is the
// same group pinned to the free half. The difference is the cost of the unknown occupation at the start.
func placementSharedFleet(ctx context.Context, b *bench) error {
	c, err := startCluster(ctx, b, 2, sharedFleetSlots)
	if err != nil {
		return err
	}
	defer c.stop()
	var beside, alone, replaced []float64
	for rep := range b.reps + 1 {
		base, err := c.sharedFleetGroup(ctx, "node-1")
		if err != nil {
			return err
		}
		vacate, err := c.occupy(ctx, "node-0")
		if err != nil {
			return err
		}
		group, err := c.sharedFleetGroup(ctx, "")
		vacate()
		if err != nil {
			return err
		}
		b.logf("placement_shared_fleet: %.2f s, %d jobs placed again; pinned to the free half %.2f s", group.seconds, group.replaced, base.seconds)
		if rep == 0 {
			continue // The first pair warms caches and pollers up.
		}
		beside, alone = append(beside, sharedFleetJobs/group.seconds), append(alone, sharedFleetJobs/base.seconds)
		replaced = append(replaced, float64(group.replaced))
	}
	return b.compared("placement_shared_fleet", sharedFleetJobs, "jobs/s", beside, alone, map[string]float64{"placed_again": figure.Round(figure.Median(replaced))})
}

type sharedRun struct {
	seconds  float64
	replaced int
}

func (c *cluster) sharedFleetGroup(ctx context.Context, node string) (sharedRun, error) {
	spec, err := sleepers("beside", sleeperParams{N: sharedFleetJobs, MS: sharedFleetMS, Node: node}, jobtype.Policy{
		GlobalExecutionConcurrency: 2 * sharedFleetSlots, PerWorkerExecutionConcurrency: sharedFleetSlots, MaxJobsPerDetection: sharedFleetJobs,
	})
	if err != nil {
		return sharedRun{}, err
	}
	var result contract.JobGroupResult
	done, err := c.timed(ctx, c.groupOptions("beside"), contract.JobGroupWorkflow, contract.JobGroupInput{Spec: spec}, &result)
	if err == nil && result.Counts.Completed != sharedFleetJobs {
		err = fmt.Errorf("%d of %d jobs completed: %s %+v", result.Counts.Completed, sharedFleetJobs, result.Reason, result.Counts)
	}
	return sharedRun{done.seconds, result.Counts.Replacements}, err
}

func (c *cluster) groupOptions(name string) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{ID: fmt.Sprintf("bench/%s-%d", name, time.Now().UnixNano()), TaskQueue: contract.ControlQueue}
}

// occupy fills the slots of a node and returns a function that frees them.
func (c *cluster) occupy(ctx context.Context, node string) (vacate func(), err error) {
	spec, err := sleepers("occupant", sleeperParams{N: sharedFleetSlots, MS: occupiedMS, Node: node}, jobtype.Policy{
		GlobalExecutionConcurrency: sharedFleetSlots, PerWorkerExecutionConcurrency: sharedFleetSlots, MaxJobsPerDetection: sharedFleetSlots,
		Interactive: true,
	})
	if err != nil {
		return nil, err
	}
	run, err := c.temporal.ExecuteWorkflow(ctx, c.groupOptions("occupant"), contract.JobGroupWorkflow, contract.JobGroupInput{Spec: spec})
	if err != nil {
		return nil, err
	}
	vacate = func() {
		_ = c.temporal.CancelWorkflow(ctx, run.GetID(), "")
		_ = run.Get(ctx, nil)
	}
	return vacate, c.awaitExecuting(ctx, node, sharedFleetSlots)
}

// awaitExecuting waits until the worker reports n running jobs.
func (c *cluster) awaitExecuting(ctx context.Context, node string, n int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		var report contract.WorkerReport
		answer, err := c.temporal.QueryWorkflow(ctx, contract.WorkerWorkflowID(node), "", contract.QueryReport)
		if err == nil && answer.Get(&report) == nil && report.Executing >= n {
			return nil
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return fmt.Errorf("%s runs %d of %d jobs after a minute: %w", node, report.Executing, n, err)
		}
	}
}
