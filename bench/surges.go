package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/roundsman/roundsman/bench/surge"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// fleetSurge measures 200 workers in one process that start, are killed and start again
// at once.
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
	if err := b.values("fleet_start", remoteWorkers, "s", online, map[string]float64{"beating_s": round(median(started))}); err != nil {
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
		err := c.startRole(ctx, b, childNatives, c.server.Address(), dir)
		return c.newest(), err
	}}
	return fleet.Measure(ctx)
}

const (
	// dagProposals carry a graph of dagProposalBytes each.
	dagProposals     = 40
	dagProposalBytes = 700
)

// graphs is a handler of which each proposal carries a DAG.
type graphs struct{}

func (graphs) Descriptor() jobtype.Descriptor {
	return jobtype.Descriptor{Name: "graphs", Help: "Proposes DAGs of tasks that do nothing."}
}

func (graphs) Detect(ctx context.Context, _ jobtype.DetectInput, out jobtype.ProposalSink) error {
	for i := range dagProposals {
		dag := fmt.Sprintf("version: 1\nname: graph-%d\ntasks:\n  - {id: a, noop: true}\n  - {id: b, needs: [a], noop: true}\n", i)
		dag += "# " + strings.Repeat("x", dagProposalBytes-len(dag)-3) + "\n"
		if err := out.Emit(ctx, jobtype.Proposal{DedupeKey: fmt.Sprint(i), DAG: dag}); err != nil {
			return err
		}
	}
	return nil
}

func (graphs) Execute(context.Context, jobtype.Job, jobtype.Progress) (jobtype.Result, error) {
	return jobtype.Result{}, nil
}

// dagSurge measures the longest answer of the registry while 40 jobs that are DAGs begin
// at once.
func dagSurge(ctx context.Context, b *bench) error {
	c, err := startCluster(ctx, b, 1, 4)
	if err != nil {
		return err
	}
	defer c.stop()
	var longest, took []float64
	for range b.reps {
		run, err := c.begin(ctx, contract.JobTypeSpec{Name: "graphs", Handler: "graphs", Params: json.RawMessage("{}"), Policy: jobtype.Policy{
			GlobalExecutionConcurrency: dagProposals, PerWorkerExecutionConcurrency: dagProposals,
		}.WithDefaults()})
		if err != nil {
			return err
		}
		began, done := time.Now(), make(chan struct{})
		var result contract.JobGroupResult
		var failed error
		go func() {
			defer close(done)
			failed = run.Get(ctx, &result)
			took = append(took, time.Since(began).Seconds())
		}()
		seconds, err := surge.Longest(ctx, c.temporal, done)
		if <-done; err == nil {
			err = failed
		}
		if err != nil {
			return err
		}
		if result.Counts.Completed != dagProposals {
			return fmt.Errorf("%d of %d DAGs completed", result.Counts.Completed, dagProposals)
		}
		b.logf("dag_surge: longest answer %.2f s, all in %.2f s", seconds, took[len(took)-1])
		longest = append(longest, seconds)
	}
	return b.values("dag_surge", dagProposals, "s", longest, map[string]float64{"all_s": round(median(took))})
}
