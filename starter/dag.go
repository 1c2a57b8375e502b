package starter

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/engine/ref"
	"github.com/roundsman/roundsman/jobtype"
)

// MaxDAGBytes bounds the compressed graph and state of a run: the server refuses messages over 2 MiB.
const MaxDAGBytes = 1536 << 10

// DAGs is the client for starts, retries, approvals and added tasks of DAGs; see also [Runs].
type DAGs struct{ client *Client }

// DAGs returns the client for operations of DAGs only.
func (c *Client) DAGs() DAGs { return DAGs{c} }

// DAGOptions configure one run of a DAG. All are optional.
type DAGOptions struct {
	// Name of the run within the DAG. Default: the time and a random part.
	Run string
	By  string
	// Deadline bounds the run in addition to the deadline of the spec.
	Deadline time.Duration
	// Configured pool sizes. An undeclared pool has size 1. An operator's resize takes precedence.
	Resources map[string]int
	// RollEvents is contract.DAGInput.RollEvents.
	RollEvents int
}

// DAGTooLargeError refuses a DAG that exceeds [MaxDAGBytes].
type DAGTooLargeError struct {
	Name  string
	Tasks int
	Bytes int
}

// Error implements error.
func (e *DAGTooLargeError) Error() string {
	return fmt.Sprintf("DAG %s (%d tasks) has %d bytes compressed, the limit is %d: split it into sub-DAGs (`dag: FILE`), "+
		"or use for_each, which stores a definition once", e.Name, e.Tasks, e.Bytes, MaxDAGBytes)
}

// Run starts a run of a compiled spec and returns at once. An existing run gives a [*DAGExistsError], a graph that is
// too large a [*DAGTooLargeError].
func (d DAGs) Run(ctx context.Context, compiled *spec.Compiled, options DAGOptions) (RunRef, error) {
	return d.start(ctx, compiled.Graph, compiled.Header.Name, nil, contract.DAGInput{}, options)
}

func (d DAGs) start(ctx context.Context, graph *dag.Graph, name string, state []byte, input contract.DAGInput, options DAGOptions) (RunRef, error) {
	encoded, hash := graph.Encode(), graph.Hash()
	input.Name, input.Hash, input.By = name, hex.EncodeToString(hash[:]), options.By
	input.Resources = options.Resources
	input.Deadline, input.RollEvents = jobtype.Duration(options.Deadline), options.RollEvents
	if err := checkTravels(name, graph.Len(), input, encoded, state); err != nil {
		return RunRef{}, err
	}
	request, _ := RequestOf(ctx)
	unique := cmp.Or(options.Run, request.ID, uniqueRun())
	if err := CheckRunName(unique); err != nil {
		return RunRef{}, err
	}
	id := contract.DAGWorkflowID(name, unique)
	run, err := d.client.temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: id, TaskQueue: contract.ControlQueue,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		WorkflowIDReusePolicy:                    enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		StaticSummary:                            fmt.Sprintf("DAG %s, %d tasks", name, graph.Len()),
		StaticDetails:                            detailsOfDAG(id, input),
		Memo:                                     memoOf(request, input.Resumes),
	}, contract.DAGWorkflow, input, encoded, state)
	started := RunRef{WorkflowID: id}
	if _, exists := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); exists {
		started.RunID, err = d.sameRequest(ctx, id, request)
	} else if err != nil {
		err = fmt.Errorf("start DAG %s: %w", name, err)
	} else {
		started.RunID = run.GetRunID()
	}
	if err != nil {
		return RunRef{}, err
	}
	entry := contract.AuditEntry{Action: "dag.run", JobType: name, Object: id}
	if input.Resumes != "" {
		entry.Action, entry.Before = "dag.retry", input.Resumes
	}
	d.client.Audit().Record(ctx, entry)
	return started, nil
}

const requestMemo = "roundsman_request"

func memoOf(request Request, resumes string) map[string]any {
	memo := map[string]any{}
	if request.ID != "" {
		memo[requestMemo] = request.ID
	}
	if resumes != "" {
		memo[contract.MemoResumes] = resumes
	}
	return memo
}

