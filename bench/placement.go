package main

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

const (
	placementJobs  = 1000
	placementMS    = 50
	placementNodes = 4
	placementSlots = 4

	skewedJobs = 500
	skewedMS   = 20
	skewedCap  = 4
)

// runSleepers runs a group of sleepers and checks that it did all of them.
func (c *cluster) runSleepers(ctx context.Context, spec contract.JobTypeSpec, n int) (float64, error) {
	options := client.StartWorkflowOptions{ID: fmt.Sprintf("bench/%s-%d", spec.Name, time.Now().UnixNano()), TaskQueue: contract.ControlQueue}
	var result contract.JobGroupResult
	done, err := c.timed(ctx, options, contract.JobGroupWorkflow, contract.JobGroupInput{Spec: spec}, &result)
	if err == nil && result.Counts.Completed != n {
		err = fmt.Errorf("%d of %d jobs completed: %s %+v", result.Counts.Completed, n, result.Reason, result.Counts)
	}
	return done.seconds, err
}

// placement keeps the slots of four workers busy with jobs of 50 ms.
func placement(ctx context.Context, b *bench) error {
	c, err := startCluster(ctx, b, placementNodes, placementSlots)
	if err != nil {
		return err
	}
	defer c.stop()
	const parallel = placementNodes * placementSlots
	spec, err := sleepers("placement", sleeperParams{N: placementJobs, MS: placementMS}, jobtype.Policy{
		GlobalExecutionConcurrency: parallel, PerWorkerExecutionConcurrency: placementSlots, MaxJobsPerDetection: placementJobs,
	})
	if err != nil {
		return err
	}
	bareIn := bareInput{N: placementJobs, Parallel: parallel, MS: placementMS}
	for i := range placementNodes {
		bareIn.Queues = append(bareIn.Queues, bareNodeQueue(fmt.Sprintf("node-%d", i)))
	}
	var ours, bare, busy, bareBusy []float64
	for rep := range b.reps + 1 {
		base, err := c.runBareInput(ctx, bareIn)
		if err != nil {
			return err
		}
		group, err := c.runSleepers(ctx, spec, placementJobs)
		if err != nil {
			return err
		}
		b.logf("placement: %.2f s, bare %.2f s", group, base.seconds)
		if rep == 0 {
			continue // The first pair warms caches and pollers up.
		}
		const work = placementJobs * placementMS / 1000.0 / parallel
		ours, bare = append(ours, placementJobs/group), append(bare, placementJobs/base.seconds)
		busy, bareBusy = append(busy, 100*work/group), append(bareBusy, 100*work/base.seconds)
	}
	return b.compared("placement", placementJobs, "jobs/s", ours, bare, map[string]float64{
		"slots_used_percent": round(median(busy)), "slots_used_percent_bare": round(median(bareBusy)),
	})
}

// slotsSkewed compares a worker whose cap is shared by five queues, all work on
// one, with a worker that has that one queue.
func slotsSkewed(ctx context.Context, b *bench) error {
	c, err := startCluster(ctx, b, 0, skewedCap)
	if err != nil {
		return err
	}
	defer c.stop()
	for id, shared := range map[string]string{"single": "", "skewed": "t1,t2,t3,t4"} {
		if err := c.startChildWith(ctx, b, id, skewedCap, "-shared", shared); err != nil {
			return err
		}
	}
	if err := c.awaitWorkers(ctx, 2); err != nil {
		return err
	}
	rates := map[string][]float64{}
	for rep := range b.reps + 1 {
		for _, id := range []string{"single", "skewed"} {
			spec, err := sleepers("slots", sleeperParams{N: skewedJobs, MS: skewedMS, Node: id}, jobtype.Policy{
				GlobalExecutionConcurrency: skewedCap, PerWorkerExecutionConcurrency: skewedCap, MaxJobsPerDetection: skewedJobs,
			})
			if err != nil {
				return err
			}
			seconds, err := c.runSleepers(ctx, spec, skewedJobs)
			if err != nil {
				return err
			}
			b.logf("slots_skewed: %s %.2f s", id, seconds)
			if rep > 0 {
				rates[id] = append(rates[id], skewedJobs/seconds)
			}
		}
	}
	return b.compared("slots_skewed", skewedJobs, "jobs/s", rates["skewed"], rates["single"], nil)
}
