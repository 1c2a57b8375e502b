package main

import (
	"context"
	"os"
	"time"

	"github.com/roundsman/roundsman/bench/cputime"
	"github.com/roundsman/roundsman/bench/figure"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// The idle cluster has 20 job types without findings, each due every five minutes.
const (
	idleTypes        = 20
	idleTicksPerHour = idleTypes * 12
	idleGroups       = 40
	idleWatch        = 30 * time.Second
)

// idle measures the cost of one group without findings and the idle CPU time of the server, and extrapolates both to an
// hour.
func idle(ctx context.Context, b *bench) error {
	c, err := startCluster(ctx, b, 2, 4)
	if err != nil {
		return err
	}
	defer c.stop()
	fleetBefore, err := c.historyLength(ctx, contract.FleetWorkflowID)
	if err != nil {
		return err
	}
	var worker float64
	used, err := c.spent(func() (err error) {
		worker, err = c.workerSpent(func() error { return pause(ctx, idleWatch) })
		return err
	})
	if err != nil {
		return err
	}
	fleetAfter, err := c.historyLength(ctx, contract.FleetWorkflowID)
	if err != nil {
		return err
	}
	resting := used.server / idleWatch.Seconds()
	open, err := c.emptyTicks(ctx, "")
	if err != nil {
		return err
	}
	exclusive, err := c.emptyTicks(ctx, "default")
	if err != nil {
		return err
	}
	more := map[string]float64{
		"server_cpu_at_rest_percent": figure.Round(resting * 100), "fleet_events_in_30s": fleetAfter - fleetBefore,
		"control_plane_cpu_ms_per_minute_at_rest": figure.Round(used.control * 1000 / idleWatch.Minutes()),
		"worker_cpu_ms_per_minute_at_rest":        figure.Round(worker * 1000 / idleWatch.Minutes()),
	}
	for name, tick := range map[string]emptyTick{"open": open, "exclusive": exclusive} {
		more["events_per_group_"+name], more["cpu_ms_per_group_"+name] = tick.events, figure.Round(tick.serverMS)
		more["control_plane_cpu_ms_per_group_"+name], more["ms_per_group_"+name] = figure.Round(tick.controlMS), figure.Round(tick.tookMS)
	}
	if err := b.values("idle_events_per_hour", idleTypes, "events/h", []float64{open.events * idleTicksPerHour}, more); err != nil {
		return err
	}
	return b.values("idle_server_cpu_per_hour", idleTypes, "CPU-s/h", []float64{resting*3600 + open.serverMS/1000*idleTicksPerHour}, nil)
}

// workerSpent measures the CPU time of the newest worker process while do runs. It includes two polling workers of the bare
// SDK.
func (c *cluster) workerSpent(do func() error) (float64, error) {
	before, err := cputime.Seconds(c.newest().Process.Pid)
	if err != nil {
		return 0, err
	}
	if err := do(); err != nil {
		return 0, err
	}
	after, err := cputime.Seconds(c.newest().Process.Pid)
	return after - before, err
}

// emptyTick is the cost of one group without findings: history events, CPU time of the server and of the control plane, and
// duration.
type emptyTick struct{ events, serverMS, controlMS, tookMS float64 }

// emptyTicks runs groups without findings one after the other. The first one, which starts admission, does not count.
func (c *cluster) emptyTicks(ctx context.Context, lane string) (emptyTick, error) {
	var events, took []float64
	var before cpu
	for n := range idleGroups + 1 {
		group, err := c.runGroupIn(ctx, lane, jobtype.RoutingWorker, 0, 1)
		if err != nil {
			return emptyTick{}, err
		}
		if n > 0 {
			events, took = append(events, group.events), append(took, group.seconds*1000)
			continue
		}
		if before, err = c.cpu(); err != nil {
			return emptyTick{}, err
		}
	}
	after, err := c.cpu()
	return emptyTick{figure.Median(events), (after.server - before.server) * 1000 / idleGroups, (after.control - before.control) * 1000 / idleGroups, figure.Median(took)}, err
}

// cpu is the CPU time in seconds of the server, of the control plane, which is this process, and of the worker processes.
type cpu struct{ server, control, workers float64 }

func (c *cluster) cpu() (used cpu, err error) {
	if used.server, err = cputime.Seconds(c.server.PID()); err == nil {
		used.control, err = cputime.Seconds(os.Getpid())
	}
	for _, child := range c.children {
		if one, gone := cputime.Seconds(child.Process.Pid); gone == nil {
			used.workers += one
		}
	}
	return used, err
}

func (c *cluster) historyLength(ctx context.Context, workflowID string) (float64, error) {
	described, err := c.temporal.DescribeWorkflowExecution(ctx, workflowID, "")
	if err != nil {
		return 0, err
	}
	return float64(described.GetWorkflowExecutionInfo().GetHistoryLength()), nil
}
