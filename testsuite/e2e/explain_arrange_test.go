package e2e

import (
	"encoding/json"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/explainer"
	"github.com/roundsman/roundsman/starter/jobtypes"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/sites"
)

// delayed starts a group with a start delay of the server.
func (s *stage) delayed(delay time.Duration, spec contract.JobTypeSpec) string {
	s.t.Helper()
	run, err := s.client.Temporal().ExecuteWorkflow(s.t.Context(), client.StartWorkflowOptions{
		ID: "group/" + s.name, TaskQueue: contract.ControlQueue, StartDelay: delay,
	}, contract.JobGroupWorkflow, contract.JobGroupInput{Spec: spec})
	require.NoError(s.t, err)
	s.t.Cleanup(func() { s.terminate(run.GetID()) })
	return run.GetID()
}

func (s *stage) signal(id, name string, argument any) {
	s.t.Helper()
	require.NoError(s.t, s.client.Temporal().SignalWorkflow(s.t.Context(), id, "", name, argument))
}

// awaitDAGTask waits until a task waits for its approval.
func (s *stage) awaitDAGTask(ref starter.RunRef, task string) {
	s.t.Helper()
	testsuite.WaitFor(s.t, 30*time.Second, task+" waits for an approval", func() bool {
		_, asked := s.told(situation{thing: ref.WorkflowID + "/" + task, code: contract.CodeApproval, object: task})
		return asked
	})
}

// frozen stops a worker process with SIGSTOP. The situation is that worker, or a job pinned to it.
func frozen(job bool) func(*stage) situation {
	return func(s *stage) situation {
		id := s.name
		process := start(s.t, s.t.TempDir(), "worker", "--id", id, "--address", s.server.Address(), "--data-dir", filepath.Join(s.t.TempDir(), id), "--labels", "stage="+id)
		fresh := func() bool {
			w, err := s.client.Workers().Get(s.t.Context(), id)
			return err == nil && w.Fresh
		}
		testsuite.WaitFor(s.t, 30*time.Second, "the worker is fresh", fresh)
		require.NoError(s.t, process.Process.Signal(syscall.SIGSTOP))
		s.t.Cleanup(func() { _ = process.Process.Signal(syscall.SIGCONT) })
		goOn := func() { require.NoError(s.t, process.Process.Signal(syscall.SIGCONT)) }
		if !job {
			return situation{thing: id, object: id, timeless: true, remedy: goOn}
		}
		testsuite.WaitFor(s.t, time.Minute, "the registry misses its heartbeats", func() bool { return !fresh() })
		ref := s.dag("", "  - {id: a, node: "+id+", command: [sleep, 300]}\n")
		return situation{thing: ref.WorkflowID + "/a", object: id, says: "worker " + id + " is ", until: true, remedy: goOn}
	}
}

// TestExplainAdmission: groups that wait for admission, and admission that waits for the runs' reports. It has
// a server of its own, because all groups there wait.
func TestExplainAdmission(t *testing.T) {
	t.Parallel()
	p := newInProcess(t, 1, newSite(), pauseButton())
	s := p.stage(t, "admission")
	s.worker(2, "-ssd")
	s.hold("x")
	s.end(s.begin("warm-1", s.spec(at("")))) // Now there is an admission.

	pause, unpause := s.pausing(contract.AdmissionWorkflowID)
	began := time.Now()
	pause()
	run := s.group("claims", s.spec(at("x")))
	ref := s.dag("", "  - {id: a, resources: {db: 1}, WORK}\n")
	s.check(began, situation{thing: run, code: contract.CodeClaims, remedy: unpause})
	pause()
	began = time.Now()
	second := runDAG(t, s.client, compileDAG(t, "version: 1\nname: second\ntasks:\n  - {id: a, resources: {other: 1}, command: [sleep, 300]}\n", nil), starter.DAGOptions{Run: "r"})
	s.check(began, situation{thing: second.WorkflowID + "/a", code: contract.CodeResources, object: "a.1", remedy: unpause})
	s.terminate(ref.WorkflowID)

	silent, err := s.client.Temporal().ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "group/silent", TaskQueue: "nobody"},
		contract.JobGroupWorkflow, contract.JobGroupInput{})
	require.NoError(t, err)
	s.terminate(contract.AdmissionWorkflowID)
	began = time.Now()
	spec := s.spec(at("y"))
	spec.Lane = "lane"
	s.check(began, situation{thing: s.group("lane", spec), code: contract.CodeRecovering, object: "group/silent", remedy: func() { s.terminate(silent.GetID()) }})
}

