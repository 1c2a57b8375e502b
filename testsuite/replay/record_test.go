package replay_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/app"
	"github.com/roundsman/roundsman/internal/engine/backlog"
	"github.com/roundsman/roundsman/internal/temporal/auditlog"
	"github.com/roundsman/roundsman/internal/temporal/pages"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/replay"
	"github.com/roundsman/roundsman/workflows"
)

// studio is a server with the control plane and two workers. Their handler follows a job's dedupe key.
type studio struct {
	t      *testing.T
	client *starter.Client
}

func newStudio(t *testing.T) *studio {
	t.Helper()
	server := testsuite.StartServer(t)
	dial := func(identity string) *starter.Client {
		c, err := starter.Dial(t.Context(), starter.Options{Address: server.Address(), Identity: identity})
		require.NoError(t, err)
		t.Cleanup(c.Close)
		return c
	}
	s := &studio{t: t, client: dial("control")}
	control, err := app.StartControl(t.Context(), app.ControlOptions{Client: s.client, Notify: receivers(), Logger: testsuite.Quiet()})
	require.NoError(t, err)
	t.Cleanup(func() { _ = control.Stop(context.WithoutCancel(t.Context())) })
	for _, id := range []string{"node-a", "node-b"} {
		node, err := app.StartNode(t.Context(), app.NodeOptions{
			Client: dial(id), ID: id, DataDir: t.TempDir(), MaxDetect: 1, MaxExecute: 4, Handlers: []jobtype.Handler{actor{}},
			Shared: []string{"shared"}, Logger: testsuite.Quiet(),
		})
		require.NoError(t, err)
		t.Cleanup(func() { _ = node.Stop(context.WithoutCancel(t.Context())) })
	}
	return s
}

// actor follows the keys of its jobs.
type actor struct{}

func (actor) Descriptor() jobtype.Descriptor { return jobtype.Descriptor{Name: "actor", Batches: true} }

