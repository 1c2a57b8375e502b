package starter

import (
	"context"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/engine/run/dagrun"
)

// dagArguments are what a workflow run of a DAG was started with.
type dagArguments struct {
	input contract.DAGInput
	graph *dag.Graph
}

// Graph reads the graph that a run was started with.
func (d DAGs) Graph(ctx context.Context, ref RunRef) (*dag.Graph, error) {
	read, err := d.arguments(ctx, ref)
	return read.graph, err
}

// arguments reads them from the first event of the history.
func (d DAGs) arguments(ctx context.Context, ref RunRef) (dagArguments, error) {
	var read dagArguments
	var encoded []byte
	err := Runs(d).StartedWith(ctx, ref, &read.input, &encoded)
	if err != nil {
		return read, err
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
	compiled, err := spec.CompileText(in.SourceName, in.Source, in.Files, in.Params)
	if err != nil {
		return nil, err
	}
	return compiled.Graph, nil
}

// DAGRetry says what to do again of a run that has ended.
type DAGRetry struct {
	// From names tasks to execute again with everything that depends on them,
	// besides those that failed or were blocked.
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

// DAGRetryPreview says what a retry would take over, from which runs, and execute.
type DAGRetryPreview struct {
	Resumes   string      `json:"resumes"`
	TakenOver []TakenOver `json:"taken_over"`
	Executed  []string    `json:"executed"`
	Dropped   []string    `json:"dropped,omitempty"`
	Diff      dag.Diff    `json:"diff,omitzero"`
}

// TakenOver is a task that a retry would not execute, and the run that did.
type TakenOver struct {
	Task    string `json:"task"`
	FromRun string `json:"from_run"`
}

// Retry starts a new run that continues from one that has ended: it takes over
// what succeeded or was skipped, with the results that are still referred to,
// and executes what failed, was blocked, was canceled or never ran. The new
// run's tasks say which run produced them.
//
// A spec that differs from the run's is refused with a [*dag.DiffError] unless
// retry.AcceptDiff is set. An open run is refused: use RetryTasks.
func (d DAGs) Retry(ctx context.Context, ref RunRef, retry DAGRetry) (DAGRetried, error) {
	ready, err := d.prepareRetry(ctx, ref, retry)
	if err != nil {
		return DAGRetried{}, err
	}
	plan := ready.plan
	retried := DAGRetried{Resumes: ref.WorkflowID, Imported: len(plan.Imported), Executed: plan.Executed, Dropped: plan.Dropped, Diff: plan.Diff}
	if len(plan.Executed) == 0 {
		return retried, &RefusedError{Asked: "DAG run " + ref.WorkflowID + " has nothing to execute again", Reason: "everything succeeded; name tasks with --from TASK"}
	}
	again := contract.DAGInput{Resumes: ref.WorkflowID, Node: ready.input.Node, Labels: ready.input.Labels, ScheduledAt: ready.input.ScheduledAt}
	options := retry.Options
	if options.Deadline == 0 {
		options.Deadline = ready.input.Deadline.Std()
	}
	if len(options.Resources) == 0 {
		options.Resources, again.DeclaredAt = ready.input.Resources, ready.input.DeclaredAt
	}
	retried.RunRef, err = d.start(ctx, ready.next, ready.name, ready.state, again, options)
	return retried, err
}

// PreviewRetry says what [DAGs.Retry] would do, and does nothing.
func (d DAGs) PreviewRetry(ctx context.Context, ref RunRef, retry DAGRetry) (DAGRetryPreview, error) {
	ready, err := d.prepareRetry(ctx, ref, retry)
	if err != nil {
		return DAGRetryPreview{}, err
	}
	plan := ready.plan
	preview := DAGRetryPreview{Resumes: ref.WorkflowID, TakenOver: make([]TakenOver, len(plan.Imported)), Executed: plan.Executed, Dropped: plan.Dropped, Diff: plan.Diff}
	for i, taken := range plan.Imported {
		preview.TakenOver[i] = TakenOver{Task: taken.Task, FromRun: taken.From}
	}
	return preview, nil
}

// preparedRetry is a retry that has everything but its start.
type preparedRetry struct {
	name  string
	next  *dag.Graph
	state []byte
	input contract.DAGInput
	plan  dagrun.Plan
}

func (d DAGs) prepareRetry(ctx context.Context, ref RunRef, retry DAGRetry) (preparedRetry, error) {
	prior, input, err := d.ended(ctx, ref)
	if err != nil {
		return preparedRetry{}, err
	}
	ready := preparedRetry{next: prior.Run().Graph(), input: input}
	if retry.Compiled != nil {
		ready.next = retry.Compiled.Graph
	}
	header, err := spec.HeaderOf(ready.next)
	if err != nil {
		return ready, err
	}
	ready.name = header.Name
	ready.state, ready.plan, err = dagrun.Prepare(prior, ready.next, dag.ResumeRequest{Run: ref.WorkflowID, From: retry.From, AcceptDiff: retry.AcceptDiff})
	if err != nil {
		err = &RefusedError{Asked: "resume DAG run " + ref.WorkflowID, Reason: err.Error(), cause: err}
	}
	return ready, err
}

// ended is the last state of a run that is over, and what it was started with.
// A run that was terminated left no result: its workflow is asked, which needs a
// control plane.
func (d DAGs) ended(ctx context.Context, ref RunRef) (*dagrun.Graph, contract.DAGInput, error) {
	snapshot, err := d.client.Runs().Describe(ctx, ref)
	if err != nil {
		return nil, contract.DAGInput{}, err
	}
	if snapshot.Open() {
		return nil, contract.DAGInput{}, &RefusedError{Asked: "DAG run " + ref.WorkflowID + " is still open", Reason: "retry its tasks within the run, or cancel it first"}
	}
	if snapshot, err = d.client.Runs().withResult(ctx, snapshot); err != nil {
		return nil, contract.DAGInput{}, err
	}
	final := snapshot.final
	if final == nil {
		if final, err = query[[]byte](ctx, d.client, snapshot.RunRef, contract.QueryFinal); err != nil {
			return nil, contract.DAGInput{}, fmt.Errorf("DAG run %s left no result (%s), and its last state cannot be asked for: %w", ref.WorkflowID, snapshot.Failure, err)
		}
	}
	started, err := d.arguments(ctx, snapshot.RunRef)
	if err != nil {
		return nil, contract.DAGInput{}, err
	}
	prior, err := dagrun.Read(started.graph, final)
	if err != nil {
		return nil, contract.DAGInput{}, fmt.Errorf("DAG run %s: %w", ref.WorkflowID, err)
	}
	if started.input.ScheduledAt.IsZero() {
		started.input.ScheduledAt = snapshot.Started.UTC().Truncate(time.Second)
	}
	if started.input.DeclaredAt.IsZero() {
		started.input.DeclaredAt = snapshot.Started
	}
	return prior, started.input, nil
}

// StartedWith reads the first arguments of a run from the first event of its history.
func (r Runs) StartedWith(ctx context.Context, ref RunRef, into ...any) error {
	history := r.client.temporal.GetWorkflowHistory(ctx, ref.WorkflowID, ref.RunID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	event, err := history.Next()
	if err != nil {
		return runError(ref, err)
	}
	payloads := event.GetWorkflowExecutionStartedEventAttributes().GetInput()
	if len(payloads.GetPayloads()) < len(into) {
		return fmt.Errorf("run %s was started with fewer than %d arguments", ref.WorkflowID, len(into))
	}
	payloads.Payloads = payloads.Payloads[:len(into)]
	if err := DataConverter().FromPayloads(payloads, into...); err != nil {
		return fmt.Errorf("the arguments of %s: %w", ref.WorkflowID, err)
	}
	return nil
}
