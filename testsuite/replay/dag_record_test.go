package replay_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/replay"
	"github.com/roundsman/roundsman/workflows"
)

// dagScene is one recorded run of a DAG.
type dagScene struct {
	name, tasks string
	settings    string
	options     starter.DAGOptions
	// act plays the operator once the run is open.
	act func(s *studio, ref starter.RunRef)
}

func dagScenes() []dagScene {
	return []dagScene{
		{name: "joined", tasks: `
  - {id: a, for_each: [1, 2, 3], noop: true}
  - {id: b, needs: [a], noop: true}
  - {id: c, needs: [b], sleep: 20ms}`},
		{name: "results", tasks: `
  - {id: give, command: [echo, '{"mode": "full", "tasks": [{"id": "more", "noop": true}]}']}
  - {id: full, needs: [give], when: '{{eq .Needs.give.Result.mode "full"}}', command: [echo, "{{.Needs.give.Result.mode}}"]}
  - {id: partial, needs: [give], when: '{{eq .Needs.give.Result.mode "partial"}}', noop: true}`},
		{name: "failed", tasks: `
  - {id: bad, retries: {limit: 1, backoff: 20ms}, command: ["false"]}
  - {id: blocked, needs: [bad], noop: true}
  - {id: clean, needs: [blocked], trigger_rule: always, command: ["true"]}`},
		{name: "burst", tasks: `
  - {id: a, for_each: [1, 2, 3, 4, 5, 6, 7, 8], command: ["true", "` + strings.Repeat("x", 100<<10) + `"]}`},
		{name: "sub-dag", tasks: `
  - {id: sub, dag: sub.yaml}
  - {id: after, needs: [sub], noop: true}`},
		{name: "deadline", settings: "deadline: 1s\n", tasks: `
  - {id: long, command: [sleep, "60"]}
  - {id: never, needs: [long], noop: true}`},
		{name: "unplaceable", tasks: `
  - {id: nowhere, labels: {disk: none}, timeout: 1s, command: ["true"]}
  - {id: unknown, job_type: unheard-of}`},
		{name: "released", settings: "hold_on_failure: 1s\n", tasks: `
  - {id: bad, command: ["false"]}`},
		{name: "continued-as-new", options: starter.DAGOptions{RollEvents: 1}, settings: "concurrency: 2\n", tasks: `
  - {id: a, for_each: [1, 2, 3, 4], command: ["true"]}
  - {id: b, needs: [a], noop: true}
  - {id: c, needs: [b], sleep: 20ms}`},
		{name: "resources", options: starter.DAGOptions{RollEvents: 25}, tasks: `
  - {id: a, for_each: [1, 2, 3], resources: {db: 1}, retries: {limit: 1, backoff: 50ms}, command: [sh, -c, "exit $0", "{{.Item}}"]}
  - {id: large, resources: {db: 2}, noop: true}`},
		{name: "canceled", tasks: `
  - {id: long, command: [sleep, "60"]}
  - {id: sub, dag: slow.yaml}
  - {id: clean, needs: [long], trigger_rule: always, noop: true}`, act: func(s *studio, ref starter.RunRef) {
			s.awaitDAG(ref, func(status contract.DAGStatus) bool { return status.Counts["running"] == 2 })
			require.NoError(s.t, s.client.Runs().Cancel(s.t.Context(), ref, "recording"))
		}},
		{name: "items-in-flight", options: starter.DAGOptions{RollEvents: 1}, settings: "hold_on_failure: 1m\n", tasks: `
  - {id: drain, for_each: [a, b, c], items_in_flight: 1, on_item_failure: stop, command: ["true"]}
  - {id: check, for_each: [a, b, c], per_item: drain, command: [sh, -c, '[ "$0" != b ] || [ "$ROUNDSMAN_ATTEMPT" -gt 1 ]', "{{.Item}}"]}`, act: func(s *studio, ref starter.RunRef) {
			s.awaitDAG(ref, func(status contract.DAGStatus) bool { return status.Phase == "held" && status.Counts["canceled"] == 2 })
			_, err := s.client.DAGs().RetryTasks(s.t.Context(), ref, nil, "recorder")
			require.NoError(s.t, err)
		}},
		{name: "operated", settings: "hold_on_failure: 1m\n", tasks: `
  - {id: bad, command: ["false"]}
  - {id: blocked, needs: [bad], noop: true}
  - {id: gate, approval: {prompt: "Continue?"}}
  - {id: veto, approval: {prompt: "Really?"}}
  - {id: nap, sleep: 1h}
  - {id: long, command: [sh, -c, '[ "$ROUNDSMAN_ATTEMPT" -gt 1 ] || exec sleep 60']}
  - {id: last, needs: [nap], noop: true}`, act: operateDAG},
	}
}

