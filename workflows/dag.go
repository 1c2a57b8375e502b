package workflows

import (
	"errors"
	"fmt"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/flow"
	"github.com/roundsman/roundsman/workflows/entity"
)

// DAG is one run of a DAG. graph is what dag.Graph.Encode writes; state is empty
// for a new run, and what flow.Prepare or the workflow run before left for
// others. They are arguments of their own because bytes inside a JSON document
// would grow by a third.
//
// A completed run returns its result. A failed one fails with it as the detail
// of a DAGFailedError, a canceled one is Canceled with it as the detail, so that
// Temporal's own status tells the outcome.
func DAG(ctx workflow.Context, in contract.DAGInput, graph, state []byte) (contract.DAGResult, error) {
	r, err := newDAGRun(ctx, in)
	if err != nil {
		return contract.DAGResult{}, err
	}
	if err := r.open(graph, state); err != nil {
		return contract.DAGResult{}, err
	}
	for r.end == nil {
		if r.mayContinueAsNew() {
			// Messages that came in the meantime would be lost with this run, and
			// what they set off may be a reason to stay.
			r.collectMessages()
			if r.end == nil && r.mayContinueAsNew() {
				return contract.DAGResult{}, r.continueAsNew()
			}
			continue
		}
		r.link.flush()
		r.trail.Flush()
		r.arm()
		if err := workflow.Await(r.ctx, r.ready); err != nil {
			return contract.DAGResult{}, err
		}
		r.collect()
	}
	return r.finish()
}

// open reads graph and state, compiling the graph first where the run was given
// a source, and begins or goes on.
func (r *dagRun) open(graph, state []byte) error {
	if r.in.Source != "" && len(graph) == 0 {
		compiled, err := r.compile()
		if err != nil {
			return err
		}
		graph = compiled
	}
	decoded, err := dag.Decode(graph)
	if err != nil {
		return invalid("the graph cannot be read; start the run with the program that runs the control plane", err)
	}
	r.graph = graph
	now := workflow.Now(r.ctx)
	config := flow.Config{RollEvents: r.in.RollEvents, Deadline: r.in.Deadline.Std(), Node: r.in.Node, Labels: r.in.Labels, JobTypes: map[string]flow.JobType{}}
	//workflowcheck:ignore each goes to a place of its own
	for _, spec := range r.jobTypes {
		config.JobTypes[spec.Name] = flow.JobType{Handler: spec.Handler, Policy: spec.Policy, Bytes: startBytes(spec)}
	}
	if len(state) == 0 {
		run, err := flow.NewRun(decoded)
		if err == nil {
			r.flow, err = flow.New(run, config, now)
		}
		if err != nil {
			return invalid("the graph carries no usable spec", err)
		}
	} else if r.flow, err = flow.Restore(decoded, state, config, now); err != nil {
		return invalid("the run cannot go on from the state it was given", err)
	}
	r.name()
	if r.flow.Watching() {
		// Whether the subscription is still there nobody knows.
		r.renewAt = now.Add(renewal)
	}
	r.observe()
	if r.flow.Run().Started() {
		r.carryOutAll(r.flow.Tick(now))
	} else {
		r.carryOutAll(r.flow.Start(now))
	}
	r.describe(true)
	return nil
}

func invalid(what string, err error) error {
	return temporal.NewNonRetryableApplicationError(what+": "+err.Error(), contract.DAGInvalidError, err)
}

// compile has the source of a job's DAG made into a graph.
func (r *dagRun) compile() ([]byte, error) {
	name := r.in.SourceName
	if name == "" {
		name = r.in.Name
	}
	future := callCompileDAG(r.ctx, contract.CompileDAGInput{Name: name, Text: r.in.Source})
	if err := workflow.Await(r.ctx, func() bool { return future.IsReady() || r.canceled() }); err != nil {
		return nil, err
	}
	if !future.IsReady() {
		return nil, temporal.NewCanceledError()
	}
	var graph []byte
	err := future.Get(r.ctx, &graph)
	if refused, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return nil, temporal.NewNonRetryableApplicationError(refused.Message(), contract.DAGInvalidError, nil)
	}
	return graph, err
}

// mayContinueAsNew: nothing is in flight that would be lost. A lost probe is
// asked again; what is said to admission must have been delivered.
func (r *dagRun) mayContinueAsNew() bool {
	return r.backlog.empty() && r.watching == nil && r.link.idle() && !r.link.dirty && r.trail.Idle() && r.flow.ShouldContinueAsNew()
}

func (r *dagRun) continueAsNew() error {
	state, err := r.flow.Snapshot()
	if err != nil {
		return err
	}
	in := r.in
	in.DeclaredAt = r.link.base.DeclaredAt
	in.Carry = &contract.DAGCarry{Runs: r.runs + 1, FleetSeq: r.seen, JobTypes: r.jobTypes, Admission: r.link.state(), Audit: r.trail.State()}
	return workflow.NewContinueAsNewError(r.ctx, contract.DAGWorkflow, in, r.graph, state)
}

