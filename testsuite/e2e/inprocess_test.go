package e2e

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/app"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/replay"
)

// inProcess is a server with the control plane and one worker in the test's process, for tests without kills
// and with a handler in Go.
type inProcess struct {
	t      *testing.T
	server *testsuite.Server
	client *starter.Client
	// stopControl ends the control plane.
	stopControl func()
}

// pauseButton enables the server's own pause of workflows.
func pauseButton() testsuite.Option {
	return testsuite.WithArgs("--dynamic-config-value", "frontend.WorkflowPauseEnabled=true")
}

func newInProcess(t *testing.T, slots int, handler jobtype.Handler, options ...testsuite.Option) *inProcess {
	t.Helper()
	return newInProcessOn(t, replay.StartServer(t, options...), slots, handler, nil)
}

// newInProcessOn uses a server that runs. intercept sees the calls of the control plane.
func newInProcessOn(t *testing.T, server *testsuite.Server, slots int, handler jobtype.Handler, intercept grpc.UnaryClientInterceptor) *inProcess {
	t.Helper()
	p := &inProcess{t: t, server: server}
	p.client = p.dialed(starter.Options{Identity: "control", Intercept: intercept})
	control, err := app.StartControl(t.Context(), app.ControlOptions{Client: p.client, Logger: testsuite.Quiet()})
	require.NoError(t, err)
	p.stopControl = sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		require.NoError(t, control.Stop(ctx))
	})
	t.Cleanup(p.stopControl)
	p.node("node-a", slots, handler)
	return p
}

// node starts a worker in the test's process, until the end of the test.
func (p *inProcess) node(id string, slots int, handler jobtype.Handler) {
	p.t.Helper()
	node, err := app.StartNode(p.t.Context(), app.NodeOptions{
		Client: p.dial(id), ID: id, DataDir: p.t.TempDir(), MaxDetect: 1, MaxExecute: slots,
		Handlers: []jobtype.Handler{handler}, Shared: []string{"shared"}, Logger: testsuite.Quiet(),
	})
	require.NoError(p.t, err)
	p.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(p.t.Context()), time.Minute)
		defer cancel()
		require.NoError(p.t, node.Stop(ctx))
	})
}

// of is the same for a subtest.
func (p *inProcess) of(t *testing.T) *inProcess {
	t.Helper()
	return &inProcess{t: t, server: p.server, client: p.client}
}

func (p *inProcess) dial(identity string) *starter.Client {
	p.t.Helper()
	return p.dialed(starter.Options{Identity: identity})
}

func (p *inProcess) dialed(options starter.Options) *starter.Client {
	p.t.Helper()
	options.Address = p.server.Address()
	dialed, err := starter.Dial(p.t.Context(), options)
	require.NoError(p.t, err)
	p.t.Cleanup(dialed.Close)
	return dialed
}

// count returns the number of workflows that match a query.
func (p *inProcess) count(query string) int64 {
	p.t.Helper()
	found, err := p.client.Temporal().CountWorkflow(p.t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Query: query})
	require.NoError(p.t, err)
	return found.GetCount()
}

// largestHistory returns the most events, and the most bytes, of a history in a workflow's chain.
func (p *inProcess) largestHistory(workflowID string) (events, bytes int64) {
	p.t.Helper()
	ended := func() bool {
		found, err := p.client.Temporal().ListWorkflow(p.t.Context(), &workflowservice.ListWorkflowExecutionsRequest{
			PageSize: 1000, Query: fmt.Sprintf("WorkflowId = '%s' AND ExecutionStatus != 'Running'", workflowID),
		})
		require.NoError(p.t, err)
		last := false
		for _, info := range found.GetExecutions() {
			events, bytes = max(events, info.GetHistoryLength()), max(bytes, info.GetHistorySizeBytes())
			last = last || info.GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW
		}
		return last
	}
	testsuite.WaitFor(p.t, time.Minute, "visibility shows the end", ended)
	return events, bytes
}

