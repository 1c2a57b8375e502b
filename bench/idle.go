package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// The idle cluster: 20 job types, each due every five minutes, that find
// nothing.
const (
	idleTypes        = 20
	idleTicksPerHour = idleTypes * 12
	idleGroups       = 40
	idleWatch        = 30 * time.Second
	// ticksPerSecond is the unit of /proc/<pid>/stat, USER_HZ, which is 100 on
	// every Linux that Go runs on.
	ticksPerSecond = 100
)

// idle measures what one group that finds nothing costs and what the server
// burns while nothing at all happens, and adds both up to an hour. It is an
// extrapolation, since an hour is too long to wait.
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
	before, err := cpuSeconds(c.server.PID())
	if err != nil {
		return err
	}
	select {
	case <-time.After(idleWatch):
	case <-ctx.Done():
		return ctx.Err()
	}
	after, err := cpuSeconds(c.server.PID())
	if err != nil {
		return err
	}
	fleetAfter, err := c.historyLength(ctx, contract.FleetWorkflowID)
	if err != nil {
		return err
	}
	resting := (after - before) / idleWatch.Seconds()
	var events []float64
	for range idleGroups {
		group, err := c.runGroup(ctx, jobtype.RoutingWorker, 0, 1)
		if err != nil {
			return err
		}
		events = append(events, group.events)
	}
	busy, err := cpuSeconds(c.server.PID())
	if err != nil {
		return err
	}
	perGroup := (busy - after) / idleGroups
	more := map[string]float64{
		"events_per_group": median(events), "cpu_ms_per_group": round(perGroup * 1000), "server_cpu_at_rest_percent": round(resting * 100),
		"fleet_events_in_30s": fleetAfter - fleetBefore,
	}
	if err := b.values("idle_events_per_hour", idleTypes, "events/h", []float64{median(events) * idleTicksPerHour}, more); err != nil {
		return err
	}
	return b.values("idle_server_cpu_per_hour", idleTypes, "CPU-s/h", []float64{resting*3600 + perGroup*idleTicksPerHour}, nil)
}

func (c *cluster) historyLength(ctx context.Context, workflowID string) (float64, error) {
	described, err := c.temporal.DescribeWorkflowExecution(ctx, workflowID, "")
	if err != nil {
		return 0, err
	}
	return float64(described.GetWorkflowExecutionInfo().GetHistoryLength()), nil
}

// cpuSeconds is the user and system time of a process so far.
func cpuSeconds(pid int) (float64, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The second field is the command in parentheses and may hold spaces.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const user, system = 11, 12
	if len(fields) <= system {
		return 0, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	var total float64
	for _, field := range [][]byte{fields[user], fields[system]} {
		ticks, err := strconv.ParseFloat(string(field), 64)
		if err != nil {
			return 0, err
		}
		total += ticks
	}
	return total / ticksPerSecond, nil
}
