package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/bench/cputime"
	"github.com/roundsman/roundsman/bench/figure"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/app"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
)

// childControl is the role of a child with the control plane.
const childControl = "control"

const (
	crowdSize  = 1000
	crowdBeat  = 5 * time.Second
	crowdWatch = time.Minute
)

// beControl runs the control plane as a process of its own until the parent ends.
func beControl(ctx context.Context, o options) error {
	ctx = underParent(ctx)
	dialed, err := starter.Dial(ctx, starter.Options{Address: o.address, Identity: "bench-control"})
	if err != nil {
		return err
	}
	defer dialed.Close()
	control, err := app.StartControl(ctx, app.ControlOptions{Client: dialed, Logger: testsuite.Quiet()})
	if err != nil {
		return err
	}
	<-ctx.Done()
	return control.Stop(context.WithoutCancel(ctx))
}

// registry1000 measures the cost of a registry of 1,000 healthy workers without changes. This process sends their
// heartbeats.
func registry1000(ctx context.Context, b *bench) error {
	server, err := b.launch()
	if err != nil {
		return err
	}
	c := &cluster{server: server}
	defer c.stop()
	if err := c.startRole(ctx, b, childControl, ""); err != nil {
		return err
	}
	temporal, err := server.Dial()
	if err != nil {
		return err
	}
	defer temporal.Close()
	c.temporal = temporal
	crowd := &testsuite.Crowd{Service: temporal.WorkflowService(), Size: crowdSize, Interval: crowdBeat}
	beating, stop := context.WithCancel(ctx)
	defer stop()
	go crowd.Run(beating)
	if err := registerCrowd(ctx, temporal); err != nil {
		return err
	}
	if err := c.awaitQuiet(ctx, b); err != nil {
		return err
	}
	return c.watchRegistry(ctx, b, c.newest().Process.Pid, crowd)
}

func (c *cluster) watchRegistry(ctx context.Context, b *bench, controlPID int, crowd *testsuite.Crowd) error {
	read := func() (events, control, server float64, err error) {
		events, err = c.historyLength(ctx, contract.FleetWorkflowID)
		if err == nil {
			control, err = cputime.Seconds(controlPID)
		}
		if err == nil {
			server, err = cputime.Seconds(c.server.PID())
		}
		return events, control, server, err
	}
	events, control, server, err := read()
	if err != nil {
		return err
	}
	began := time.Now()
	if err := pause(ctx, crowdWatch); err != nil {
		return err
	}
	laterEvents, laterControl, laterServer, err := read()
	if err != nil {
		return err
	}
	seconds := time.Since(began).Seconds()
	return b.values("registry_1000", crowdSize, "events/h", []float64{(laterEvents - events) * 3600 / seconds}, map[string]float64{
		"control_cpu_percent": figure.Round(100 * (laterControl - control) / seconds), "server_cpu_percent": figure.Round(100 * (laterServer - server) / seconds),
		"refused_beats": float64(crowd.Faults.Load()),
	})
}

// awaitQuiet waits until all workers are fresh and nothing has been written for 10 s.
func (c *cluster) awaitQuiet(ctx context.Context, b *bench) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	last, since := -1.0, time.Now()
	for {
		events, err := c.historyLength(ctx, contract.FleetWorkflowID)
		if err != nil {
			return err
		}
		fresh := c.fresh(ctx, func(w contract.WorkerView) bool { return w.State == contract.WorkerOnline })
		if events != last || fresh < crowdSize {
			last, since = events, time.Now()
		}
		if time.Since(since) > 10*time.Second {
			return nil
		}
		b.logf("registry_1000: %d fresh, %.0f events", fresh, events)
		if err := pause(ctx, 2*time.Second); err != nil {
			return fmt.Errorf("%d of %d workers are fresh: %w", fresh, crowdSize, err)
		}
	}
}

// senders is the number of goroutines that send registrations.
const senders = 8

func registerCrowd(ctx context.Context, temporal client.Client) error {
	faults := make([]error, senders)
	var all sync.WaitGroup
	for sender := range senders {
		all.Go(func() {
			for i := sender; i < crowdSize && faults[sender] == nil; i += senders {
				faults[sender] = registerOne(ctx, temporal, testsuite.CrowdID(i))
			}
		})
	}
	all.Wait()
	return errors.Join(faults...)
}

func registerOne(ctx context.Context, temporal client.Client, id string) error {
	start := temporal.NewWithStartWorkflowOperation(client.StartWorkflowOptions{
		ID: contract.FleetWorkflowID, TaskQueue: contract.ControlQueue, WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
	}, contract.FleetWorkflow, contract.FleetInput{})
	handle, err := temporal.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: start,
		UpdateOptions: client.UpdateWorkflowOptions{
			UpdateName: contract.UpdateRegisterWorker, WaitForStage: client.WorkflowUpdateStageCompleted,
			Args: []any{contract.WorkerRegistration{
				ID: id, Instance: "1", Host: "bench", PID: os.Getpid(), MaxDetect: 1, MaxExecute: 4,
				Capabilities: []contract.Capability{{Handler: "noop", Detect: true, Execute: true, Descriptor: &jobtype.Descriptor{Name: "noop"}}},
			}},
		},
	})
	if err != nil {
		return err
	}
	var verdict contract.RegisterWorkerResult
	if err := handle.Get(ctx, &verdict); err != nil {
		return err
	}
	if !verdict.Accepted {
		return fmt.Errorf("worker %s was refused", id)
	}
	return nil
}
