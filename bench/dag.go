package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/bench/cputime"
	"github.com/roundsman/roundsman/bench/figure"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
)

const (
	dagLayers   = 10
	dagParallel = 100
)

// dagSizes are the graphs of dag_layers.
var dagSizes = []int{1_000, 10_000, 100_000} //nolint:gochecknoglobals // constant table

// layeredGraph returns n no-op tasks in ten layers, each with two dependencies in the previous layer: its neighbours, or
// random ones.
func layeredGraph(n int, random bool) (*dag.Graph, error) {
	source := rand.New(rand.NewPCG(1, uint64(n))) //nolint:gosec // the same graph every time
	wide := max(n/dagLayers, 1)
	tasks := make([]dag.Task, n)
	for i := range tasks {
		tasks[i] = dag.Task{ID: fmt.Sprintf("t%06d", i), Payload: []byte(`{"kind":"noop"}`)}
		if i < wide {
			continue
		}
		above := (i/wide - 1) * wide
		a, b := i%wide, (i+1)%wide
		if random {
			a, b = source.IntN(wide), source.IntN(wide)
		}
		tasks[i].Needs = []string{tasks[above+a].ID, tasks[above+b].ID}
	}
	return compiledGraph(fmt.Sprintf("layers-%d", n), dagParallel, tasks)
}

// chainGraph returns a chain of n tasks.
func chainGraph(n int) (*dag.Graph, error) {
	tasks := make([]dag.Task, n)
	for i := range tasks {
		tasks[i] = dag.Task{ID: fmt.Sprintf("t%06d", i), Payload: []byte(`{"kind":"noop"}`)}
		if i > 0 {
			tasks[i].Needs = []string{tasks[i-1].ID}
		}
	}
	return compiledGraph("chain", dagParallel, tasks)
}

func compiledGraph(name string, concurrency int, tasks []dag.Task) (*dag.Graph, error) {
	meta := fmt.Sprintf(`{"name":%q,"concurrency":%d,"on_failure":"continue"}`, name, concurrency)
	return dag.Build(dag.Input{Meta: []byte(meta), Tasks: tasks})
}

// dagBench is a server and one process per side, each with workflows and no-op activities, so that their costs are
// separate.
type dagBench struct {
	server   *testsuite.Server
	client   *starter.Client
	children map[string]*exec.Cmd
}

func startDAGBench(ctx context.Context, b *bench) (*dagBench, error) {
	server, err := b.launch()
	if err != nil {
		return nil, err
	}
	d := &dagBench{server: server, children: map[string]*exec.Cmd{}}
	if d.client, err = starter.Dial(ctx, starter.Options{Address: server.Address()}); err != nil {
		d.stop()
		return nil, err
	}
	for _, role := range []string{childDAG, childDAGBare} {
		if err := d.start(ctx, b, role); err != nil {
			d.stop()
			return nil, err
		}
	}
	return d, nil
}

func (d *dagBench) start(ctx context.Context, b *bench, role string) error {
	child, err := startSelf(ctx, b, "-child", role, "-id", role, "-address", d.server.Address())
	if err == nil {
		d.children[role] = child
	}
	return err
}

func (d *dagBench) stop() {
	for _, child := range d.children {
		_ = child.Process.Kill()
		_ = child.Wait()
	}
	if d.client != nil {
		d.client.Close()
	}
	d.server.Stop()
}

// dagRun is one measured run.
type dagRun struct {
	seconds, cpu float64
	ref          starter.RunRef
}

// measure measures the time of one run and the CPU time of the server and the side's process.
func (d *dagBench) measure(role string, do func() (starter.RunRef, error)) (dagRun, error) {
	runtime.GC()
	before, err := d.cpu(role)
	if err != nil {
		return dagRun{}, err
	}
	started := time.Now()
	ref, err := do()
	if err != nil {
		return dagRun{}, err
	}
	took := time.Since(started).Seconds()
	after, err := d.cpu(role)
	return dagRun{seconds: took, cpu: after - before, ref: ref}, err
}

