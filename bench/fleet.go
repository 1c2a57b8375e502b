package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

const (
	killTimeout = 5 * time.Second
	killReps    = 20
	joinReps    = 10
)

// sleepers returns a job type of the sleeper.
func sleepers(name string, params sleeperParams, policy jobtype.Policy) (contract.JobTypeSpec, error) {
	encoded, err := json.Marshal(params)
	return contract.JobTypeSpec{Name: name, Handler: "sleeper", Params: encoded, Policy: policy.WithDefaults()}, err
}

// begin starts a group without waiting for it.
func (c *cluster) begin(ctx context.Context, spec contract.JobTypeSpec) (client.WorkflowRun, error) {
	return c.temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: fmt.Sprintf("bench/%s-%d", spec.Name, time.Now().UnixNano()), TaskQueue: contract.ControlQueue,
	}, contract.JobGroupWorkflow, contract.JobGroupInput{Spec: spec})
}

// newest returns the child started last.
func (c *cluster) newest() *exec.Cmd { return c.children[len(c.children)-1] }

// workerKill measures the time from kill -9 of a worker to the start of its job elsewhere.
func workerKill(ctx context.Context, b *bench) error {
	c, err := startCluster(ctx, b, 0, 1)
	if err != nil {
		return err
	}
	defer c.stop()
	dir, err := os.MkdirTemp("", "roundsman-bench")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	processes := map[string]*exec.Cmd{}
	join := func(id string) error {
		if err := c.startChild(ctx, b, id, 1); err != nil {
			return err
		}
		processes[id] = c.newest()
		return c.awaitFreshNamed(ctx, id)
	}
	if err := join("spare"); err != nil {
		return err
	}
	var took []float64
	for rep := range killReps {
		if err := join(fmt.Sprintf("next-%d", rep)); err != nil {
			return err
		}
		seconds, err := c.killOnce(ctx, processes, filepath.Join(dir, fmt.Sprint(rep)))
		if err != nil {
			return err
		}
		b.logf("worker_kill: %.2f s", seconds)
		took = append(took, seconds)
	}
	return b.values("worker_kill", 1, "s", took, map[string]float64{"heartbeat_timeout": killTimeout.Seconds()})
}

func (c *cluster) killOnce(ctx context.Context, processes map[string]*exec.Cmd, book string) (float64, error) {
	spec, err := sleepers("kill", sleeperParams{N: 1, MS: 120_000, Book: book}, jobtype.Policy{HeartbeatTimeout: jobtype.Duration(killTimeout)})
	if err != nil {
		return 0, err
	}
	run, err := c.begin(ctx, spec)
	if err != nil {
		return 0, err
	}
	first, err := awaitStart(ctx, book, func(started) bool { return true })
	if err != nil {
		return 0, err
	}
	// A random moment between two heartbeats.
	time.Sleep(time.Duration(time.Now().UnixNano() % int64(2*time.Second)))
	killed := time.Now()
	if err := processes[first.Worker].Process.Kill(); err != nil {
		return 0, err
	}
	_ = processes[first.Worker].Wait() // It was killed.
	second, err := awaitStart(ctx, book, func(s started) bool { return s.At.After(killed) && s.Worker != first.Worker })
	if err != nil {
		return 0, err
	}
	if err := c.temporal.CancelWorkflow(ctx, run.GetID(), run.GetRunID()); err != nil {
		return 0, err
	}
	// Its slot must be free for the next one.
	var canceled *temporal.CanceledError
	if err := run.Get(ctx, nil); err != nil && !errors.As(err, &canceled) {
		return 0, err
	}
	return second.At.Sub(killed).Seconds(), nil
}

// awaitFreshNamed waits until this worker is fresh.
func (c *cluster) awaitFreshNamed(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		if c.fresh(ctx, func(w contract.WorkerView) bool { return w.ID == id }) > 0 {
			return nil
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return fmt.Errorf("worker %s is not fresh: %w", id, err)
		}
	}
}

// join measures the time from the start of a worker's process to the first job of a running group on it.
func join(ctx context.Context, b *bench) error {
	c, err := startCluster(ctx, b, 1, 1)
	if err != nil {
		return err
	}
	defer c.stop()
	book := filepath.Join(os.TempDir(), fmt.Sprintf("roundsman-bench-join-%d", os.Getpid()))
	defer func() { _ = os.Remove(book) }()
	spec, err := sleepers("join", sleeperParams{N: 5000, MS: 200, Book: book}, jobtype.Policy{
		GlobalExecutionConcurrency: 100, PerWorkerExecutionConcurrency: 1, MaxJobsPerDetection: 5000,
	})
	if err != nil {
		return err
	}
	run, err := c.begin(ctx, spec)
	if err != nil {
		return err
	}
	var took []float64
	for rep := range joinReps {
		id, began := fmt.Sprintf("joining-%d", rep), time.Now()
		if err := c.startChild(ctx, b, id, 1); err != nil {
			return err
		}
		first, err := awaitStart(ctx, book, func(s started) bool { return s.Worker == id })
		if err != nil {
			return err
		}
		took = append(took, first.At.Sub(began).Seconds())
		b.logf("join: %.2f s", took[rep])
	}
	if err := c.temporal.CancelWorkflow(ctx, run.GetID(), run.GetRunID()); err != nil {
		return err
	}
	return b.values("join", 1, "s", took, nil)
}