func (actor) Detect(ctx context.Context, in jobtype.DetectInput, out jobtype.ProposalSink) error {
	var keys struct {
		Keys []string `json:"keys"`
		Fail bool     `json:"fail"`
	}
	if err := json.Unmarshal(in.Params, &keys); err != nil {
		return err
	}
	if keys.Fail {
		return errors.New("nothing can be detected")
	}
	for i, key := range keys.Keys {
		p := jobtype.Proposal{DedupeKey: fmt.Sprintf("%s/%d", key, i), Summary: key, Detail: key}
		if key == "later" {
			p.NotBefore = time.Now().Add(time.Second)
		}
		if err := out.Emit(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

func (actor) Execute(ctx context.Context, job jobtype.Job, progress jobtype.Progress) (jobtype.Result, error) {
	switch job.Detail {
	case "flaky":
		if job.Attempt < 2 {
			return jobtype.Result{}, errors.New("not yet")
		}
	case "broken":
		return jobtype.Result{}, jobtype.Permanent(errors.New("it will never work"))
	case "hang":
		if job.Attempt < 2 {
			<-ctx.Done() // Without a report: the heartbeat timeout finds it.
			return jobtype.Result{}, ctx.Err()
		}
	case "deadly": // Each attempt loses its worker.
		<-ctx.Done()
		return jobtype.Result{}, ctx.Err()
	case "long":
		progress.Report(10, "waiting", "until canceled")
		for ctx.Err() == nil {
			progress.Alive()
			select {
			case <-ctx.Done():
			case <-time.After(200 * time.Millisecond):
			}
		}
		return jobtype.Result{}, ctx.Err()
	}
	return jobtype.Result{Summary: "done"}, nil
}

// scene is one recorded group.
type scene struct {
	name   string
	params string
	policy jobtype.Policy
	lane   string
	batch  *contract.BatchSpec
	budget *contract.RetryBudget
	input  contract.JobGroupInput
	// edit changes the rest of the spec.
	edit func(spec *contract.JobTypeSpec)
	// shut starts and ends a blackout at these times after the group's start. Zero means none.
	shut [2]time.Duration
	// before plays the operator before the group runs, act while it runs.
	before func(s *studio)
	act    func(s *studio, run client.WorkflowRun)
}

func scenes() []scene {
	wide := jobtype.Policy{GlobalExecutionConcurrency: 6, PerWorkerExecutionConcurrency: 3}
	with := func(edit func(p *jobtype.Policy)) jobtype.Policy {
		p := wide
		edit(&p)
		return p
	}
	return []scene{
		{name: "nothing-to-do", params: `{"keys":[]}`},
		{name: "lane", params: `{"keys":["a","b"]}`, lane: "default"},
		{name: "nothing-to-do-in-a-lane", params: `{"keys":[]}`, lane: "default"},
		{name: "completed", params: `{"keys":["a","b","c","later","e","f","g","h"]}`, policy: wide},
		{name: "sent-ahead", params: `{"keys":["a"` + strings.Repeat(`,"a"`, 59) + `]}`, policy: jobtype.Policy{GlobalExecutionConcurrency: 20, PerWorkerExecutionConcurrency: 10}},
		{name: "burst", params: `{"keys":["a","b","c","d","e","f"],"filler":"` + strings.Repeat("x", 120<<10) + `"}`, policy: wide},
		{name: "detection-fails", params: `{"fail":true}`},
		{name: "waits-for-pool", params: `{"keys":["a","b","c","d"]}`, policy: wide, edit: func(spec *contract.JobTypeSpec) {
			spec.Resources, spec.JobResources = map[string]int{"tape": 1}, map[string]int{"tape": 1}
		}, act: func(s *studio, run client.WorkflowRun) {
			require.NoError(s.t, run.Get(s.t.Context(), nil))
			s.keep(replay.Name{Workflow: contract.AdmissionWorkflow, Version: workflows.AdmissionVersion, Scenario: "waits"}, contract.AdmissionWorkflowID, "")
		}},
		{name: "released-from-window", params: `{"keys":["a"]}`, shut: [2]time.Duration{-time.Minute, 5 * time.Minute}, edit: func(spec *contract.JobTypeSpec) {
			spec.Interval = jobtype.Duration(time.Hour)
		}, act: func(s *studio, run client.WorkflowRun) {
			s.await(run, func(status contract.GroupStatus) bool {
				return status.Wait != nil && status.Wait.Code == string(contract.CodeWindowClosed)
			})
			require.NoError(s.t, s.client.Temporal().SignalWorkflow(s.t.Context(), run.GetID(), "", contract.SignalSetCalendar, contract.SetCalendarInput{IgnoreWindow: true, By: "tester"}))
		}},
		{name: "dag", params: `{"who":"me"}`, edit: func(spec *contract.JobTypeSpec) {
			spec.Handler, spec.DAG = "", &contract.DAGSource{
				Name: "rounds", File: "rounds.yaml", Text: "version: 1\nname: rounds\nparams: {who: none}\ntasks:\n  - {id: below, dag: sub.yaml}\n",
				Files: map[string]string{"sub.yaml": "version: 1\nname: sub\ntasks:\n  - {id: nothing, noop: true}\n"},
			}
		}},
		{name: "detect-on-every", params: `{"keys":["a","broken"]}`, policy: wide, edit: func(spec *contract.JobTypeSpec) { spec.DetectOn = contract.DetectOnEvery }},
		{name: "detects-late", params: `{"keys":["long"]}`, policy: wide, edit: func(spec *contract.JobTypeSpec) { spec.DetectOn = contract.DetectOnEvery }, before: func(s *studio) {
			s.cordon(true)
		}, act: func(s *studio, run client.WorkflowRun) {
			s.await(run, func(status contract.GroupStatus) bool { return status.Running == 1 && status.Counts.MissedWorkers == 1 })
			s.cordon(false)
			s.await(run, func(status contract.GroupStatus) bool { return status.Running == 2 && status.Counts.MissedWorkers == 0 })
			require.NoError(s.t, s.client.Temporal().CancelWorkflow(s.t.Context(), run.GetID(), ""))
		}},
		{name: "lane-given-back", params: `{}`, lane: "default", edit: func(spec *contract.JobTypeSpec) {
			spec.Handler, spec.DAG = "", &contract.DAGSource{
				Name: "gated", File: "gated.yaml", Text: "version: 1\nname: gated\ntasks:\n  - {id: below, dag: sub.yaml}\n",
				Files: map[string]string{"sub.yaml": "version: 1\nname: sub\ntasks:\n  - {id: gate, approval: {}}\n  - {id: behind, needs: [gate], noop: true}\n"},
			}
		}, act: approveBelow},
		{name: "each-worker", params: `{"keys":[]}`, policy: wide, edit: func(spec *contract.JobTypeSpec) { spec.EachWorker = true }},
		{name: "dry-run", params: `{"keys":["a","b"]}`, input: contract.JobGroupInput{DryRun: true}},
		{name: "submitted", lane: "default", input: contract.JobGroupInput{Submission: &contract.Submission{ID: "ticket-1", By: "recorder", Proposals: []jobtype.Proposal{
			{DedupeKey: "a", Detail: "a"}, {DedupeKey: "a", Detail: "a"}, {Detail: "broken", Resources: map[string]int{"db": 1}},
		}}}, params: `{"keys":[]}`},
		{name: "submitted-comes-back", lane: "default", shut: [2]time.Duration{4 * time.Second, 7 * time.Second}, input: contract.JobGroupInput{Submission: &contract.Submission{ID: "ticket-2", By: "recorder", Proposals: []jobtype.Proposal{
			{DedupeKey: "c", Detail: "a"}, {DedupeKey: "d", Detail: "a", EstimatedRuntime: jobtype.Duration(time.Minute), Resources: map[string]int{"db": 1}},
		}}}, params: `{"keys":[]}`},
		submittedPages(),
		{name: "batched", params: `{"keys":["a","a","b","b","b","flaky"]}`, batch: &contract.BatchSpec{By: "{{.Summary}}", MaxSize: 2}},
		{name: "retried-and-broken", params: `{"keys":["flaky","broken","a"]}`, policy: with(func(p *jobtype.Policy) {
			p.RetryLimit, p.RetryBackoff = 1, jobtype.Duration(time.Second)
		})},
		{name: "retry-budget", params: `{"keys":["flaky","broken","a"]}`, budget: strict(), policy: with(func(p *jobtype.Policy) {
			p.RetryLimit, p.RetryBackoff = 3, jobtype.Duration(5*time.Second)
		})},
		{name: "loses-workers", params: `{"keys":["deadly","deadly","a"]}`, budget: strict(), policy: with(func(p *jobtype.Policy) {
			p.HeartbeatTimeout, p.WorkerLossLimit = jobtype.Duration(time.Second), 2
		})},
		{name: "hang-replaced", params: `{"keys":["hang","a"]}`, policy: with(func(p *jobtype.Policy) { p.HeartbeatTimeout = jobtype.Duration(time.Second) })},
		{name: "max-runtime", params: `{"keys":["long","a"]}`, policy: with(func(p *jobtype.Policy) { p.MaxRuntime = jobtype.Duration(3 * time.Second) })},
		{name: "drained", params: `{"keys":["long","a"]}`, policy: with(func(p *jobtype.Policy) {
			p.MaxRuntime, p.DrainGrace, p.OnDeadline = jobtype.Duration(2*time.Second), jobtype.Duration(2*time.Second), jobtype.DeadlineDrain
		})},
		{name: "continued-as-new", params: `{"keys":["a","b","c","d","e","f","g","h","i","j"]}`, policy: wide, input: contract.JobGroupInput{RollEvents: 1}},
		{name: "state-in-pages", params: longKeys(700), policy: wide, input: contract.JobGroupInput{RollEvents: 1500}},
		{name: "chunks", params: `{"keys":["a"` + strings.Repeat(`,"a"`, 2*contract.MaxPageProposals+20) + `]}`, policy: jobtype.Policy{GlobalExecutionConcurrency: 8, PerWorkerExecutionConcurrency: 4}, input: contract.JobGroupInput{OpenJobs: 20, RollEvents: 2000}},
		{name: "window-closed", params: `{"keys":["a"]}`, shut: [2]time.Duration{-time.Hour, 24 * time.Hour}},
		{name: "window-opens", params: `{"keys":["a","b"]}`, shut: [2]time.Duration{-time.Hour, 2 * time.Second}, lane: "default"},
		{name: "window-checkpoint", params: `{"keys":["long","a"]}`, shut: [2]time.Duration{3 * time.Second, time.Hour}, policy: with(func(p *jobtype.Policy) {
			p.OnWindowEnd = jobtype.WindowEndCheckpoint
		})},
		{name: "window-changed", params: `{"keys":["long","a"]}`, shut: [2]time.Duration{time.Hour, 2 * time.Hour}, act: func(s *studio, run client.WorkflowRun) {
			s.await(run, func(status contract.GroupStatus) bool { return status.Running == 1 })
			change := contract.SetCalendarInput{Calendar: blackout([2]time.Duration{-time.Second, time.Hour})}
			require.NoError(s.t, s.client.Temporal().SignalWorkflow(s.t.Context(), run.GetID(), "", contract.SignalSetCalendar, change))
			s.await(run, func(status contract.GroupStatus) bool { return status.Counts.NotStarted == 1 })
			require.NoError(s.t, s.client.Runs().CancelItem(s.t.Context(), starter.ItemRef{Run: starter.RunRef{WorkflowID: run.GetID()}, ID: contract.JobID(1)}, ""))
		}},
		{name: "canceled", params: `{"keys":["long","a","long"]}`, policy: wide, act: func(s *studio, run client.WorkflowRun) {
			s.await(run, func(status contract.GroupStatus) bool { return status.Counts.Completed == 1 })
			require.NoError(s.t, s.client.Temporal().CancelWorkflow(s.t.Context(), run.GetID(), ""))
		}},
		{name: "operated", params: `{"keys":["long","a","b"]}`, policy: jobtype.Policy{}, act: operate},
	}
}

// submittedPages is a submission with a page.
func submittedPages() scene {
	list := []jobtype.Proposal{{DedupeKey: "p", Detail: "a"}, {Detail: "broken"}, {DedupeKey: "q", Detail: "a"}}
	data, err := pages.PackProposals(list)
	page := backlog.Describe(list)
	page.Page = contract.PageName(data)
	return scene{
		name: "submitted-pages", lane: "default", params: `{"keys":[]}`,
		input: contract.JobGroupInput{State: &contract.JobGroupState{}, Submission: &contract.Submission{
			ID: "ticket-3", By: "recorder", Proposals: []jobtype.Proposal{{DedupeKey: "a", Detail: "a"}}, Pages: []contract.ProposalPage{page}, Duplicates: 1,
		}},
		before: func(s *studio) {
			require.NoError(s.t, err)
			store := pages.NewStore(s.client.Temporal(), s.client.Namespace(), starter.DataConverter())
			_, err := store.Put(s.t.Context(), contract.GroupWorkflowID("submitted-pages"), data)
			require.NoError(s.t, err)
		},
	}
}

// longKeys are params with so many keys that do not compress.
func longKeys(n int) string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("%x", sha256.Sum256([]byte{byte(i), byte(i >> 8)}))
	}
	return `{"keys":["` + strings.Join(keys, `","`) + `"]}`
}

// strict disables a key at its first failure.
func strict() *contract.RetryBudget {
	rule := func(count int) *contract.RetryBudgetRule {
		return &contract.RetryBudgetRule{Count: count, Window: jobtype.Duration(time.Hour), DisableFor: jobtype.Duration(time.Hour)}
	}
	return &contract.RetryBudget{PerKey: rule(1), PerType: rule(9)}
}

// blackout begins and ends at these times after now.
func blackout(shut [2]time.Duration) *jobtype.Calendar {
	if shut[0] == shut[1] {
		return nil
	}
	return &jobtype.Calendar{Blackouts: []jobtype.Blackout{{
		From: time.Now().Add(shut[0]).Format(time.RFC3339), To: time.Now().Add(shut[1]).Format(time.RFC3339), Note: "recording",
	}}}
}

// cordon cordons one worker, or ends that.
func (s *studio) cordon(on bool) {
	s.t.Helper()
	action := starter.ActionUncordon
	if on {
		action = starter.ActionCordon
	}
	_, err := s.client.Workers().Operate(s.t.Context(), "node-a", action, "recorder", "")
	require.NoError(s.t, err)
}

// approveBelow approves a task of a sub-DAG once the group has released its lane, and saves the histories of
// both DAGs.
func approveBelow(s *studio, run client.WorkflowRun) {
	s.await(run, func(status contract.GroupStatus) bool { return !status.LaneReleasedAt.IsZero() })
	job := contract.SubDAGWorkflowID(run.GetID(), contract.JobID(1))
	below := contract.SubDAGWorkflowID(job, "below")
	_, err := s.client.DAGs().ApproveTask(s.t.Context(), starter.RunRef{WorkflowID: below}, "gate", "recorder", "")
	require.NoError(s.t, err)
	require.NoError(s.t, run.Get(s.t.Context(), nil))
	s.keepDAG("lane-given-back", starter.RunRef{WorkflowID: job})
	s.keepDAG("lane-given-back-below", starter.RunRef{WorkflowID: below})
}

// operate pauses, resumes, changes the policy and cancels one job.
func operate(s *studio, run client.WorkflowRun) {
	ctx, c := s.t.Context(), s.client.Temporal()
	s.await(run, func(status contract.GroupStatus) bool { return status.Running == 1 })
	require.NoError(s.t, c.SignalWorkflow(ctx, run.GetID(), "", contract.SignalPause, contract.PauseInput{Note: "recording"}))
	s.await(run, func(status contract.GroupStatus) bool { return status.Paused })
	require.NoError(s.t, c.SignalWorkflow(ctx, run.GetID(), "", contract.SignalResume, nil))
	policy := jobtype.Policy{GlobalExecutionConcurrency: 3, PerWorkerExecutionConcurrency: 3}.WithDefaults()
	update, err := c.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: run.GetID(), UpdateName: contract.UpdateSetPolicy, Args: []any{contract.SetPolicyInput{Policy: policy}},
		WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	require.NoError(s.t, err)
	require.NoError(s.t, update.Get(ctx, nil))
	s.await(run, func(status contract.GroupStatus) bool { return status.Counts.Completed == 2 })
	require.NoError(s.t, s.client.Runs().CancelItem(ctx, starter.ItemRef{Run: starter.RunRef{WorkflowID: run.GetID()}, ID: contract.JobID(1)}, ""))
}

func (s *studio) await(run client.WorkflowRun, is func(contract.GroupStatus) bool) {
	s.t.Helper()
	testsuite.WaitFor(s.t, time.Minute, "the group to get there", func() bool {
		answer, err := s.client.Temporal().QueryWorkflow(s.t.Context(), run.GetID(), "", contract.QueryStatus)
		var status contract.GroupStatus
		return err == nil && answer.Get(&status) == nil && is(status)
	})
}

// recordAll plays every scene and saves the history of each of its runs. Last it saves those of admission and
// the registry.
func recordAll(t *testing.T) {
	if *only != "" {
		recordSome(t, strings.Split(*only, ","))
		return
	}
	require.NoError(t, os.RemoveAll(testdata+"/jobgroup"))
	s := newStudio(t)
	for _, each := range scenes() {
		s.group(each)
	}
	s.neighbours()
	s.keep(replay.Name{Workflow: contract.AdmissionWorkflow, Version: workflows.AdmissionVersion, Scenario: "groups"}, contract.AdmissionWorkflowID, "")
	s.audit()
	s.keep(replay.Name{Workflow: contract.FleetWorkflow, Version: workflows.FleetVersion, Scenario: "two-workers"}, contract.FleetWorkflowID, "")
}

// recordSome plays the scenes of these names and keeps the other histories.
func recordSome(t *testing.T, names []string) {
	s, known := newStudio(t), scenes()
	for _, name := range names {
		at := slices.IndexFunc(known, func(each scene) bool { return each.name == name })
		require.GreaterOrEqual(t, at, 0, "there is no scene %s", name)
		s.group(known[at])
	}
}

func (s *studio) group(each scene) {
	s.t.Helper()
	in := each.input
	in.Spec = contract.JobTypeSpec{Name: each.name, Handler: "actor", Lane: each.lane, Batch: each.batch, Params: []byte(each.params), Policy: each.policy.WithDefaults(), RetryBudget: each.budget, Calendar: blackout(each.shut)}
	if each.edit != nil {
		each.edit(&in.Spec)
	}
	if each.before != nil {
		each.before(s)
	}
	run, err := s.client.Temporal().ExecuteWorkflow(s.t.Context(), client.StartWorkflowOptions{
		ID: contract.GroupWorkflowID(each.name), TaskQueue: contract.ControlQueue,
	}, contract.JobGroupWorkflow, in)
	require.NoError(s.t, err)
	first := run.GetRunID()
	if each.act != nil {
		each.act(s, run)
	}
	_ = run.Get(s.t.Context(), nil) // A canceled group ends with an error, as planned.
	for i, runID := 1, first; runID != ""; i++ {
		scenario := each.name
		if i > 1 {
			scenario = fmt.Sprintf("%s-%d", each.name, i)
		}
		runID = s.keep(replay.Name{Workflow: contract.JobGroupWorkflow, Version: workflows.JobGroupVersion, Scenario: scenario}, run.GetID(), runID)
	}
}

// audit records an entry and saves the log's own history.
func (s *studio) audit() {
	s.t.Helper()
	record := contract.AuditRecord{Entries: []contract.AuditEntry{{ID: "recording", Kind: contract.AuditOperator, Actor: "recorder", Action: "test"}}}
	require.NoError(s.t, auditlog.Record(s.t.Context(), s.client.Temporal(), record))
	testsuite.WaitFor(s.t, time.Minute, "the log to have it", func() bool {
		found, err := s.client.Audit().Read(s.t.Context(), contract.AuditFilter{Actor: "recorder"})
		return err == nil && slices.ContainsFunc(found.Entries, func(e contract.AuditEntry) bool { return e.Action == "test" })
	})
	s.keep(replay.Name{Workflow: contract.AuditWorkflow, Version: workflows.AuditVersion, Scenario: "recorded"}, contract.AuditWorkflowID, "")
}

// keep saves a history and returns the run that continued it, if any.
func (s *studio) keep(name replay.Name, workflowID, runID string) (next string) {
	s.t.Helper()
	history, err := replay.Fetch(s.t.Context(), s.client.Temporal(), workflowID, runID)
	require.NoError(s.t, err)
	require.NoError(s.t, replay.Save(testdata, name, history))
	events := history.GetEvents()
	s.t.Logf("%s: %d events", name.Scenario, len(events))
	return events[len(events)-1].GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId()
}
