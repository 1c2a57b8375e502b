package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/bench/cputime"
	"github.com/roundsman/roundsman/bench/figure"
	"github.com/roundsman/roundsman/bench/noop"
	"github.com/roundsman/roundsman/bench/whole"
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
			more := map[string]float64{"server_ms_per_job": figure.Round(figure.Median(server)), "jobs_per_s": figure.Round(figure.Median(rate))}
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
	return cpu{after.server - before.server, after.control - before.control, after.workers - before.workers}, err
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

// keyedGroup runs a group with dedupe keys that are claimed in chunks, and before it one of 10,000, which claims its keys
// at once.
func keyedGroup(ctx context.Context, b *bench) error {
	sizes := []int{10_000, 60_000, 100_000, 200_000}
	if b.jobs > 0 {
		sizes = []int{10_000, b.jobs}
	}
	return wholeGroups(ctx, b, "group_keyed", noop.Params{}, sizes...)
}

// millionGroup runs the largest valid group to its end, and before it a group of 10,000: its costs must not be lower.
func millionGroup(ctx context.Context, b *bench) error {
	return wholeGroups(ctx, b, "group_million", noop.Params{Keyless: true}, 10_000, cmp.Or(b.jobs, jobtype.MaxJobsLimit))
}

func wholeGroups(ctx context.Context, b *bench, row string, params noop.Params, sizes ...int) error {
	c, err := startCluster(ctx, b, fanoutNodes, fanoutSlots)
	if err != nil {
		return err
	}
	defer c.stop()
	b.logf("server %s", c.server.Address())
	var smallest float64
	for _, params.N = range sizes {
		cost, err := c.wholeGroup(ctx, b, row, params, smallest)
		if err != nil {
			return err
		}
		smallest = cmp.Or(smallest, cost)
	}
	return nil
}

// wholeGroup returns the milliseconds of the control plane per job. Those of the smallest group are 0 for that group.
func (c *cluster) wholeGroup(ctx context.Context, b *bench, row string, params noop.Params, smallest float64) (float64, error) {
	spec, err := groupSpec(jobtype.RoutingWorker, params.N, 64)
	if err != nil {
		return 0, err
	}
	if spec.Params, err = json.Marshal(params); err != nil {
		return 0, err
	}
	debug.FreeOSMemory() // The peak of a group does not include the garbage of the one before.
	if err := cputime.ResetPeak(os.Getpid()); err != nil {
		return 0, err
	}
	var group finished
	used, err := c.spent(func() (err error) {
		group, err = c.runSpec(ctx, spec, params.N)
		return err
	})
	if err != nil {
		return 0, err
	}
	peak, err := cputime.PeakMB(os.Getpid())
	if err != nil {
		return 0, err
	}
	server, err := cputime.PeakMB(c.server.PID())
	if err != nil {
		return 0, err
	}
	more, err := whole.Figures(ctx, c.client, group.workflow, params.N)
	if err != nil {
		return 0, err
	}
	n := float64(params.N)
	cost := used.control * 1000 / n
	maps.Copy(more, map[string]float64{
		"control_plane_ms_per_job": figure.Round(cost), "server_ms_per_job": figure.Round(used.server * 1000 / n), "workers_ms_per_job": figure.Round(used.workers * 1000 / n),
		"control_plane_peak_mb": figure.Round(peak), "server_peak_mb": figure.Round(server), "seconds": figure.Round(group.seconds),
	})
	if smallest > 0 {
		more["cost_to_smallest"] = figure.Round(cost / smallest)
	}
	return cost, b.values(row, params.N, "jobs/s", []float64{n / group.seconds}, more)
}
