package main

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/bench/bare"
	"github.com/roundsman/roundsman/bench/figure"
	"github.com/roundsman/roundsman/bench/histories"
	"github.com/roundsman/roundsman/contract"
	core "github.com/roundsman/roundsman/internal/engine/run"
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

// runSleepers runs a group of sleepers and checks that it completed all jobs.
func (c *cluster) runSleepers(ctx context.Context, spec contract.JobTypeSpec, n int) (finished, error) {
	options := client.StartWorkflowOptions{ID: fmt.Sprintf("bench/%s-%d", spec.Name, time.Now().UnixNano()), TaskQueue: contract.ControlQueue}
	var result contract.JobGroupResult
	done, err := c.timed(ctx, options, contract.JobGroupWorkflow, contract.JobGroupInput{Spec: spec}, &result)
	if err == nil && result.Counts.Completed != n {
		err = fmt.Errorf("%d of %d jobs completed: %s %+v", result.Counts.Completed, n, result.Reason, result.Counts)
	}
	return done, err
}

type placementRun struct {
	// seconds is the duration of the workflow. busy is the share of the slots in use in that time. busyInside is
	// the share between the first job's start and the last one's end.
	seconds, busy, busyInside float64
}

func (c *cluster) placementRun(ctx context.Context, workflow, activityType string, seconds float64) (placementRun, error) {
	span, err := histories.Span(ctx, c.temporal, workflow, activityType)
	const work = 100 * placementJobs * placementMS / 1000.0 / placementNodes / placementSlots
	return placementRun{seconds, work / seconds, work / span.Seconds()}, err
}

// placement keeps the slots of four workers busy with jobs of 50 ms. The bare SDK does the same twice: with an activity in
// flight per slot, and with as many more as Roundsman prefetches.
func placement(ctx context.Context, b *bench) error {
	c, err := startCluster(ctx, b, placementNodes, placementSlots)
	if err != nil {
		return err
	}
	defer c.stop()
	const parallel, most = placementNodes * placementSlots, placementNodes * (placementSlots + core.MaxAhead)
	spec, err := sleepers("placement", sleeperParams{N: placementJobs, MS: placementMS}, jobtype.Policy{
		GlobalExecutionConcurrency: most, PerWorkerExecutionConcurrency: most, MaxJobsPerDetection: placementJobs,
	})
	if err != nil {
		return err
	}
	bareIn := bare.Input{N: placementJobs, MS: placementMS}
	for i := range placementNodes {
		bareIn.Queues = append(bareIn.Queues, bare.NodeQueue(fmt.Sprintf("node-%d", i)))
	}
	runs := map[string][]placementRun{}
	for rep := range b.reps + 1 {
		for name, parallel := range map[string]int{"bare": parallel, "bare_ahead": most} {
			bareIn.Parallel = parallel
			done, err := c.runBareInput(ctx, bareIn)
			if err != nil {
				return err
			}
			if err := c.note(ctx, runs, name, done, bare.Activity); err != nil {
				return err
			}
		}
		done, err := c.runSleepers(ctx, spec, placementJobs)
		if err != nil {
			return err
		}
		if err := c.note(ctx, runs, "ours", done, contract.ExecuteActivity); err != nil {
			return err
		}
		b.logf("placement: %.2f s, bare %.2f s, bare with as many in flight %.2f s", runs["ours"][rep].seconds, runs["bare"][rep].seconds, runs["bare_ahead"][rep].seconds)
	}
	column := func(name string, of func(placementRun) float64) []float64 {
		var list []float64
		for _, run := range runs[name][1:] { // The first warms caches and pollers up.
			list = append(list, of(run))
		}
		return list
	}
	rate := func(run placementRun) float64 { return placementJobs / run.seconds }
	more := map[string]float64{"jobs_per_s_bare_ahead": figure.Round(figure.Median(column("bare_ahead", rate)))}
	for name, suffix := range map[string]string{"ours": "", "bare": "_bare", "bare_ahead": "_bare_ahead"} {
		more["slots_used_percent"+suffix] = figure.Round(figure.Median(column(name, func(run placementRun) float64 { return run.busy })))
		more["slots_used_percent_while_jobs_ran"+suffix] = figure.Round(figure.Median(column(name, func(run placementRun) float64 { return run.busyInside })))
	}
	return b.compared("placement", placementJobs, "jobs/s", column("ours", rate), column("bare", rate), more)
}

func (c *cluster) note(ctx context.Context, runs map[string][]placementRun, name string, done finished, activityType string) error {
	run, err := c.placementRun(ctx, done.workflow, activityType, done.seconds)
	runs[name] = append(runs[name], run)
	return err
}

// slotsSkewed compares a worker whose cap is shared by five queues, with all work on one, to a worker with that queue only.
func slotsSkewed(ctx context.Context, b *bench) error {
	c, err := startCluster(ctx, b, 0, skewedCap)
	if err != nil {
		return err
	}
	defer c.stop()
	for id, shared := range map[string]string{"single": "", "skewed": "t1,t2,t3,t4"} {
		if err := c.startChild(ctx, b, id, skewedCap, "-shared", shared); err != nil {
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
			done, err := c.runSleepers(ctx, spec, skewedJobs)
			if err != nil {
				return err
			}
			b.logf("slots_skewed: %s %.2f s", id, done.seconds)
			if rep > 0 {
				rates[id] = append(rates[id], skewedJobs/done.seconds)
			}
		}
	}
	return b.compared("slots_skewed", skewedJobs, "jobs/s", rates["skewed"], rates["single"], nil)
}
