package starter

import (
	"context"
	"errors"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/run/graph"
)

// withResult adds what a closed run left behind.
func (d DAGs) withResult(ctx context.Context, snapshot DAGSnapshot) (DAGSnapshot, error) {
	var result contract.DAGResult
	err := d.client.temporal.GetWorkflow(ctx, snapshot.WorkflowID, snapshot.RunID).Get(ctx, &result)
	var (
		canceled    *temporal.CanceledError
		application *temporal.ApplicationError
		execution   *temporal.WorkflowExecutionError
	)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return DAGSnapshot{}, context.Cause(ctx)
	case errors.As(err, &canceled) && canceled.HasDetails() && canceled.Details(&result) == nil && result.Outcome != "":
	case errors.As(err, &application) && application.HasDetails() && application.Details(&result) == nil && result.Outcome != "":
	case errors.As(err, &execution):
		snapshot.Failure = errors.Unwrap(execution).Error()
		return snapshot, nil
	default:
		return DAGSnapshot{}, runError(snapshot.RunRef, err)
	}
	snapshot.Result, snapshot.Outcome, snapshot.DAG = &result, result.Outcome, result.DAG
	if result.Tasks == nil {
		if err := d.listTasks(ctx, snapshot.RunRef, &result); err != nil {
			return DAGSnapshot{}, err
		}
	}
	return snapshot, nil
}

// listTasks fills in the tasks of a run that is too large to carry them in its
// result. It needs no control plane.
func (d DAGs) listTasks(ctx context.Context, ref RunRef, result *contract.DAGResult) error {
	started, err := d.arguments(ctx, ref)
	if err != nil {
		return err
	}
	ended, err := graph.Read(started.graph, result.Final)
	if err != nil {
		return fmt.Errorf("read the tasks of %s: %w", ref.WorkflowID, err)
	}
	views, _ := ended.Tasks(graph.Filter{Limit: dag.MaxTasks})
	result.Tasks = make(map[string]contract.DAGTask, len(views))
	for _, v := range views {
		result.Tasks[v.ID] = contract.DAGTask{State: v.State.String(), Attempts: v.Attempts, Worker: v.Worker, Error: v.Error, FromRun: v.From}
	}
	return nil
}

// dagArguments are what a workflow run of a DAG was started with.
type dagArguments struct {
	input contract.DAGInput
	graph *dag.Graph
}