// finish gives back what tasks held and writes the result down.
func (r *dagRun) finish() (contract.DAGResult, error) {
	r.trail.Hurry()
	r.trail.Flush()
	if err := r.link.close(); err != nil {
		return contract.DAGResult{}, err
	}
	if err := r.trail.Settle(); err != nil {
		return contract.DAGResult{}, err
	}
	result, err := r.result()
	if err != nil {
		return result, err
	}
	outcome := temporal.NewSearchAttributeKeyKeyword(contract.SearchAttributeOutcome)
	if err := workflow.UpsertTypedSearchAttributes(r.ctx, outcome.ValueSet(string(result.Outcome))); err != nil {
		workflow.GetLogger(r.ctx).Error("The outcome cannot be made searchable.", "error", err)
	}
	r.describe(true)
	switch r.end.Outcome {
	case dag.OutcomeCanceled:
		return result, temporal.NewCanceledError(result)
	case dag.OutcomeFailed:
		return result, temporal.NewApplicationErrorWithOptions(r.failure(result), contract.DAGFailedError, temporal.ApplicationErrorOptions{
			NonRetryable: true, Details: []any{result},
		})
	case dag.OutcomeCompleted, dag.NoOutcome:
	}
	return result, nil
}

// failure says in one line why the run failed.
func (r *dagRun) failure(result contract.DAGResult) string {
	failed, _ := r.flow.Tasks(flow.Filter{States: []string{dag.Failed.String()}, Limit: 1})
	switch {
	case result.Reason != "":
		return fmt.Sprintf("DAG %s failed: %s", result.DAG, result.Reason)
	case len(failed) > 0:
		return fmt.Sprintf("DAG %s failed: %d of %d tasks, first %s: %s", result.DAG, result.Counts[dag.Failed.String()], r.flow.Run().Len(), failed[0].ID, failed[0].Error)
	}
	return fmt.Sprintf("DAG %s failed: tasks were canceled", result.DAG)
}

// detailsEvery is how many task ends pass at most between two texts for the Web
// UI, as a share of all tasks: the text is not worth building for each.
const detailsEvery = 100

// describe writes what the Web UI shows as the workflow's current details.
func (r *dagRun) describe(now bool) {
	run := r.flow.Run()
	done := run.Count(dag.Succeeded) + run.Count(dag.Failed) + run.Count(dag.UpstreamFailed) + run.Count(dag.Skipped) + run.Count(dag.Canceled)
	if !now && done < r.described+max(1, run.Len()/detailsEvery) {
		return
	}
	r.described = done
	text := fmt.Sprintf("**%s** · %d of %d tasks", r.phase(), done, run.Len())
	for _, s := range dag.States() {
		if n := run.Count(s); n > 0 {
			text += fmt.Sprintf(" · %d %s", n, s)
		}
	}
	if status := r.flow.Status(); status.Waiting != "" {
		text += "\n\n" + status.Waiting
	}
	workflow.SetCurrentDetails(r.ctx, text)
}

func (r *dagRun) result() (contract.DAGResult, error) {
	now := workflow.Now(r.ctx)
	info := workflow.GetInfo(r.ctx)
	result := contract.DAGResult{
		DAG: r.in.Name, WorkflowID: info.WorkflowExecution.ID, RunID: info.WorkflowExecution.RunID,
		Outcome: contract.Outcome(r.end.Outcome.String()), Reason: r.end.Reason, Counts: r.flow.Counts(),
		StartedAt: r.flow.StartedAt(), EndedAt: now, DurationMS: now.Sub(r.flow.StartedAt()).Milliseconds(),
	}
	final, err := r.flow.Snapshot()
	if err != nil {
		return result, err
	}
	result.Final = final
	if r.flow.Run().Len() <= contract.MaxResultTasks {
		views, _ := r.flow.Tasks(flow.Filter{Limit: contract.MaxResultTasks})
		result.Tasks = make(map[string]contract.DAGTask, len(views))
		for _, v := range views {
			result.Tasks[v.ID] = taskOf(v)
		}
	}
	return result, nil
}

func taskOf(v flow.TaskView) contract.DAGTask {
	return contract.DAGTask{State: v.State.String(), Attempts: v.Attempts, Worker: v.Worker, Error: v.Error, FromRun: v.From}
}

// arm makes sure that the flow is woken in time.
func (r *dagRun) arm() {
	wake := entity.Earlier(r.flow.NextWake(), r.renewAt)
	if len(r.link.waiting) > 0 {
		wake = entity.Earlier(wake, r.link.repeatAt)
	}
	if !r.backlog.empty() {
		wake = workflow.Now(r.ctx)
	}
	r.timers.SetBy(r.ctx, entity.Earlier(wake, r.trail.Wake()))
}