func (d *dagBench) cpu(role string) (float64, error) {
	server, err := cputime.Seconds(d.server.PID())
	if err != nil {
		return 0, err
	}
	child, err := cputime.Seconds(d.children[role].Process.Pid)
	return server + child, err
}

func (d *dagBench) ours(ctx context.Context, graph *dag.Graph) (dagRun, error) {
	header, err := spec.HeaderOf(graph)
	if err != nil {
		return dagRun{}, err
	}
	return d.measure(childDAG, func() (starter.RunRef, error) {
		ref, err := d.client.DAGs().Run(ctx, &spec.Compiled{Header: header, Graph: graph}, starter.DAGOptions{})
		if err != nil {
			return ref, err
		}
		var result contract.DAGResult
		if err := d.client.Temporal().GetWorkflow(ctx, ref.WorkflowID, "").Get(ctx, &result); err != nil {
			return ref, err
		}
		if done := result.Counts["completed"]; done != graph.Len() {
			return ref, fmt.Errorf("%d of %d tasks succeeded: %v", done, graph.Len(), result.Counts)
		}
		return ref, nil
	})
}

func (d *dagBench) bare(ctx context.Context, n int) (dagRun, error) {
	return d.measure(childDAGBare, func() (starter.RunRef, error) {
		run, err := d.client.Temporal().ExecuteWorkflow(ctx, client.StartWorkflowOptions{
			ID: fmt.Sprintf("bench/independent-%d", time.Now().UnixNano()), TaskQueue: bareDAGQueue,
		}, bareIndependentWorkflow, independentInput{N: n, Parallel: dagParallel})
		if err != nil {
			return starter.RunRef{}, err
		}
		var done int
		if err := run.Get(ctx, &done); err == nil && done != n {
			return starter.RunRef{}, fmt.Errorf("%d of %d bare activities completed", done, n)
		}
		return starter.RunRef{WorkflowID: run.GetID(), RunID: run.GetRunID()}, err
	})
}

// peak returns the peak memory of a process in MB.
func (d *dagBench) peak(role string) (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", d.children[role].Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range bytes.SplitSeq(status, []byte("\n")) {
		if rest, ok := strings.CutPrefix(string(line), "VmHWM:"); ok {
			kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kb / 1024, err
		}
	}
	return 0, errors.New("the status of the process has no VmHWM")
}

// chainFacts holds the totals of the histories of all workflow runs of a run.
type chainFacts struct {
	runs, events, longest, failedTasks int
}

