package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/bench/bare"
	"github.com/roundsman/roundsman/bench/figure"
	"github.com/roundsman/roundsman/bench/noop"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

const (
	fanoutJobs  = 1000
	fanoutNodes = 4
	fanoutSlots = 25
)

// groupSpec returns a job type with n no-op jobs, parallel of them in flight.
func groupSpec(routing jobtype.Routing, n, parallel int) (contract.JobTypeSpec, error) {
	params, err := json.Marshal(noop.Params{N: n})
	name := "noop-" + string(routing)
	return contract.JobTypeSpec{
		Name: name, Handler: "noop", Params: params,
		Policy: jobtype.Policy{
			GlobalExecutionConcurrency: parallel, PerWorkerExecutionConcurrency: parallel, MaxJobsPerDetection: n, Routing: routing, MaxRuntime: jobtype.Duration(24 * time.Hour),
		}.WithDefaults(),
	}, err
}

// finished is one measured run of a workflow.
type finished struct {
	seconds  float64
	events   float64
	bytes    float64
	workflow string
}

// runGroup runs a job group and checks that it completed all jobs.
func (c *cluster) runGroup(ctx context.Context, routing jobtype.Routing, n, parallel int) (finished, error) {
	return c.runGroupIn(ctx, "", routing, n, parallel)
}

// runGroupIn is runGroup in an exclusive lane; "" means none.
func (c *cluster) runGroupIn(ctx context.Context, lane string, routing jobtype.Routing, n, parallel int) (finished, error) {
	spec, err := groupSpec(routing, n, parallel)
	if err != nil {
		return finished{}, err
	}
	spec.Lane = lane
	return c.runSpec(ctx, spec, n)
}

func (c *cluster) runSpec(ctx context.Context, spec contract.JobTypeSpec, n int) (finished, error) {
	options := client.StartWorkflowOptions{
		ID: fmt.Sprintf("group/%s-%d", spec.Name, time.Now().UnixNano()), TaskQueue: contract.ControlQueue,
	}
	var result contract.JobGroupResult
	done, err := c.timed(ctx, options, contract.JobGroupWorkflow, contract.JobGroupInput{Spec: spec}, &result)
	if err == nil && result.Counts.Completed != n {
		err = fmt.Errorf("%d of %d jobs completed: %s %+v", result.Counts.Completed, n, result.Reason, result.Counts)
	}
	return done, err
}

func (c *cluster) runBare(ctx context.Context, n, parallel int, queues ...string) (finished, error) {
	return c.runBareInput(ctx, bare.Input{N: n, Parallel: parallel, Queues: queues})
}

func (c *cluster) runBareInput(ctx context.Context, in bare.Input) (finished, error) {
	options := client.StartWorkflowOptions{ID: fmt.Sprintf("bench/bare-%d", time.Now().UnixNano()), TaskQueue: bare.Queue}
	var count int
	done, err := c.timed(ctx, options, bare.Workflow, in, &count)
	if err == nil && count != in.N {
		err = fmt.Errorf("%d of %d bare activities completed", count, in.N)
	}
	return done, err
}

func (c *cluster) timed(ctx context.Context, options client.StartWorkflowOptions, workflowType string, in, out any) (finished, error) {
	started := time.Now()
	run, err := c.temporal.ExecuteWorkflow(ctx, options, workflowType, in)
	if err != nil {
		return finished{}, err
	}
	if err := run.Get(ctx, out); err != nil {
		return finished{}, err
	}
	took := time.Since(started).Seconds()
	described, err := c.temporal.DescribeWorkflowExecution(ctx, run.GetID(), run.GetRunID())
	if err != nil {
		return finished{}, err
	}
	info := described.GetWorkflowExecutionInfo()
	return finished{took, float64(info.GetHistoryLength()), float64(info.GetHistorySizeBytes()), run.GetID()}, nil
}

