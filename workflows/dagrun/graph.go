package dagrun

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
	engine "github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/dagrun"
	"github.com/roundsman/roundsman/internal/engine/run/source"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/workflows/run"
)

// DAG is one run of a DAG. encoded is the output of [dag.Graph.Encode]; state is empty for a new run. They are
// separate arguments because JSON would make their bytes a third longer.
//
// A failed run fails with a [contract.RunFailedError] that has the result as its detail; a canceled one is Canceled
// with the result as the detail. So Temporal's own status shows the outcome.
func DAG(ctx workflow.Context, in contract.DAGInput, encoded, state []byte) (contract.DAGResult, error) {
	r, err := newRun(ctx, in)
	if err != nil {
		return contract.DAGResult{}, err
	}
	if err := r.open(encoded, state); err != nil {
		return contract.DAGResult{}, err
	}
	if err := r.loop.Run(func() bool { return r.end != nil }); err != nil {
		return contract.DAGResult{}, err
	}
	return r.finish()
}

type dagRun struct {
	ctx      workflow.Context
	loop     run.Loop
	in       contract.DAGInput
	encoded  []byte
	core     *dagrun.Graph
	jobTypes map[string]contract.JobTypeSpec
	runs     int
	end      *dagrun.End

	grants    workflow.ReceiveChannel
	lookups   []lookup
	reports   []laneReport
	described int // tasks that had ended when the details were written
}

// laneReport is a report to the group about its lane that may be under way.
type laneReport struct {
	seq    int
	future workflow.Future
}

type lookup struct {
	name   string
	future workflow.Future
}

func newRun(ctx workflow.Context, in contract.DAGInput) (*dagRun, error) {
	runner := run.New(ctx, run.Options{
		JobType: in.Name, Results: true,
		Request: contract.AdmissionRequest{
			JobType: in.Name, Grace: jobtype.Policy{}.WithDefaults().HeartbeatTimeout, DeclaredAt: declaredAt(ctx, in),
		},
	})
	loop := run.Loop{Runner: runner, Workflow: contract.DAGWorkflow, Noun: "dag", CancelAction: "dag.cancel-task", Resources: in.Resources}
	r := &dagRun{ctx: runner.Context(), loop: loop, in: in, jobTypes: map[string]contract.JobTypeSpec{}}
	if c := in.Carry; c != nil {
		runner.Admission.Restore(c.Admission)
		runner.Audit.Restore(c.Audit)
		runner.SetSeen(c.FleetSeq)
		r.runs = c.Runs
		if c.JobTypes != nil {
			r.jobTypes = c.JobTypes
		}
	}
	return r, r.listen()
}

// declaredAt returns the time at which the declared sizes of pools were read. Zero leaves the sizes unchanged.
func declaredAt(ctx workflow.Context, in contract.DAGInput) time.Time {
	switch {
	case len(in.Resources) == 0:
		return time.Time{}
	case in.DeclaredAt.IsZero():
		return workflow.GetInfo(ctx).WorkflowStartTime
	}
	return in.DeclaredAt
}

// open decodes or compiles the graph, and begins or continues.
func (r *dagRun) open(encoded, state []byte) error {
	if r.in.Source != "" && len(encoded) == 0 {
		compiled, err := r.compile()
		if err != nil {
			return err
		}
		encoded = compiled
	}
	if c := r.in.Carry; c != nil {
		whole, err := r.loop.Load(state, c.StatePages)
		if err != nil {
			return invalid("the run cannot continue from the state it was given", err)
		}
		state = whole
	}
	decoded, err := dag.Decode(encoded)
	if err != nil {
		return invalid("the graph cannot be read; start the run with the program that runs the control plane", err)
	}
	r.encoded = encoded
	now := r.loop.Now()
	if len(state) == 0 {
		begun, err := dagrun.NewRun(decoded)
		if err == nil {
			r.core, err = dagrun.New(begun, r.config(), now)
		}
		if err != nil {
			return invalid("the graph carries no usable spec", err)
		}
	} else if r.core, err = dagrun.Restore(decoded, state, r.config(), now); err != nil {
		return invalid("the run cannot continue from the state it was given", err)
	}
	r.name()
	r.loop.Open(r, r.core)
	r.loop.Steer() // A run that is paused from its beginning starts no task.
	var first source.Event = engine.Tick{}
	if !r.core.Run().Started() {
		first = dagrun.Started{}
	}
	r.loop.Carry(r.core.Next(now, first))
	r.describe(true)
	return nil
}

func (r *dagRun) config() dagrun.Config {
	config := dagrun.Config{
		RollEvents: r.in.RollEvents, Deadline: r.in.Deadline.Std(), Recovery: r.in.Recovery, Node: r.in.Node, Labels: r.in.Labels,
		About:    jobtype.RunInfo{ID: workflow.GetInfo(r.ctx).WorkflowExecution.ID, ScheduledAt: r.in.ScheduledAt},
		JobTypes: map[string]dagrun.JobType{},
	}
	if r.group() != "" {
		config.Lane = r.in.Lane.Lane
	}
	//workflowcheck:ignore each goes to a place of its own
	for _, spec := range r.jobTypes {
		config.JobTypes[spec.Name] = jobTypeOf(spec)
	}
	return config
}

