package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/bench/bare"
	"github.com/roundsman/roundsman/bench/figure"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

const (
	askerWorkflow = "bench.Asker"
	echoWorkflow  = "bench.Echo"
)

type askerInput struct {
	// To is the workflow that answers, Lane the requested lane.
	To, Lane string
	Trips    int
}

// asker requests its own lane repeatedly; each request returns the previous grant. It returns the milliseconds of each
// round trip.
func asker(ctx workflow.Context, in askerInput) ([]float64, error) {
	info := workflow.GetInfo(ctx)
	base := contract.AdmissionRequest{
		Holder:  contract.AdmissionHolder{WorkflowID: info.WorkflowExecution.ID, FirstRunID: info.FirstRunID},
		JobType: in.Lane,
	}
	answers := workflow.GetSignalChannel(ctx, contract.SignalAdmissionAnswer)
	var took []float64
	send := func(request contract.AdmissionRequest) error {
		return workflow.SignalExternalWorkflow(ctx, in.To, "", contract.SignalAdmissionRequest, request).Get(ctx, nil)
	}
	for trip := range in.Trips {
		request := base
		if trip > 0 {
			request.Release = []string{fmt.Sprint(trip - 1)}
		}
		request.Items = []contract.AdmissionItem{{ID: fmt.Sprint(trip), Lane: in.Lane}}
		started := workflow.Now(ctx)
		if err := send(request); err != nil {
			return nil, err
		}
		var answer contract.AdmissionAnswer
		answers.Receive(ctx, &answer)
		took = append(took, float64(workflow.Now(ctx).Sub(started).Microseconds())/1000)
	}
	base.ReleaseAll = true
	return took, send(base)
}

// echo answers every request at once without a decision.
func echo(ctx workflow.Context) error {
	requests := workflow.GetSignalChannel(ctx, contract.SignalAdmissionRequest)
	for {
		var request contract.AdmissionRequest
		requests.Receive(ctx, &request)
		answer := contract.AdmissionAnswer{Holder: request.Holder}
		workflow.SignalExternalWorkflow(ctx, request.Holder.WorkflowID, "", contract.SignalAdmissionAnswer, answer)
	}
}

// admissionBench compares admission with a workflow that answers at once.
func admissionBench(ctx context.Context, b *bench) error {
	c, err := startCluster(ctx, b, 1, 4)
	if err != nil {
		return err
	}
	defer c.stop()
	_, err = c.temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: contract.AdmissionWorkflowID, TaskQueue: contract.ControlQueue, WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
	}, contract.AdmissionWorkflow, contract.AdmissionInput{})
	if err != nil {
		return err
	}
	for askers, trips := range map[int]int{1: 60, 8: 20, 100: 4} {
		if err := b.compareTrips(ctx, c, askers, trips); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) compareTrips(ctx context.Context, c *cluster, askers, trips int) error {
	var ours, bare, p50s, p99s, worst, events []float64
	for rep := range b.reps + 1 {
		base, err := c.echoed(ctx, askers, trips)
		if err != nil {
			return err
		}
		before, run := c.length(ctx)
		rate, took, err := c.trips(ctx, contract.AdmissionWorkflowID, askers, trips)
		if err != nil {
			return err
		}
		after, same := c.length(ctx)
		b.logf("admission %d askers: %.0f/s, bare %.0f/s, p50 %.1f ms, worst %.0f ms", askers, rate, base, figure.Percentile(took, 0.5), figure.Percentile(took, 1))
		if rep == 0 {
			continue
		}
		ours, bare = append(ours, rate), append(bare, base)
		p50s, p99s, worst = append(p50s, figure.Percentile(took, 0.5)), append(p99s, figure.Percentile(took, 0.99)), append(worst, figure.Percentile(took, 1))
		if run == same {
			events = append(events, float64(after-before)/float64(askers*trips))
		}
	}
	return b.compared(fmt.Sprintf("admission_%d", askers), askers*trips, "grants/s", ours, bare, map[string]float64{
		"p50_ms": figure.Round(figure.Median(p50s)), "p99_ms": figure.Round(figure.Median(p99s)), "worst_ms": figure.Round(figure.Percentile(worst, 1)), "events_per_grant": figure.Round(figure.Median(events)),
	})
}

// echoed measures round trips to a new echo workflow. It never continues as new, and the server accepts 10,000 signals per
// run.
func (c *cluster) echoed(ctx context.Context, askers, trips int) (float64, error) {
	run, err := c.temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: fmt.Sprintf("bench/echo-%d", time.Now().UnixNano()), TaskQueue: bare.Queue,
	}, echoWorkflow)
	if err != nil {
		return 0, err
	}
	rate, _, err := c.trips(ctx, run.GetID(), askers, trips)
	return rate, errors.Join(err, c.temporal.TerminateWorkflow(ctx, run.GetID(), run.GetRunID(), "measured"))
}