// TestANewRegistryIsNoLackOfWorkers: a run for every worker waits until the registry, which was terminated, knows them all.
func TestANewRegistryIsNoLackOfWorkers(t *testing.T) {
	t.Parallel()
	p := newInProcess(t, 1, newSite())
	s := p.stage(t, "renewed")
	s.worker(2, "-ssd")
	s.terminate(contract.FleetWorkflowID)
	began := time.Now()
	spec := s.spec()
	spec.EachWorker = true
	s.check(began, situation{thing: s.group("each", spec), code: contract.CodeFleetRecovering, object: s.name, until: true, remedy: func() {
		testsuite.WaitFor(t, 2*time.Minute, "the registry knows all workers", func() bool {
			registry, err := s.client.Workers().Registry(t.Context(), contract.WorkersQueryInput{})
			return err == nil && len(registry.Workers) > 0 && !registry.Incomplete
		})
	}})
}

// TestAdmissionWaitsForPausedHolders: a group with a lane is paused in Temporal itself while admission is
// terminated. No other group gets the lane, and explain names the paused holder.
func TestAdmissionWaitsForPausedHolders(t *testing.T) {
	t.Parallel()
	p := newInProcess(t, 1, newSite(), pauseButton())
	s := p.stage(t, "frozen")
	s.worker(2, "-ssd")
	s.hold("x")
	spec := s.spec(at("x"))
	spec.Lane = "lane"
	holder := s.group("1", spec)
	s.works("x")
	pause, unpause := s.pausing(holder)
	pause()
	testsuite.WaitFor(t, 20*time.Second, "the list knows of the pause", func() bool {
		runs, err := s.client.Runs().List(t.Context(), starter.RunFilter{JobType: s.name, Running: true})
		return err == nil && len(runs) == 1 && runs[0].Status == starter.StatusPaused
	})
	s.terminate(contract.AdmissionWorkflowID)
	began := time.Now()
	waiter := s.group("2", spec)
	s.check(began, situation{thing: waiter, code: contract.CodeRecovering, object: holder, remedy: unpause})
	busy := s.explains(waiter, contract.CodeLaneBusy)
	assert.Contains(t, busy.Detail, "held by "+holder)
}

// pausing pauses a workflow as the Web UI's button does.
func (s *stage) pausing(id string) (pause, unpause func()) {
	execution := &commonpb.WorkflowExecution{WorkflowId: id}
	service := s.client.Temporal().WorkflowService()
	pause = func() {
		_, err := service.PauseWorkflowExecution(s.t.Context(), &workflowservice.PauseWorkflowExecutionRequest{
			Namespace: s.client.Namespace(), WorkflowId: execution.GetWorkflowId(), Identity: "test", Reason: "for a test",
		})
		require.NoError(s.t, err)
	}
	unpause = func() {
		_, err := service.UnpauseWorkflowExecution(s.t.Context(), &workflowservice.UnpauseWorkflowExecutionRequest{
			Namespace: s.client.Namespace(), WorkflowId: execution.GetWorkflowId(), Identity: "test", Reason: "for a test",
		})
		require.NoError(s.t, err)
	}
	return pause, unpause
}

// TestExplainWithoutControlPlane: the reason appears while no control plane runs, and goes after one has
// started.
func TestExplainWithoutControlPlane(t *testing.T) {
	t.Parallel()
	p := &inProcess{t: t, server: testsuite.StartServer(t)}
	s := p.stage(t, "alone")
	run := s.group("1", s.spec(at("x")))
	s.check(time.Now(), situation{thing: run, code: contract.CodeControlPlaneDown, timeless: true, remedy: func() {
		s.control()
	}})
}