// sameRequest returns the workflow run that an earlier attempt of this request has started. The attempt may have been
// killed before it recorded the start.
func (d DAGs) sameRequest(ctx context.Context, id string, request Request) (runID string, err error) {
	if request.ID == "" {
		return "", &DAGExistsError{WorkflowID: id}
	}
	described, err := d.client.temporal.DescribeWorkflowExecution(ctx, id, "")
	if err != nil {
		return "", runError(RunRef{WorkflowID: id}, err)
	}
	info, by := described.GetWorkflowExecutionInfo(), ""
	if payload := info.GetMemo().GetFields()[requestMemo]; payload != nil {
		err = DataConverter().FromPayload(payload, &by)
	}
	if err != nil || by != request.ID {
		return "", &DAGExistsError{WorkflowID: id}
	}
	return info.GetExecution().GetRunId(), nil
}

func detailsOfDAG(id string, input contract.DAGInput) string {
	text := fmt.Sprintf("DAG `%s`", input.Name)
	if input.By != "" {
		text += ", started by " + input.By
	}
	if input.Deadline > 0 {
		text += ", ends at the latest after " + input.Deadline.String()
	}
	if input.Resumes != "" {
		text += fmt.Sprintf("\n\nGoes on where `%s` ended", input.Resumes)
	}
	return text + fmt.Sprintf("\n\n`roundsman show %s` lists its tasks, `roundsman explain %s` has the reason of a wait, "+
		"`roundsman --help` lists the commands", id, id)
}

func checkTravels(name string, tasks int, arguments ...any) error {
	payloads, err := DataConverter().ToPayloads(arguments...)
	if err != nil {
		return fmt.Errorf("DAG %s: %w", name, err)
	}
	size := 0
	for _, payload := range payloads.GetPayloads() {
		size += len(payload.GetData())
	}
	if size > MaxDAGBytes {
		return &DAGTooLargeError{Name: name, Tasks: tasks, Bytes: size}
	}
	return nil
}

func uniqueRun() string {
	var random [3]byte
	_, _ = rand.Read(random[:]) // It never fails: see its documentation.
	return time.Now().UTC().Format("20060102T150405") + "-" + hex.EncodeToString(random[:])
}

const maxRunName = 100

// CheckRunName checks a name, which becomes part of a workflow id and of command lines.
func CheckRunName(run string) error {
	odd := func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && !strings.ContainsRune("._-", r)
	}
	if run == "" || len(run) > maxRunName || strings.ContainsFunc(run, odd) {
		return fmt.Errorf("run name %.120q: use 1 to %d letters, digits, dots, dashes and underscores", run, maxRunName)
	}
	if ref.Reserved(run) {
		return fmt.Errorf("run name %s: NAME@%s means another run, choose a name that is no time and not open, last or bad", run, run)
	}
	return nil
}

// DAGExistsError reports an existing run of that name.
type DAGExistsError struct{ WorkflowID string }

// Error implements error.
func (e *DAGExistsError) Error() string {
	return fmt.Sprintf("DAG run %s exists already: give the new one another name, or see `roundsman show %s`", e.WorkflowID, e.WorkflowID)
}

// Await waits for the end of a run and returns its result with all tasks. Check the outcome.
func (d DAGs) Await(ctx context.Context, ref RunRef) (contract.DAGResult, error) {
	ended, err := d.client.Runs().Await(ctx, ref)
	if err != nil {
		return contract.DAGResult{}, err
	}
	if ended.DAGResult == nil {
		return contract.DAGResult{}, noDAGRun(ref)
	}
	result := *ended.DAGResult
	if result.Tasks == nil {
		tasks, _, err := d.client.Runs().itemsOf(ctx, ended, ItemFilter{Limit: All})
		if err != nil {
			return result, err
		}
		result.Tasks = make(map[string]contract.DAGTask, len(tasks))
		for _, task := range tasks {
			result.Tasks[task.ID] = task.DAGTask()
		}
	}
	return result, nil
}
