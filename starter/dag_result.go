package starter

import (
	"cmp"
	"context"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/engine/run/dagrun"
)

type dagArguments struct {
	input contract.DAGInput
	graph *dag.Graph
}

// Graph returns the graph of a run at its start.
func (d DAGs) Graph(ctx context.Context, ref RunRef) (*dag.Graph, error) {
	read, err := d.arguments(ctx, ref)
	return read.graph, err
}

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

func compileSource(in contract.DAGInput) (*dag.Graph, error) {
	compiled, err := spec.CompileText(in.SourceName, in.Source, in.Files, in.Params)
	if err != nil {
		return nil, err
	}
	return compiled.Graph, nil
}

// DAGRetry configures the retry of a closed run.
type DAGRetry struct {
	// Tasks to execute again with all their dependants, in addition to failed and blocked ones.
	From []string
	// Current spec; nil means the run's own graph.
	Compiled *spec.Compiled
	// AcceptDiff allows another graph. Changed tasks are executed with all their dependants.
	AcceptDiff bool
	// Options of the new run. An empty deadline or pool size is copied from the earlier run.
	Options DAGOptions
}

// DAGRetried lists the tasks that a retry took over and executes.
type DAGRetried struct {
	RunRef
	Resumes  string   `json:"resumes"`
	Imported int      `json:"imported"`
	Executed []string `json:"executed"`
	// Added tasks that do not fit into this run and must be added again.
	Dropped []string `json:"dropped,omitempty"`
	Diff    dag.Diff `json:"diff,omitzero"`
}

// DAGRetryPreview lists the tasks that a retry would take over and execute.
type DAGRetryPreview struct {
	Resumes   string      `json:"resumes"`
	TakenOver []TakenOver `json:"taken_over"`
	Executed  []string    `json:"executed"`
	Dropped   []string    `json:"dropped,omitempty"`
	Diff      dag.Diff    `json:"diff,omitzero"`
}

// TakenOver is a task that a retry takes over, and the run that executed it.
type TakenOver struct {
	Task    string `json:"task"`
	FromRun string `json:"from_run"`
}

// Retry starts a new run that continues a closed run. It takes over succeeded and skipped tasks and executes the
// others. A spec that differs from the run's gives a [*dag.DiffError] unless retry.AcceptDiff is set. An open run is
// refused: use RetryTasks.
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
	options.Deadline = cmp.Or(options.Deadline, ready.input.Deadline.Std())
	if len(options.Resources) == 0 {
		options.Resources, again.DeclaredAt = ready.input.Resources, ready.input.DeclaredAt
	}
	retried.RunRef, err = d.start(ctx, ready.next, ready.name, ready.state, again, options)
	return retried, err
}

// PreviewRetry returns the effect of [DAGs.Retry] without starting a run.
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

// A terminated run left no result, so its workflow is queried, which needs a control plane.
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
			return nil, contract.DAGInput{}, fmt.Errorf("DAG run %s left no result (%s), and its last state cannot be read: %w", ref.WorkflowID, snapshot.Failure, err)
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
