package dagrun_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag/spec"
)

// rolledRun is a run that continues as new after every task, over any number of workflow runs.
// Its admission loses the first requests for a pool.
type rolledRun struct {
	t        *testing.T
	loses    int64
	requests atomic.Int64 // sent by goroutines that may outlast their workflow run
	runs     int
	children int
	began    time.Time
	lasted   time.Duration
	params   map[string]json.RawMessage
	// largest is the largest input of a workflow run, in bytes.
	largest int
	// operate is called at the beginning of every workflow run.
	operate func(b *dagBench, run int)
}

func (r *rolledRun) play(text string, inner map[string]string) contract.DAGResult {
	r.t.Helper()
	files := fstest.MapFS{}
	for name, text := range inner {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	loaded, err := spec.Load("dag.yaml", []byte(text))
	require.NoError(r.t, err)
	compiled, err := spec.Compile(loaded, files)
	require.NoError(r.t, err)
	in, graph, state := contract.DAGInput{Name: compiled.Header.Name, RollEvents: 1}, compiled.Graph.Encode(), []byte(nil)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for r.began = now; ; r.runs++ {
		require.Less(r.t, r.runs, 200, "it continues as new for ever")
		b := r.bench(now)
		b.ExecuteWorkflow(contract.DAGWorkflow, in, graph, state)
		now = b.Now()
		r.lasted = now.Sub(r.began)
		var next *workflow.ContinueAsNewError
		if err := b.GetWorkflowError(); !errors.As(err, &next) {
			var result contract.DAGResult
			if err != nil {
				require.True(r.t, contract.ResultOfFailure(err, &result), "after %d runs: %v", r.runs, err)
				return result
			}
			require.NoError(r.t, b.GetWorkflowResult(&result))
			return result
		}
		size := 0
		for _, payload := range next.Input.GetPayloads() {
			size += len(payload.GetData())
		}
		r.largest = max(r.largest, size)
		in = contract.DAGInput{}
		require.NoError(r.t, converter.GetDefaultDataConverter().FromPayloads(next.Input, &in, &graph, &state))
	}
}

func (r *rolledRun) bench(now time.Time) *dagBench {
	b := newDAGBench(r.t)
	b.SetStartTime(now)
	maps.Copy(b.params, r.params)
	b.SetCurrentHistoryLength(100)
	b.SetWorkflowRunTimeout(24 * time.Hour)
	b.OnSignalExternalWorkflow(mock.Anything, contract.AdmissionWorkflowID, "", contract.SignalAdmissionRequest, mock.Anything).Return(
		func(_, _, _, _ string, arg any) error {
			request, ok := arg.(contract.AdmissionRequest)
			require.True(r.t, ok)
			if len(request.Items) == 0 {
				return nil
			}
			if r.requests.Add(1) > r.loses {
				b.SignalWorkflow(contract.SignalAdmissionAnswer, *grantAll(request))
			}
			return nil
		}).Maybe()
	b.SetOnChildWorkflowStartedListener(func(*workflow.Info, workflow.Context, converter.EncodedValues) { r.children++ })
	if r.operate != nil {
		r.operate(b, r.runs)
	}
	return b
}

// updated requires an answer to an update, possibly a refusal.
type updated struct{ t *testing.T }

func (updated) Accept()             {}
func (updated) Reject(error)        {}
func (updated) Complete(any, error) {}

// TestASubDAGThatWaitsStartsInALaterRun: the task of a sub-DAG waits for a resource while the
// run, with concurrency 1, continues as new repeatedly and operators interfere. The other tasks
// run meanwhile. The next workflow run repeats the request, and the child starts once.
func TestASubDAGThatWaitsStartsInALaterRun(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("version: 1\nname: once-hung\nconcurrency: 1\ntasks:\n  - {id: sub, dag: inner.yaml, resources: {tape: 1}}\n")
	const others = 6
	for i := range others {
		fmt.Fprintf(&text, "  - {id: t%d, noop: true}\n", i)
	}
	inner := map[string]string{"inner.yaml": "version: 1\nname: inner\ntasks: [{id: one, noop: true}, {id: clean, needs: [one], trigger_rule: always, sleep: 20ms}]\n"}
	ask := func(name string, in any) func(*dagBench) {
		return func(b *dagBench) { b.UpdateWorkflow(name, name, updated{b.t}, in) }
	}
	for name, act := range map[string][]func(*dagBench){
		"nothing":         nil,
		"pause, resume":   {func(b *dagBench) { b.SignalWorkflow(contract.SignalPause, contract.PauseInput{}) }, func(b *dagBench) { b.SignalWorkflow(contract.SignalResume, nil) }},
		"cancel, retry":   {ask(contract.UpdateCancelItem, contract.CancelItemInput{Item: "sub"}), ask(contract.UpdateRetryTasks, contract.RetryTasksInput{Tasks: []string{"sub"}})},
		"more, less":      {ask(contract.UpdateSetConcurrency, contract.SetConcurrencyInput{Concurrency: 2}), ask(contract.UpdateSetConcurrency, contract.SetConcurrencyInput{Concurrency: 1})},
		"a task is added": {ask(contract.UpdateAddTasks, contract.AddTasksInput{Text: "- {id: more, noop: true}"})},
	} {
		for at := range 4 {
			for loses := range int64(3) {
				t.Run(fmt.Sprintf("%s in run %d, %d requests lost", name, at, loses), func(t *testing.T) {
					t.Parallel()
					r := &rolledRun{t: t, loses: loses}
					r.operate = func(b *dagBench, run int) {
						for i, do := range act {
							if run == at+i {
								b.RegisterDelayedCallback(func() { do(b) }, time.Millisecond)
							} else if run == at && i > 0 {
								b.RegisterDelayedCallback(func() { do(b) }, time.Hour) // If no other run follows.
							}
						}
					}
					result := r.play(text.String(), inner)
					assert.GreaterOrEqual(t, r.runs, 3)
					if name == "cancel, retry" && result.Tasks["sub"].State == "canceled" { // The run was over before the retry.
						assert.LessOrEqual(t, r.children, 1)
						return
					}
					assert.Equal(t, "completed", result.Tasks["sub"].State)
					assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
					if name == "cancel, retry" && r.children == 2 { // The first had begun when it was canceled.
						r.children--
					}
					assert.Equal(t, 1, r.children, "child runs")
					assert.Less(t, r.lasted, 2*time.Hour)
				})
			}
		}
	}
}

// TestSettingsOfManyJobTypesTravel: the arguments of continue-as-new stay below the server's 2
// MiB with any settings of job types. A task whose job type exceeds the bound fails with the
// cause.
func TestSettingsOfManyJobTypesTravel(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("version: 1\nname: settled\nconcurrency: 1\ntasks:\n")
	r := &rolledRun{t: t, params: map[string]json.RawMessage{}}
	for i := range 6 {
		name := fmt.Sprintf("big%d", i)
		r.params[name] = fmt.Appendf(nil, "%q", strings.Repeat(name, 100<<10))
		fmt.Fprintf(&text, "  - {id: %s, job_type: %s}\n", name, name)
	}
	result := r.play(text.String(), nil)
	assert.Less(t, r.largest, 2<<20)
	assert.Greater(t, r.largest, 1<<20)
	assert.Equal(t, map[string]int{"completed": 4, "failed": 2}, result.Counts)
	assert.Contains(t, result.Tasks["big5"].Error, "use fewer job types")
}