func (d *dagBench) facts(ctx context.Context, ref starter.RunRef) (chainFacts, error) {
	var facts chainFacts
	for id := ref.RunID; id != ""; {
		facts.runs++
		history := d.client.Temporal().GetWorkflowHistory(ctx, ref.WorkflowID, id, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		events := 0
		id = ""
		for history.HasNext() {
			event, err := history.Next()
			if err != nil {
				return facts, err
			}
			events++
			switch event.GetEventType() {
			case enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED, enumspb.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT:
				facts.failedTasks++
			case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
				id = event.GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId()
			}
		}
		facts.events += events
		facts.longest = max(facts.longest, events)
	}
	return facts, nil
}

// dagLayersBench compares runs of layered graphs with as many independent activities on the bare SDK.
func dagLayersBench(ctx context.Context, b *bench) error {
	for _, random := range []bool{false, true} {
		for _, n := range dagSizes {
			// Each size has its own processes, so that the peak of memory belongs to it.
			if err := b.compareDAG(ctx, n, random); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *bench) compareDAG(ctx context.Context, n int, random bool) error {
	graph, err := layeredGraph(n, random)
	if err != nil {
		return err
	}
	d, err := startDAGBench(ctx, b)
	if err != nil {
		return err
	}
	defer d.stop()
	reps := b.reps
	if n >= 100_000 {
		reps = min(reps, 3) // A pair takes minutes.
	}
	warm, err := layeredGraph(200, false)
	if err != nil {
		return err
	}
	if _, err := d.ours(ctx, warm); err != nil {
		return err
	}
	if _, err := d.bare(ctx, 200); err != nil {
		return err
	}
	var rate, bareRate, cpu, bareCPU []float64
	var last dagRun
	for range reps {
		base, err := d.bare(ctx, n)
		if err != nil {
			return err
		}
		if last, err = d.ours(ctx, graph); err != nil {
			return err
		}
		b.logf("dag_layers n=%d random=%t: %.2f s, %.2f CPU-s; bare %.2f s, %.2f CPU-s", n, random, last.seconds, last.cpu, base.seconds, base.cpu)
		rate, bareRate = append(rate, float64(n)/last.seconds), append(bareRate, float64(n)/base.seconds)
		cpu, bareCPU = append(cpu, last.cpu/float64(n)*1000), append(bareCPU, base.cpu/float64(n)*1000)
	}
	return b.reportDAG(ctx, d, n, random, last, rate, bareRate, cpu, bareCPU)
}

func (b *bench) reportDAG(ctx context.Context, d *dagBench, n int, random bool, last dagRun, rate, bareRate, cpu, bareCPU []float64) error {
	facts, err := d.facts(ctx, last.ref)
	if err != nil {
		return err
	}
	peak, err := d.peak(childDAG)
	if err != nil {
		return err
	}
	barePeak, err := d.peak(childDAGBare)
	if err != nil {
		return err
	}
	name := "dag_layers"
	if random {
		name = "dag_random"
	}
	if err := b.compared(name+"_rate", n, "tasks/s", rate, bareRate, map[string]float64{
		"events_per_task": figure.Round(float64(facts.events) / float64(n)), "workflow_runs": float64(facts.runs),
		"longest_history": float64(facts.longest), "failed_workflow_tasks": float64(facts.failedTasks),
		"worker_peak_mb": figure.Round(peak), "bare_worker_peak_mb": figure.Round(barePeak),
	}); err != nil {
		return err
	}
	return b.compared(name+"_cpu", n, "CPU-ms/task", cpu, bareCPU, nil)
}

// dagChainBench measures a step: the end of one task to the start of the next.
func dagChainBench(ctx context.Context, b *bench) error {
	const n = 100
	graph, err := chainGraph(n)
	if err != nil {
		return err
	}
	d, err := startDAGBench(ctx, b)
	if err != nil {
		return err
	}
	defer d.stop()
	if _, err := d.ours(ctx, graph); err != nil {
		return err
	}
	var p50s, p99s []float64
	for range b.reps {
		run, err := d.ours(ctx, graph)
		if err != nil {
			return err
		}
		steps, err := d.steps(ctx, run.ref)
		if err != nil {
			return err
		}
		p50s, p99s = append(p50s, figure.Percentile(steps, 0.5)), append(p99s, figure.Percentile(steps, 0.99))
	}
	return b.values("dag_chain_p50", n, "ms", p50s, map[string]float64{"p99": figure.Round(figure.Median(p99s))})
}

// steps returns the milliseconds between the scheduling of successive tasks.
func (d *dagBench) steps(ctx context.Context, ref starter.RunRef) ([]float64, error) {
	history := d.client.Temporal().GetWorkflowHistory(ctx, ref.WorkflowID, ref.RunID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	var steps []float64
	var before time.Time
	for history.HasNext() {
		event, err := history.Next()
		if err != nil {
			return nil, err
		}
		if event.GetEventType() != enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED {
			continue
		}
		at := event.GetEventTime().AsTime()
		if !before.IsZero() {
			steps = append(steps, float64(at.Sub(before).Microseconds())/1000)
		}
		before = at
	}
	return steps, nil
}
