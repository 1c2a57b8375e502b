package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/explainer"
	"github.com/roundsman/roundsman/starter/jobtypes"
	"github.com/roundsman/roundsman/testsuite"
)

// explains waits until the first reason has that code, and returns it.
func (p *inProcess) explains(thing string, code contract.Code) explain.Reason {
	p.t.Helper()
	var first explain.Reason
	testsuite.WaitFor(p.t, 20*time.Second, thing+": "+string(code), func() bool {
		explanation, err := explainer.Explain(p.t.Context(), p.client, thing)
		if err != nil || len(explanation.Reasons) == 0 {
			return false
		}
		first = explanation.Reasons[0]
		return first.Code == code
	})
	return first
}

// explanation explains an existing thing.
func (s *stage) explanation(thing string) explainer.Explanation {
	s.t.Helper()
	found, err := explainer.Explain(s.t.Context(), s.client, thing)
	require.NoError(s.t, err)
	return found
}

// TestExplainFindsThings: explain accepts every name of a thing, and a running or ended thing waits for
// nothing.
func TestExplainFindsThings(t *testing.T) {
	t.Parallel()
	p := newInProcess(t, 4, newSite())
	s := p.stage(t, "things")
	id := s.worker(2, "-ssd")
	open := s.hold("x")
	s.applyTypes(map[string]bool{"things": true})
	run := s.group("1", s.spec(at("x")))
	s.works("x")
	ref := s.dag("", "  - {id: ok, approval: {}}\n  - {id: a, WORK}\n  - {id: b, needs: [ok], noop: true}\n")
	testsuite.WaitFor(t, 30*time.Second, "the list has the run", func() bool { return s.explanation("things").State == "running" })
	testsuite.WaitFor(t, 30*time.Second, "the task runs", func() bool { return s.explanation(ref.WorkflowID+"/a").State == "running" })
	for thing, want := range map[string]explainer.Explanation{
		run:                  {Kind: "run", Name: run, State: "running"},
		"things-1":           {Kind: "run", Name: run, State: "running"},
		"things-1/job-00001": {Kind: "job", Name: run + "/job-00001", State: "running"},
		"dag/things/r/a":     {Kind: "dag task", Name: "dag/things/r/a", State: "running"},
		"things/r/a":         {Kind: "dag task", Name: "dag/things/r/a", State: "running"},
		"things/a":           {Kind: "dag task", Name: "dag/things/r/a", State: "running"},
		"dag/things/ok/":     {Kind: "dag task", Name: "dag/things/r/ok", State: "waiting"},
		"things/r":           {Kind: "dag run", Name: "dag/things/r", State: "running"},
		"dag/things":         {Kind: "dag run", Name: "dag/things/r", State: "running"},
		"things":             {Kind: "job type", Name: "things", State: "running"},
		id:                   {Kind: "worker", Name: id, State: "ONLINE"},
	} {
		found := s.explanation(thing)
		if thing != "things/r" && thing != "dag/things" && thing != "dag/things/ok/" && thing != id {
			assert.Empty(t, found.Reasons, thing)
		}
		assert.Equal(t, len(found.Reasons) == 0, found.Nothing != "", thing)
		found.Reasons, found.Pace, found.Nothing, found.Run, found.Item = nil, nil, "", nil, ""
		assert.Equal(t, want, found, thing)
	}
	for _, missing := range []string{"thing", "things/r/c", "nothing/r", "things-9", "group/things-9", "things-1/job-00009"} {
		_, err := explainer.Explain(t.Context(), s.client, missing)
		assert.ErrorIs(t, err, starter.ErrNotFound, missing)
	}
	_, err := explainer.Explain(t.Context(), s.client, "things/r/okk")
	assert.ErrorContains(t, err, "did you mean ok?")

	open()
	_, err = s.client.Runs().Result(t.Context(), starter.RunRef{WorkflowID: run})
	require.NoError(t, err)
	ended := s.explanation(run)
	assert.Empty(t, ended.Reasons)
	assert.Equal(t, "completed", ended.State)
	_, err = s.client.DAGs().RejectTask(t.Context(), ref, "ok", "ann", "no")
	require.NoError(t, err)
	blocked := s.explanation("things/r/b")
	assert.Equal(t, "upstream_failed", blocked.State)
	require.Len(t, blocked.Reasons, 1)
	assert.Equal(t, contract.CodeUpstream, blocked.Reasons[0].Code)
	assert.Equal(t, "ok", blocked.Reasons[0].Object)
}