// control starts the control plane as a process of its own.
func (s *stage) control() *sites.Process {
	s.t.Helper()
	process := start(s.t, s.t.TempDir(), "server", "--address", s.server.Address())
	testsuite.WaitFor(s.t, 30*time.Second, "a control plane", func() bool {
		_, err := s.client.Workers().List(s.t.Context(), contract.WorkersQueryInput{})
		return err == nil
	})
	return process
}

// TestExplainChangesNothing: an explanation adds no event and changes no state. After the control plane is
// killed, the answer comes within the deadline of one query and has the time of the kill.
func TestExplainChangesNothing(t *testing.T) {
	t.Parallel()
	p := &inProcess{t: t, server: testsuite.StartServer(t)}
	s := p.stage(t, "nothing")
	control := s.control()
	id := s.worker(1, "-ssd")
	s.applyTypes(map[string]bool{"idle": true, "off": false})
	s.hold("x")
	busy := at("x")
	busy.Exclusive = []string{"x"}
	group := s.group("1", s.spec(busy, at("y")))
	s.works("x")
	ref := s.dag("", "  - {id: ok, approval: {}}\n  - {id: nap, needs: [ok], sleep: 1h}\n  - {id: a, resources: {db: 1}, WORK}\n")
	things := []string{
		"idle", "off", id, group, group + "/job-00001", group + "/job-00002",
		ref.WorkflowID, s.name, ref.WorkflowID + "/ok", ref.WorkflowID + "/nap", s.name + "/a",
	}
	asked := []string{group, ref.WorkflowID, contract.AdmissionWorkflowID, contract.FleetWorkflowID}
	testsuite.WaitFor(t, 30*time.Second, "the task waits for a slot", func() bool {
		_, full := s.told(situation{thing: s.name + "/a", code: contract.CodeSlots, object: id})
		return full
	})

	// Running work can add events, but explain must not.
	testsuite.WaitFor(t, time.Minute, "a moment in which explaining everything adds nothing", func() bool {
		before := s.traces(asked, group, ref)
		for _, thing := range things {
			_, err := explainer.Explain(t.Context(), s.client, thing)
			require.NoError(t, err, thing)
		}
		return s.traces(asked, group, ref) == before
	})

	control.Kill()
	began := time.Now()
	explanation, err := explainer.Explain(t.Context(), s.client, group)
	require.NoError(t, err)
	require.Equal(t, contract.CodeControlPlaneDown, explanation.Reasons[0].Code)
	assert.WithinRange(t, explanation.Reasons[0].Since, began.Add(-2*time.Minute), time.Now(), "its last poll")
}

// traces is all state that must stay the same after explaining.
func (s *stage) traces(workflows []string, group string, ref starter.RunRef) string {
	s.t.Helper()
	var all []any
	for _, id := range workflows {
		described, err := s.client.Temporal().DescribeWorkflowExecution(s.t.Context(), id, "")
		require.NoError(s.t, err)
		all = append(all, id, described.GetWorkflowExecutionInfo().GetHistoryLength(), described.GetWorkflowExecutionInfo().GetExecution().GetRunId())
	}
	jobs, _, err := s.client.Runs().Items(s.t.Context(), starter.RunRef{WorkflowID: group}, starter.ItemFilter{})
	require.NoError(s.t, err)
	for i := range jobs {
		jobs[i].Active = nil // Its heartbeats continue.
	}
	tasks, _, err := s.client.Runs().Items(s.t.Context(), ref, starter.ItemFilter{})
	require.NoError(s.t, err)
	types, err := jobtypes.Of(s.client).List(s.t.Context())
	require.NoError(s.t, err)
	text, err := json.Marshal(append(all, jobs, tasks, types, s.admission()))
	require.NoError(s.t, err)
	return string(text)
}

// between is a calendar with one window, to the minute.
func between(opens, closes time.Time) *jobtype.Calendar {
	return &jobtype.Calendar{Windows: []jobtype.Window{{
		From: opens.UTC().Format("15:04"), To: closes.UTC().Format("15:04"), Timezone: "UTC",
	}}}
}