// length returns the length of admission's history and the id of its run.
func (c *cluster) length(ctx context.Context) (int64, string) {
	described, err := c.temporal.DescribeWorkflowExecution(ctx, contract.AdmissionWorkflowID, "")
	if err != nil {
		return 0, ""
	}
	info := described.GetWorkflowExecutionInfo()
	return info.GetHistoryLength(), info.GetExecution().GetRunId()
}

// trips starts askers at once. It returns trips per second and the milliseconds of each trip.
func (c *cluster) trips(ctx context.Context, to string, askers, trips int) (float64, []float64, error) {
	started := time.Now()
	runs := make([]client.WorkflowRun, askers)
	for i := range runs {
		lane := fmt.Sprintf("lane-%d", i)
		run, err := c.temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
			ID: fmt.Sprintf("bench/asker-%d-%d", i, started.UnixNano()), TaskQueue: bare.Queue,
		}, askerWorkflow, askerInput{To: to, Lane: lane, Trips: trips})
		if err != nil {
			return 0, nil, err
		}
		runs[i] = run
	}
	var all []float64
	for _, run := range runs {
		var took []float64
		if err := run.Get(ctx, &took); err != nil {
			return 0, nil, err
		}
		all = append(all, took...)
	}
	return float64(len(all)) / time.Since(started).Seconds(), all, nil
}

// laneHandover measures the handover of a lane between twenty groups.
func laneHandover(ctx context.Context, b *bench) error {
	const groups = 20
	c, err := startCluster(ctx, b, 1, 4)
	if err != nil {
		return err
	}
	defer c.stop()
	var p50s, all []float64
	for rep := range b.reps + 1 {
		gaps, err := c.handovers(ctx, rep, groups)
		if err != nil {
			return err
		}
		if rep > 0 {
			p50s, all = append(p50s, figure.Percentile(gaps, 0.5)), append(all, gaps...)
		}
	}
	return b.values("lane_handover_p50", groups-1, "ms", p50s, map[string]float64{"p99": figure.Round(figure.Percentile(all, 0.99))})
}

// turn holds the start of a group's detection and the release of its lane.
type turn struct{ detected, released time.Time }

func (c *cluster) handovers(ctx context.Context, rep, groups int) ([]float64, error) {
	var runs []client.WorkflowRun
	for i := range groups {
		spec, err := groupSpec(jobtype.RoutingWorker, 0, 1)
		if err != nil {
			return nil, err
		}
		spec.Name, spec.Lane = fmt.Sprintf("type-%02d", i), "default"
		run, err := c.temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
			ID: fmt.Sprintf("bench/lane-%d-%d", rep, i), TaskQueue: contract.ControlQueue,
		}, contract.JobGroupWorkflow, contract.JobGroupInput{Spec: spec})
		if err != nil {
			return nil, err
		}
		runs = append(runs, run)
	}
	var turns []turn
	for _, run := range runs {
		if err := run.Get(ctx, nil); err != nil {
			return nil, err
		}
		one, err := c.turnOf(ctx, run)
		if err != nil {
			return nil, err
		}
		turns = append(turns, one)
	}
	slices.SortFunc(turns, func(a, b turn) int { return a.detected.Compare(b.detected) })
	var gaps []float64
	for i := 1; i < len(turns); i++ {
		gaps = append(gaps, float64(turns[i].detected.Sub(turns[i-1].released).Microseconds())/1000)
	}
	return gaps, nil
}

// turnOf reads a group's history: the start of its detection activity, and its last call of admission.
func (c *cluster) turnOf(ctx context.Context, run client.WorkflowRun) (turn, error) {
	var found turn
	scheduled := map[int64]bool{}
	events := c.temporal.GetWorkflowHistory(ctx, run.GetID(), run.GetRunID(), false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			return found, err
		}
		if a := event.GetActivityTaskScheduledEventAttributes(); a != nil && a.GetActivityType().GetName() == contract.DetectActivity {
			scheduled[event.GetEventId()] = true
		}
		if a := event.GetActivityTaskStartedEventAttributes(); a != nil && scheduled[a.GetScheduledEventId()] {
			found.detected = event.GetEventTime().AsTime()
		}
		if event.GetMarkerRecordedEventAttributes() != nil { // The release is the last call.
			found.released = event.GetEventTime().AsTime()
		}
	}
	if found.detected.IsZero() || found.released.IsZero() {
		return found, errors.New("a group has not detected or not released its lane")
	}
	return found, nil
}