// fanout compares both routings with the bare SDK.
func fanout(ctx context.Context, b *bench) error {
	c, err := startCluster(ctx, b, fanoutNodes, fanoutSlots)
	if err != nil {
		return err
	}
	defer c.stop()
	var nodes []string
	for i := range fanoutNodes {
		nodes = append(nodes, bare.NodeQueue(fmt.Sprintf("node-%d", i)))
	}
	for routing, queues := range map[jobtype.Routing][]string{
		jobtype.RoutingWorker: nodes, jobtype.RoutingShared: {bare.SharedQueue},
	} {
		if err := b.compareFanout(ctx, c, routing, queues); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) compareFanout(ctx context.Context, c *cluster, routing jobtype.Routing, queues []string) error {
	const parallel = fanoutNodes * fanoutSlots
	var ours, bare, events, bareEvents []float64
	for rep := range b.reps + 1 {
		base, err := c.runBare(ctx, fanoutJobs, parallel, queues...)
		if err != nil {
			return err
		}
		group, err := c.runGroup(ctx, routing, fanoutJobs, parallel)
		if err != nil {
			return err
		}
		b.logf("fanout %s: %.2f s, bare %.2f s", routing, group.seconds, base.seconds)
		if rep == 0 {
			continue // The first pair warms caches and pollers up.
		}
		ours, bare = append(ours, fanoutJobs/group.seconds), append(bare, fanoutJobs/base.seconds)
		events, bareEvents = append(events, group.events/fanoutJobs), append(bareEvents, base.events/fanoutJobs)
	}
	return b.compared("fanout_"+string(routing), fanoutJobs, "jobs/s", ours, bare, map[string]float64{
		"events_per_job": figure.Round(figure.Median(events)), "events_per_job_bare": figure.Round(figure.Median(bareEvents)),
	})
}

// eventsPerJob measures the history events per job at several parallelisms.
func eventsPerJob(ctx context.Context, b *bench) error {
	c, err := startCluster(ctx, b, fanoutNodes, fanoutSlots)
	if err != nil {
		return err
	}
	defer c.stop()
	for _, parallel := range []int{1, 16, 100} {
		n := min(fanoutJobs, parallel*20)
		var events []float64
		for range b.reps {
			group, err := c.runGroup(ctx, jobtype.RoutingWorker, n, parallel)
			if err != nil {
				return err
			}
			events = append(events, group.events/float64(n))
		}
		if err := b.values(fmt.Sprintf("events_per_job_%d_in_flight", parallel), n, "events/job", events, nil); err != nil {
			return err
		}
	}
	return nil
}

// bytesPerJob measures the history bytes per job. One job type has no settings, the other has 1,100 bytes of
// params, execute and cluster blocks.
func bytesPerJob(ctx context.Context, b *bench) error {
	const each = 370
	c, err := startCluster(ctx, b, fanoutNodes, fanoutSlots)
	if err != nil {
		return err
	}
	defer c.stop()
	for _, name := range []string{"without", "with"} {
		var bytes, seconds []float64
		for range b.reps {
			spec, err := groupSpec(jobtype.RoutingWorker, fanoutJobs, fanoutNodes*fanoutSlots)
			if err != nil {
				return err
			}
			if name == "with" {
				filler := strings.Repeat("x", each)
				spec.Params = fmt.Appendf(nil, `{"n":%d,"filler":%q}`, fanoutJobs, filler)
				spec.Execute, spec.Cluster = fmt.Appendf(nil, `{"x":%q}`, filler), fmt.Appendf(nil, `{"x":%q}`, filler)
			}
			group, err := c.runSpec(ctx, spec, fanoutJobs)
			if err != nil {
				return err
			}
			bytes, seconds = append(bytes, group.bytes/fanoutJobs), append(seconds, group.seconds)
		}
		if err := b.values("history_bytes_per_job_"+name+"_settings", fanoutJobs, "bytes/job", bytes, map[string]float64{"seconds": figure.Round(figure.Median(seconds))}); err != nil {
			return err
		}
	}
	return nil
}