func jobTypeOf(spec contract.JobTypeSpec) dagrun.JobType {
	return dagrun.JobType{
		Handler: spec.Handler, Policy: spec.Policy, Bytes: len(spec.Params) + len(spec.Execute) + len(spec.Cluster), Digest: digestOf(spec),
	}
}

func digestOf(spec contract.JobTypeSpec) string {
	hash := sha256.New()
	for _, part := range []json.RawMessage{spec.Params, spec.Execute, spec.Cluster} {
		hash.Write(strconv.AppendInt(nil, int64(len(part)), 10))
		hash.Write([]byte(":"))
		hash.Write(part)
	}
	return hex.EncodeToString(hash.Sum(nil)[:8])
}

func invalid(what string, err error) error {
	return temporal.NewNonRetryableApplicationError(what+": "+err.Error(), contract.DAGInvalidError, err)
}

func (r *dagRun) compile() ([]byte, error) {
	name := cmp.Or(r.in.SourceName, r.in.Name)
	future := callCompileDAG(r.ctx, contract.CompileDAGInput{Name: name, Text: r.in.Source, Files: r.in.Files, Params: r.in.Params})
	if err := workflow.Await(r.ctx, func() bool { return future.IsReady() || r.loop.Canceled() }); err != nil {
		return nil, err
	}
	if !future.IsReady() {
		return nil, temporal.NewCanceledError()
	}
	var encoded []byte
	err := future.Get(r.ctx, &encoded)
	if refused, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return nil, temporal.NewNonRetryableApplicationError(refused.Message(), contract.DAGInvalidError, nil)
	}
	return encoded, err
}

func (r *dagRun) name() {
	if r.in.Name == "" {
		if header, err := spec.HeaderOf(r.core.Run().Graph()); err == nil {
			r.in.Name = header.Name
		}
	}
	r.loop.SetJobType(r.in.Name)
}

// Arguments implements [run.Describer].
func (r *dagRun) Arguments(pages contract.StatePages) []any {
	in := r.in
	in.DeclaredAt = r.loop.Admission.DeclaredAt()
	in.Carry = &contract.DAGCarry{
		Runs: r.runs + 1, FleetSeq: r.loop.Seen(), JobTypes: r.jobTypes, Admission: r.loop.Admission.State(), Audit: r.loop.Audit.State(), StatePages: pages,
	}
	return []any{in, r.encoded}
}

func (r *dagRun) finish() (contract.DAGResult, error) {
	if err := r.loop.Close(); err != nil {
		return contract.DAGResult{}, err
	}
	result, err := r.result()
	if err != nil {
		return result, err
	}
	r.loop.SetOutcome(result.Outcome)
	r.describe(true)
	switch r.end.Outcome {
	case dag.OutcomeCanceled:
		return result, temporal.NewCanceledError(result)
	case dag.OutcomeFailed:
		return result, contract.RunFailure(r.failure(result), result)
	case dag.OutcomeCompleted, dag.NoOutcome:
	}
	return result, nil
}

func (r *dagRun) failure(result contract.DAGResult) string {
	failed, _ := r.core.Tasks(dagrun.Filter{States: []string{dag.Failed.String()}, Limit: 1})
	switch {
	case result.Reason != "":
		return fmt.Sprintf("DAG %s failed: %s", result.DAG, result.Reason)
	case len(failed) > 0:
		return fmt.Sprintf("DAG %s failed: %d of %d tasks, first %s: %s", result.DAG, result.Counts[dag.Failed.String()], r.core.Run().Len(), failed[0].ID, failed[0].Error)
	}
	return fmt.Sprintf("DAG %s failed: tasks were canceled", result.DAG)
}

func (r *dagRun) result() (contract.DAGResult, error) {
	now, info := r.loop.Now(), workflow.GetInfo(r.ctx).WorkflowExecution
	result := contract.DAGResult{
		DAG: r.in.Name, WorkflowID: info.ID, RunID: info.RunID,
		Outcome: contract.Outcome(r.end.Outcome.String()), Reason: r.end.Reason, WorkerLost: r.core.LostWorker(), Counts: r.core.Counts(),
		StartedAt: r.core.StartedAt(), EndedAt: now, DurationMS: now.Sub(r.core.StartedAt()).Milliseconds(),
	}
	final, err := r.core.Snapshot()
	if err != nil {
		return result, err
	}
	result.Final = final
	if r.core.Run().Len() <= contract.MaxResultTasks {
		views, _ := r.core.Tasks(dagrun.Filter{Limit: contract.MaxResultTasks})
		result.Tasks = make(map[string]contract.DAGTask, len(views))
		for _, v := range views {
			result.Tasks[v.ID] = taskOf(v)
		}
	}
	return result, nil
}