// operateDAG sends every message of the DAG workflow.
func operateDAG(s *studio, ref starter.RunRef) {
	ctx, c := s.t.Context(), s.client
	accept := func(_ contract.DAGChanged, err error) { require.NoError(s.t, err) }
	s.awaitDAG(ref, func(status contract.DAGStatus) bool {
		return status.Counts["failed"] == 1 && len(status.Approvals) == 2
	})
	require.NoError(s.t, c.Runs().Pause(ctx, ref, "recording"))
	s.awaitDAG(ref, func(status contract.DAGStatus) bool { return status.Paused })
	accept(c.DAGs().ApproveTask(ctx, ref, "gate", "recorder", "yes"))
	accept(c.DAGs().RejectTask(ctx, ref, "veto", "recorder", "no"))
	accept(c.DAGs().AddTasks(ctx, ref, "extra.json", []byte(`[{"id": "extra", "needs": ["gate"], "before": ["last"], "noop": true}]`), "recorder"))
	require.NoError(s.t, c.Runs().Resume(ctx, ref))
	accept(c.DAGs().RetryTasks(ctx, ref, []string{"bad"}, "recorder"))
	s.awaitDAG(ref, func(status contract.DAGStatus) bool { return status.Counts["failed"] == 2 })
	accept(c.DAGs().SetConcurrency(ctx, ref, 3, "recorder"))
	accept(c.DAGs().SkipTask(ctx, ref, "bad", "recorder", "never mind"))
	require.NoError(s.t, c.Runs().CancelItem(ctx, starter.ItemRef{Run: ref, ID: "nap"}, "too long"))
	require.NoError(s.t, c.Runs().CancelItem(ctx, starter.ItemRef{Run: ref, ID: "long"}, "too long as well"))
	s.awaitDAG(ref, func(status contract.DAGStatus) bool { return status.Phase == "held" })
	accept(c.DAGs().RerunTask(ctx, ref, "extra", "recorder"))
	accept(c.DAGs().RerunTask(ctx, ref, "long", "recorder"))
	s.awaitDAG(ref, func(status contract.DAGStatus) bool { return status.Phase == "held" })
	accept(c.DAGs().Release(ctx, ref, "recorder"))
}

func (s *studio) awaitDAG(ref starter.RunRef, is func(contract.DAGStatus) bool) {
	s.t.Helper()
	testsuite.WaitFor(s.t, time.Minute, "the run to get there", func() bool {
		shown, err := s.client.Runs().Show(s.t.Context(), ref)
		return err == nil && shown.DAGStatus != nil && is(*shown.DAGStatus)
	})
}

// subFiles are the sub-DAGs of the scenes.
type subFiles map[string]string

func (f subFiles) ReadFile(name string) ([]byte, error) {
	text, ok := f[name]
	if !ok {
		return nil, os.ErrNotExist
	}
	return []byte(text), nil
}

func compileScene(t *testing.T, each dagScene) *spec.Compiled {
	t.Helper()
	loaded, err := spec.Load("dag.yaml", fmt.Appendf(nil, "version: 1\nname: %s\n%stasks:%s\n", each.name, each.settings, each.tasks))
	require.NoError(t, err)
	compiled, err := spec.Compile(loaded, subFiles{
		"sub.yaml":  "version: 1\nname: sub\ntasks:\n  - {id: inner, noop: true}\n",
		"slow.yaml": "version: 1\nname: slow\ntasks:\n  - {id: inner, sleep: 1h}\n",
	})
	require.NoError(t, err)
	return compiled
}

// TestRecordDAGs records the histories of DAGs for `make history`.
func TestRecordDAGs(t *testing.T) {
	if !*record {
		t.Skip("only with -record: `make history`")
	}
	if *only == "" {
		require.NoError(t, os.RemoveAll(testdata+"/dag"))
	}
	s := newStudio(t)
	for _, each := range dagScenes() {
		if *only != "" && !slices.Contains(strings.Split(*only, ","), each.name) {
			continue
		}
		ref, err := s.client.DAGs().Run(t.Context(), compileScene(t, each), each.options)
		require.NoError(t, err)
		if each.act != nil {
			each.act(s, ref)
		}
		result, err := s.client.DAGs().Await(t.Context(), ref)
		require.NoError(t, err)
		t.Logf("%s: %s %v", each.name, result.Outcome, result.Counts)
		s.keepDAG(each.name, ref)
		if each.name == "failed" {
			retried, err := s.client.DAGs().Retry(t.Context(), ref, starter.DAGRetry{})
			require.NoError(t, err)
			_, err = s.client.DAGs().Await(t.Context(), retried.RunRef)
			require.NoError(t, err)
			s.keepDAG("resumed", retried.RunRef)
		}
	}
	if *only == "" {
		s.recordSource()
	}
}

// recordSource records a run that gets the text of a spec, as a job's run does.
func (s *studio) recordSource() {
	for name, text := range map[string]string{
		"from-source": "version: 1\nname: source\ntasks: [{id: a, noop: true}]\n", "invalid-source": "nonsense: true\n",
	} {
		run, err := s.client.Temporal().ExecuteWorkflow(s.t.Context(), client.StartWorkflowOptions{
			ID: contract.DAGWorkflowID("source", name), TaskQueue: contract.ControlQueue,
		}, contract.DAGWorkflow, contract.DAGInput{Source: text, SourceName: name}, []byte(nil), []byte(nil))
		require.NoError(s.t, err)
		_ = run.Get(s.t.Context(), nil) // One of them fails, as planned.
		s.keepDAG(name, starter.RunRef{WorkflowID: run.GetID(), RunID: run.GetRunID()})
	}
}

func (s *studio) keepDAG(scenario string, ref starter.RunRef) {
	s.t.Helper()
	for i, runID := 1, ref.RunID; i == 1 || runID != ""; i++ {
		name := scenario
		if i > 1 {
			name = strings.Join([]string{scenario, fmt.Sprint(i)}, "-")
		}
		runID = s.keep(replay.Name{Workflow: contract.DAGWorkflow, Version: workflows.DAGVersion, Scenario: name}, ref.WorkflowID, runID)
	}
}
