package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"

	"github.com/roundsman/roundsman/bench/figure"
	"github.com/roundsman/roundsman/bench/surge"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// fleetSurge measures 200 workers in one process that start, are killed and start again at once.
func fleetSurge(ctx context.Context, b *bench) error {
	var online, started, noticed, restarted []float64
	for range b.reps {
		times, err := b.surgeOnce(ctx)
		if err != nil {
			return err
		}
		b.logf("fleet_surge: %+v", times)
		online, started = append(online, times.Online), append(started, times.Started)
		noticed, restarted = append(noticed, times.Noticed), append(restarted, times.Restarted)
	}
	if err := b.values("fleet_start", remoteWorkers, "s", online, map[string]float64{"beating_s": figure.Round(figure.Median(started))}); err != nil {
		return err
	}
	if err := b.values("fleet_kill", remoteWorkers, "s", noticed, nil); err != nil {
		return err
	}
	return b.values("fleet_restart", remoteWorkers, "s", restarted, nil)
}

func (b *bench) surgeOnce(ctx context.Context) (surge.Times, error) {
	c, err := startCluster(ctx, b, 0, 0)
	if err != nil {
		return surge.Times{}, err
	}
	defer c.stop()
	dir, err := os.MkdirTemp("", "roundsman-bench")
	if err != nil {
		return surge.Times{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	fleet := surge.Fleet{Temporal: c.temporal, Size: remoteWorkers, Spawn: func() (*exec.Cmd, error) {
		err := c.startRole(ctx, b, childNatives, dir)
		return c.newest(), err
	}}
	return fleet.Measure(ctx)
}

// dagSurge measures the slowest query of the registry while 40 jobs with DAGs begin at once.
func dagSurge(ctx context.Context, b *bench) error {
	c, err := startCluster(ctx, b, 1, 4)
	if err != nil {
		return err
	}
	defer c.stop()
	var longest, took []float64
	for range b.reps {
		run, err := c.begin(ctx, contract.JobTypeSpec{Name: "graphs", Handler: "graphs", Params: json.RawMessage("{}"), Policy: jobtype.Policy{
			GlobalExecutionConcurrency: surge.Proposals, PerWorkerExecutionConcurrency: surge.Proposals,
		}.WithDefaults()})
		if err != nil {
			return err
		}
		slowest, all, err := surge.Slowest(ctx, c.temporal, run)
		if err != nil {
			return err
		}
		b.logf("dag_surge: slowest query %.2f s, all in %.2f s", slowest, all)
		longest, took = append(longest, slowest), append(took, all)
	}
	return b.values("dag_surge", surge.Proposals, "s", longest, map[string]float64{"all_s": figure.Round(figure.Median(took))})
}