// arguments reads them from the first event of the history.
func (d DAGs) arguments(ctx context.Context, ref RunRef) (dagArguments, error) {
	var read dagArguments
	history := d.client.temporal.GetWorkflowHistory(ctx, ref.WorkflowID, ref.RunID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	event, err := history.Next()
	if err != nil {
		return read, runError(ref, err)
	}
	var encoded []byte
	payloads := event.GetWorkflowExecutionStartedEventAttributes().GetInput()
	if len(payloads.GetPayloads()) < 2 {
		return read, fmt.Errorf("DAG run %s was started without a graph", ref.WorkflowID)
	}
	payloads.Payloads = payloads.Payloads[:2]
	if err := DataConverter().FromPayloads(payloads, &read.input, &encoded); err != nil {
		return read, fmt.Errorf("the arguments of %s: %w", ref.WorkflowID, err)
	}
	if len(encoded) == 0 {
		read.graph, err = compileSource(read.input)
		return read, err
	}
	read.graph, err = dag.Decode(encoded)
	if err != nil {
		return read, fmt.Errorf("the graph of %s: %w", ref.WorkflowID, err)
	}
	return read, nil
}

// compileSource does what the control plane did for a run that a job started.
func compileSource(in contract.DAGInput) (*dag.Graph, error) {
	loaded, err := spec.Load(in.SourceName, []byte(in.Source))
	if err != nil {
		return nil, err
	}
	compiled, err := spec.Compile(loaded, nil)
	if err != nil {
		return nil, err
	}
	return compiled.Graph, nil
}

// DAGRetry says what to do again of a run that has ended.
type DAGRetry struct {
	// From names tasks to execute again with everything that depends on them,
	// beside those that failed or were blocked.
	From []string
	// Compiled is the spec as it is now; nil: the graph that the run had.
	Compiled *spec.Compiled
	// AcceptDiff allows Compiled to differ from the run's graph; what changed is
	// executed with everything that depends on it.
	AcceptDiff bool
	// Options of the new run. It has the deadline and the sizes of pools of the
	// earlier one where they say nothing.
	Options DAGOptions
}

// DAGRetried says what a resumed run took over and what it executes.
type DAGRetried struct {
	RunRef
	// Resumes is the earlier run.
	Resumes  string   `json:"resumes"`
	Imported int      `json:"imported"`
	Executed []string `json:"executed"`
	// Dropped are tasks that were added to the earlier run and have no place in
	// this one: they must be added again.
	Dropped []string `json:"dropped,omitempty"`
	Diff    dag.Diff `json:"diff,omitzero"`
}

// Retry starts a new run that goes on from one that has ended: it takes over
// what succeeded or was skipped, with the results that are still referred to,
// and executes what failed, was blocked, was canceled or never ran. The new
// run's tasks say which run produced them.
//
// A spec that differs from the run's is refused with a [*dag.DiffError] unless
// retry.AcceptDiff is set. An open run is refused: use RetryTasks.
func (d DAGs) Retry(ctx context.Context, ref RunRef, retry DAGRetry) (DAGRetried, error) {
	prior, input, err := d.ended(ctx, ref)
	if err != nil {
		return DAGRetried{}, err
	}
	next := prior.Run().Graph()
	if retry.Compiled != nil {
		next = retry.Compiled.Graph
	}
	header, err := spec.HeaderOf(next)
	if err != nil {
		return DAGRetried{}, err
	}
	state, plan, err := graph.Prepare(prior, next, dag.ResumeRequest{Run: ref.WorkflowID, From: retry.From, AcceptDiff: retry.AcceptDiff})
	if err != nil {
		return DAGRetried{}, fmt.Errorf("resume DAG run %s: %w", ref.WorkflowID, err)
	}
	retried := DAGRetried{Resumes: ref.WorkflowID, Imported: plan.Imported, Executed: plan.Executed, Dropped: plan.Dropped, Diff: plan.Diff}
	if len(plan.Executed) == 0 {
		return retried, fmt.Errorf("DAG run %s has nothing to execute again: everything succeeded; name tasks with --from TASK", ref.WorkflowID)
	}
	again := contract.DAGInput{Resumes: ref.WorkflowID, Node: input.Node, Labels: input.Labels}
	options := retry.Options
	if options.Deadline == 0 {
		options.Deadline = input.Deadline.Std()
	}
	if len(options.Resources) == 0 {
		options.Resources, again.DeclaredAt = input.Resources, input.DeclaredAt
	}
	retried.RunRef, err = d.start(ctx, next, header.Name, state, again, options)
	return retried, err
}

// ended is the last state of a run that is over, and what it was started with.
// A run that was terminated left no result: its workflow is asked, which needs a
// control plane.
func (d DAGs) ended(ctx context.Context, ref RunRef) (*graph.Graph, contract.DAGInput, error) {
	snapshot, err := d.describe(ctx, ref)
	if err != nil {
		return nil, contract.DAGInput{}, err
	}
	if snapshot.Open() {
		return nil, contract.DAGInput{}, fmt.Errorf("DAG run %s is still open: retry its tasks within the run, or cancel it first", ref.WorkflowID)
	}
	if snapshot, err = d.withResult(ctx, snapshot); err != nil {
		return nil, contract.DAGInput{}, err
	}
	var final []byte
	if snapshot.Result != nil {
		final = snapshot.Result.Final
	} else if err := d.client.query(ctx, snapshot.RunRef, contract.QueryFinal, &final); err != nil {
		return nil, contract.DAGInput{}, fmt.Errorf("DAG run %s left no result (%s), and its last state cannot be asked for: %w", ref.WorkflowID, snapshot.Failure, err)
	}
	started, err := d.arguments(ctx, snapshot.RunRef)
	if err != nil {
		return nil, contract.DAGInput{}, err
	}
	prior, err := graph.Read(started.graph, final)
	if err != nil {
		return nil, contract.DAGInput{}, fmt.Errorf("DAG run %s: %w", ref.WorkflowID, err)
	}
	if started.input.DeclaredAt.IsZero() {
		started.input.DeclaredAt = snapshot.Started
	}
	return prior, started.input, nil
}