// TestExplainCoversAllRunsOfAType: the explanation covers the scheduled run, the submitted run and their
// contents, down to a task with an approval in a job's DAG.
func TestExplainCoversAllRunsOfAType(t *testing.T) {
	t.Parallel()
	p := newInProcess(t, 4, newSite())
	s := p.stage(t, "kinds")
	s.worker(2, "-ssd")
	s.applyTypes(map[string]bool{"kinds": true})
	_, err := s.client.Workers().Operate(t.Context(), "kinds-ssd", starter.ActionCordon, "ann", "")
	require.NoError(t, err)
	scheduled, err := jobtypes.Of(s.client).Trigger(t.Context(), "kinds")
	require.NoError(t, err)
	known, err := jobtypes.Of(s.client).Get(t.Context(), "kinds")
	require.NoError(t, err)
	submitted := s.submit(known.Spec, "by-hand", at("z"))
	found := explainer.Explanation{}
	testsuite.WaitFor(t, 30*time.Second, "both runs and the submitted job wait", func() bool {
		found = s.explanation("kinds")
		return len(found.Reasons) > 1 && found.Reasons[0].Code == contract.CodeNoWorker && strings.Contains(found.Reasons[0].Detail, "(and 2 more wait for it)")
	})
	assert.Contains(t, []string{scheduled.WorkflowID, submitted.WorkflowID, submitted.WorkflowID + "/job-00001"}, found.Reasons[0].Of)
	assert.Equal(t, contract.CodeCordoned, found.Reasons[1].Code, "and who could do it")
	_, err = s.client.Workers().Operate(t.Context(), "kinds-ssd", starter.ActionUncordon, "ann", "")
	require.NoError(t, err)

	deep := at("deep")
	deep.DAG = "version: 1\nname: inner\ntasks: [{id: ok, approval: {prompt: agreed}}]\n"
	run := s.group("deep", s.spec(deep))
	testsuite.WaitFor(t, 30*time.Second, "the job's DAG waits for a person", func() bool {
		inside, err := explainer.Explain(t.Context(), s.client, run+"/job-00001")
		return err == nil && len(inside.Reasons) == 1 && inside.Reasons[0].Code == contract.CodeApproval && inside.Reasons[0].Of == run+"/job-00001"
	})
	remedy := s.explanation(run + "/job-00001").Reasons[0].Remedy
	assert.Contains(t, remedy, "`roundsman approve "+run+"/job-00001/ok`")
	assert.Equal(t, "waiting", s.explanation(run+"/job-00001/ok").State)
	_, err = s.client.DAGs().ApproveTask(t.Context(), starter.RunRef{WorkflowID: run + "/job-00001"}, "ok", "ann", "")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	result, err := s.client.Runs().Result(ctx, starter.RunRef{WorkflowID: run})
	require.NoError(t, err)
	assert.Equal(t, 1, result.Counts.Completed)
}

// TestExplainFollowsSubDAGs: the explanation of a root has the wait of a task two levels below.
func TestExplainFollowsSubDAGs(t *testing.T) {
	t.Parallel()
	p := newInProcess(t, 1, newSite())
	s := p.stage(t, "outer")
	files := mapFiles{
		"middle.yaml": "version: 1\nname: middle\ntasks: [{id: deeper, dag: inner.yaml}]\n",
		"inner.yaml":  "version: 1\nname: inner\ntasks: [{id: ok, approval: {prompt: agreed}}, {id: after, needs: [ok], noop: true}]\n",
	}
	root := runDAG(t, s.client, compileDAG(t, "version: 1\nname: outer\ntasks: [{id: down, dag: middle.yaml}, {id: last, needs: [down], noop: true}]\n", files), starter.DAGOptions{Run: "r"})
	deepest := root.WorkflowID + "/down/deeper"
	for _, thing := range []string{root.WorkflowID, root.WorkflowID + "/down", deepest, "outer/r/down/deeper/ok"} {
		testsuite.WaitFor(t, 30*time.Second, thing+" waits for a person", func() bool {
			found, told := s.told(situation{thing: thing, code: contract.CodeApproval, object: "ok"})
			return told && strings.HasSuffix(found.Detail, "agreed")
		})
	}
	waits := s.explanation(root.WorkflowID).Reasons
	require.Len(t, waits, 1)
	assert.Equal(t, deepest, waits[0].Of)
	assert.Equal(t, "`roundsman approve "+deepest+"/ok`, or `roundsman reject "+deepest+"/ok`", waits[0].Remedy)
	last := s.explanation("outer/last").Reasons
	require.Len(t, last, 1)
	assert.Equal(t, contract.CodeUpstream, last[0].Code)
	_, err := s.client.DAGs().ApproveTask(t.Context(), starter.RunRef{WorkflowID: deepest}, "ok", "ann", "")
	require.NoError(t, err)
	assert.Equal(t, contract.OutcomeCompleted, awaitDAG(t, s.client, root, time.Minute).Outcome)
	assert.Empty(t, s.explanation(root.WorkflowID).Reasons)
}