// group runs one group of the job type and returns its result.
func (p *inProcess) group(spec contract.JobTypeSpec) (contract.JobGroupResult, client.WorkflowRun) {
	p.t.Helper()
	return p.groupOf(contract.JobGroupInput{Spec: spec})
}

// end waits for the result of a group. A failed group has it in the details of its failure.
func (p *inProcess) end(run client.WorkflowRun) contract.JobGroupResult {
	p.t.Helper()
	var result contract.JobGroupResult
	if err := run.Get(p.t.Context(), &result); !contract.ResultOfFailure(err, &result) {
		require.NoError(p.t, err)
	}
	return result
}

func (p *inProcess) groupOf(in contract.JobGroupInput) (contract.JobGroupResult, client.WorkflowRun) {
	p.t.Helper()
	run := p.launch(in)
	return p.end(run), run
}

// launch starts a group.
func (p *inProcess) launch(in contract.JobGroupInput) client.WorkflowRun {
	p.t.Helper()
	return p.start(in.Spec.Name+"-"+strings.ReplaceAll(p.t.Name(), "/", "-"), in)
}

// start starts a group with an id.
func (p *inProcess) start(id string, in contract.JobGroupInput) client.WorkflowRun {
	p.t.Helper()
	run, err := p.client.Temporal().ExecuteWorkflow(p.t.Context(), client.StartWorkflowOptions{
		ID: "group/" + id, TaskQueue: contract.ControlQueue,
	}, contract.JobGroupWorkflow, in)
	require.NoError(p.t, err)
	return run
}

// flood proposes the jobs of its params, and counts its executions.
type flood struct{ executed *atomic.Int64 }

type floodParams struct {
	N     int `json:"n"`
	Bytes int `json:"bytes"`
	// Noise makes details that do not compress.
	Noise bool `json:"noise"`
	// DAG puts the bytes into a DAG of each proposal.
	DAG bool `json:"dag"`
}

func (flood) Descriptor() jobtype.Descriptor { return jobtype.Descriptor{Name: "flood"} }

func (flood) Detect(ctx context.Context, in jobtype.DetectInput, out jobtype.ProposalSink) error {
	var params floodParams
	if err := json.Unmarshal(in.Params, &params); err != nil {
		return err
	}
	for i := range params.N {
		p := jobtype.Proposal{DedupeKey: fmt.Sprintf("object/%d", i), Summary: "no-op"}
		if fill := params.Bytes - 60; fill > 0 {
			// Different digits, so that it does not compress to nothing.
			p.Detail = strings.Repeat(fmt.Sprintf("%016x,", uint64(i)*2654435761), fill/17+1)[:fill]
		}
		if params.Noise {
			p.Detail = incompressible(i, params.Bytes)
		}
		if params.DAG {
			p.Detail, p.DAG = "", "version: 1\nname: heavy\ntasks: [{id: a, noop: true}]\n# "+p.Detail+"\n"
		}
		// It continues after the group is full, so that the surplus is counted.
		if err := out.Emit(ctx, p); err != nil && !errors.Is(err, jobtype.ErrSinkFull) {
			return err
		}
	}
	return nil
}

// incompressible is text of that length which hardly compresses, the same for each i.
func incompressible(i, length int) string {
	var text strings.Builder
	for block := 0; text.Len() < length; block++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "%d/%d", i, block))
		text.WriteString(base64.StdEncoding.EncodeToString(sum[:]))
	}
	return text.String()[:length]
}

func (f flood) Execute(context.Context, jobtype.Job, jobtype.Progress) (jobtype.Result, error) {
	if f.executed != nil {
		f.executed.Add(1)
	}
	return jobtype.Result{}, nil
}

func floodSpec(name string, n, bytes int, policy jobtype.Policy) contract.JobTypeSpec {
	params := fmt.Appendf(nil, `{"n":%d,"bytes":%d}`, n, bytes)
	return contract.JobTypeSpec{Name: name, Handler: "flood", Params: params, Policy: policy.WithDefaults()}
}
