package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

const (
	// sizeWarmup is the number of jobs before the measurement, so that detection, claims and the first starts are
	// over.
	sizeWarmup = 100
	// sizeMeasured bounds the measured jobs. Then the group is canceled.
	sizeMeasured = 1_500
	// sizeLook is the interval of progress queries.
	sizeLook = 500 * time.Millisecond
)

// groupSizes measures the cost of one job for the control plane in this process, with n waiting jobs in its group. The cost
// must not grow with n.
func groupSizes(ctx context.Context, b *bench) error {
	c, err := startCluster(ctx, b, fanoutNodes, fanoutSlots)
	if err != nil {
		return err
	}
	defer c.stop()
	for _, parallel := range []int{64, 4} {
		for _, n := range []int{1_000, 10_000, 60_000} {
			var control, server, rate []float64
			for range b.reps {
				cost, err := c.costInGroup(ctx, n, parallel)
				if err != nil {
					return err
				}
				b.logf("group of %d, %d at once: control plane %.2f ms, server %.2f ms per job, %.0f jobs/s", n, parallel, cost.control, cost.server, cost.rate)
				control, server, rate = append(control, cost.control), append(server, cost.server), append(rate, cost.rate)
			}
			more := map[string]float64{"server_ms_per_job": round(median(server)), "jobs_per_s": round(median(rate))}
			if err := b.values(fmt.Sprintf("group_control_plane_ms_per_job_%d_at_once", parallel), n, "ms/job", control, more); err != nil {
				return err
			}
		}
	}
	return nil
}

// jobCost holds the CPU milliseconds per job, and the jobs per second.
type jobCost struct{ control, server, rate float64 }

func (c *cluster) costInGroup(ctx context.Context, n, parallel int) (jobCost, error) {
	spec, err := groupSpec(jobtype.RoutingWorker, n, parallel)
	if err != nil {
		return jobCost{}, err
	}
	options := client.StartWorkflowOptions{ID: fmt.Sprintf("bench/size-%d", time.Now().UnixNano()), TaskQueue: contract.ControlQueue}
	run, err := c.temporal.ExecuteWorkflow(ctx, options, contract.JobGroupWorkflow, contract.JobGroupInput{Spec: spec})
	if err != nil {
		return jobCost{}, err
	}
	first, err := c.awaitCompleted(ctx, run, sizeWarmup)
	if err != nil {
		return jobCost{}, err
	}
	began, last := time.Now(), first
	used, err := c.spent(func() (err error) {
		last, err = c.awaitCompleted(ctx, run, min(first+sizeMeasured, n-parallel))
		return err
	})
	if err != nil {
		return jobCost{}, err
	}
	took := time.Since(began).Seconds()
	done := float64(last - first)
	if err := c.temporal.CancelWorkflow(ctx, run.GetID(), ""); err != nil {
		return jobCost{}, err
	}
	_ = run.Get(ctx, nil) // It was canceled, or has just ended.
	return jobCost{used.control * 1000 / done, used.server * 1000 / done, done / took}, ctx.Err()
}

// spent measures the CPU time used while do runs.
func (c *cluster) spent(do func() error) (cpu, error) {
	before, err := c.cpu()
	if err != nil {
		return cpu{}, err
	}
	if err := do(); err != nil {
		return cpu{}, err
	}
	after, err := c.cpu()
	return cpu{after.server - before.server, after.control - before.control}, err
}

// awaitCompleted waits until n jobs are completed and returns the number of completed jobs.
func (c *cluster) awaitCompleted(ctx context.Context, run client.WorkflowRun, n int) (int, error) {
	for {
		answer, err := c.temporal.QueryWorkflow(ctx, run.GetID(), "", contract.QueryStatus)
		if err != nil {
			return 0, err
		}
		var status contract.GroupStatus
		if err := answer.Get(&status); err != nil {
			return 0, err
		}
		switch {
		case status.Counts.Completed >= n:
			return status.Counts.Completed, nil
		case status.Phase == "ended":
			return 0, errors.New("the group has ended too soon: " + status.Waiting)
		}
		if err := pause(ctx, sizeLook); err != nil {
			return 0, err
		}
	}
}

// largestGroup runs the largest valid group with dedupe keys to its end.
func largestGroup(ctx context.Context, b *bench) error {
	return wholeGroup(ctx, b, jobtype.MaxKeyedJobs)
}

// millionGroup runs the largest valid group to its end.
func millionGroup(ctx context.Context, b *bench) error {
	return wholeGroup(ctx, b, jobtype.MaxJobsLimit)
}

func wholeGroup(ctx context.Context, b *bench, n int) error {
	c, err := startCluster(ctx, b, fanoutNodes, fanoutSlots)
	if err != nil {
		return err
	}
	defer c.stop()
	var group finished
	used, err := c.spent(func() (err error) {
		group, err = c.runGroup(ctx, jobtype.RoutingWorker, n, 64)
		return err
	})
	if err != nil {
		return err
	}
	return b.values("group_largest", n, "jobs/s", []float64{float64(n) / group.seconds}, map[string]float64{
		"control_plane_ms_per_job": round(used.control * 1000 / float64(n)), "seconds": round(group.seconds),
		"failed_workflow_tasks": float64(len(c.server.FailedTasks())), "history_bytes_per_job": round(group.bytes / float64(n)),
	})
}
