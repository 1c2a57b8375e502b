package nodee2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/pages"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/sites"
)

// plain proposes jobs without dedupe keys, and records each execution.
type plain struct{}

type plainParams struct {
	Book string `json:"book"`
	Jobs int    `json:"jobs"`
	// After so many proposals the detection waits for the file Go. At 0 all jobs wait for it.
	After int    `json:"after"`
	Go    string `json:"go"`
	// Keyed: each proposal has a dedupe key.
	Keyed bool `json:"keyed"`
	// Bytes is the length of the details of each proposal.
	Bytes int `json:"bytes"`
}

func (plain) Descriptor() jobtype.Descriptor { return jobtype.Descriptor{Name: "plain"} }

func (plain) Detect(ctx context.Context, in jobtype.DetectInput, out jobtype.ProposalSink) error {
	var params plainParams
	if err := json.Unmarshal(in.Params, &params); err != nil {
		return err
	}
	alive, ok := out.(jobtype.Alive)
	if !ok {
		return errors.New("the sink has no beat")
	}
	for i := range params.Jobs {
		if i > 0 && i == params.After {
			if err := write(params.Book, "waits", in.JobType, in.JobType, in.WorkerID, 0, 0); err != nil {
				return err
			}
			if err := params.wait(ctx, alive.Alive); err != nil {
				return err
			}
		}
		p := jobtype.Proposal{Summary: summaryOf(i + 1), Detail: strings.Repeat("d", params.Bytes)}
		if params.Keyed {
			p.DedupeKey = keyOf(i + 1)
		}
		if err := out.Emit(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

func keyOf(n int) string { return fmt.Sprintf("key-%d", n) }

func summaryOf(n int) string { return fmt.Sprintf("number %d", n) }

func (plain) Execute(ctx context.Context, job jobtype.Job, progress jobtype.Progress) (jobtype.Result, error) {
	var params plainParams
	if err := json.Unmarshal(job.Params, &params); err != nil {
		return jobtype.Result{}, err
	}
	if n, ok := contract.JobNumber(job.ID); !ok || job.Summary != summaryOf(n) {
		return jobtype.Result{}, jobtype.Permanent(fmt.Errorf("%s has the proposal %q", job.ID, job.Summary))
	}
	if err := write(params.Book, "start", job.JobType, job.ID, job.WorkerID, job.Attempt, 0); err != nil {
		return jobtype.Result{}, err
	}
	if params.After == 0 {
		if err := params.wait(ctx, progress.Alive); err != nil {
			return jobtype.Result{}, err
		}
	}
	return jobtype.Result{}, write(params.Book, "end", job.JobType, job.ID, job.WorkerID, job.Attempt, 0)
}

// wait waits for the file.
func (p plainParams) wait(ctx context.Context, alive func()) error {
	for {
		if _, err := os.Stat(p.Go); !errors.Is(err, os.ErrNotExist) {
			return err
		}
		select {
		case <-time.After(20 * time.Millisecond):
			alive()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// slotsOfPlain are those of a worker, and the jobs of a group at once.
const slotsOfPlain = 40

// plainWorkers starts workers with many slots.
func (s *site) plainWorkers(ids ...string) map[string]*sites.Process {
	s.T.Helper()
	started := map[string]*sites.Process{}
	for _, id := range ids {
		started[id] = s.worker(id, "--max-execute", fmt.Sprint(slotsOfPlain))
	}
	s.AwaitFresh(ids...)
	return started
}

// Where no worker is killed, one of a busy machine may be silent for long.
const ofKilledWorker, ofBusyWorker = jobtype.Duration(4 * time.Second), jobtype.Duration(30 * time.Second)

// plainGroup starts a group of plain jobs. It holds 201 of them, and the others are in a page: 100 of them are open.
func (s *site) plainGroup(jobs, after int, heartbeatTimeout jobtype.Duration) client.WorkflowRun {
	s.T.Helper()
	return s.launchPlain("group/plain", contract.JobGroupInput{RollEvents: 700, OpenJobs: 100, Spec: s.plainSpec(jobs, after, heartbeatTimeout)})
}

func (s *site) plainSpec(jobs, after int, heartbeatTimeout jobtype.Duration) contract.JobTypeSpec {
	return s.specOf(plainParams{Jobs: jobs, After: after}, heartbeatTimeout)
}

func (s *site) specOf(of plainParams, heartbeatTimeout jobtype.Duration) contract.JobTypeSpec {
	s.T.Helper()
	of.Book, of.Go = s.bookPath(), s.goPath()
	params, err := json.Marshal(of)
	require.NoError(s.T, err)
	return contract.JobTypeSpec{Name: "plain", Handler: "plain", Params: params, Policy: jobtype.Policy{
		MaxJobsPerDetection: of.Jobs, GlobalExecutionConcurrency: slotsOfPlain, PerWorkerExecutionConcurrency: slotsOfPlain, HeartbeatTimeout: heartbeatTimeout,
	}.WithDefaults()}
}

// launchPlain starts a group.
func (s *site) launchPlain(id string, in contract.JobGroupInput) client.WorkflowRun {
	s.T.Helper()
	run, err := s.Client.Temporal().ExecuteWorkflow(s.T.Context(), client.StartWorkflowOptions{
		ID: id, TaskQueue: contract.ControlQueue, WorkflowExecutionTimeout: time.Hour,
	}, contract.JobGroupWorkflow, in)
	require.NoError(s.T, err)
	return run
}

// plainEnd returns the result of a group.
func (s *site) plainEnd(run client.WorkflowRun) contract.JobGroupResult {
	s.T.Helper()
	ctx, cancel := testsuite.Within(s.T, 4*time.Minute)
	defer cancel()
	var result contract.JobGroupResult
	if err := run.Get(ctx, &result); !contract.ResultOfFailure(err, &result) {
		require.NoError(s.T, err)
	}
	result.Counts.Replacements = 0 // A busy machine takes some jobs too late.
	return result
}

// listed checks that each job is listed once with its own proposal, and counts their states.
func (s *site) listed(jobs int) map[string]int {
	s.T.Helper()
	items, total, err := s.Client.Runs().Items(s.T.Context(), starter.RunRef{WorkflowID: "group/plain"}, starter.ItemFilter{Limit: starter.All})
	require.NoError(s.T, err)
	require.Equal(s.T, jobs, total)
	seen, states := map[int]bool{}, map[string]int{}
	for _, one := range items {
		n, _ := contract.JobNumber(one.ID)
		require.False(s.T, seen[n], one.ID)
		require.Equal(s.T, summaryOf(n), one.Summary)
		seen[n] = true
		states[one.State]++
	}
	require.Len(s.T, seen, jobs)
	return states
}

// once checks that each job was executed to its end exactly once.
func (s *site) once(jobs int) {
	s.T.Helper()
	ended := s.book().of("end").perKey()
	assert.Equal(s.T, jobs, len(ended)) //nolint:testifylint // the map is long
	for job, times := range ended {
		assert.Equal(s.T, 1, times, job)
	}
}

func completed(jobs int) contract.GroupCounts {
	return contract.GroupCounts{Detected: jobs, Accepted: jobs, Completed: jobs}
}

// pages lists the pages of the group.
func (s *site) pages() (ids []string) {
	s.T.Helper()
	found, err := s.Client.Temporal().ListWorkflow(s.T.Context(), &workflowservice.ListWorkflowExecutionsRequest{
		Query: fmt.Sprintf("WorkflowType = '%s'", contract.PageWorkflow),
	})
	require.NoError(s.T, err)
	for _, info := range found.GetExecutions() {
		ids = append(ids, info.GetExecution().GetWorkflowId())
	}
	return ids
}

// TestADetectorDiesBetweenAPageAndItsUpdate: the control plane stands still, so the worker has stored a page that the
// group has not received. The next detection stores it again, and each job runs once.
func TestADetectorDiesBetweenAPageAndItsUpdate(t *testing.T) {
	t.Parallel()
	const jobs = 470
	s := newSite(t)
	workers := s.plainWorkers("node-a", "node-b")
	run := s.plainGroup(jobs, 300, ofKilledWorker)
	detector := s.awaitBook("the first page was sent", func(b book) bool { return len(b.of("waits")) > 0 }).of("waits")[0].worker
	s.control.Signal(t, syscall.SIGSTOP)
	s.letGo()
	testsuite.WaitFor(t, time.Minute, "a page is stored", func() bool { return len(s.pages()) > 0 })
	workers[detector].Kill()
	s.control.Signal(t, syscall.SIGCONT)
	result := s.plainEnd(run)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, result.Reason)
	assert.Equal(t, completed(jobs), result.Counts)
	assert.NotEqual(t, detector, result.Detector)
	s.once(jobs)
	assert.Equal(t, map[string]int{contract.JobCompleted: jobs}, s.listed(jobs))
}

// TestTheControlPlaneDiesWithABacklog while jobs come into the window, and the group continues as new.
func TestTheControlPlaneDiesWithABacklog(t *testing.T) {
	t.Parallel()
	const jobs = 470
	s := newSite(t)
	s.letGo()
	s.plainWorkers("node-a")
	run := s.plainGroup(jobs, 0, ofBusyWorker)
	for _, ended := range []int{20, 240, 330} {
		s.awaitBook(fmt.Sprintf("%d jobs have ended", ended), func(b book) bool { return len(b.of("end")) >= ended })
		s.control.Kill()
		s.control = s.Start("server")
	}
	result := s.plainEnd(run)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, result.Reason)
	assert.Equal(t, completed(jobs), result.Counts)
	s.once(jobs)
	assert.Equal(t, map[string]int{contract.JobCompleted: jobs}, s.listed(jobs))
	last, err := s.Client.Temporal().DescribeWorkflowExecution(t.Context(), run.GetID(), "")
	require.NoError(t, err)
	assert.NotEqual(t, last.GetWorkflowExecutionInfo().GetFirstRunId(), last.GetWorkflowExecutionInfo().GetExecution().GetRunId(), "it continued as new")
}

// TestALostPage fails its jobs with the reason; a page that was only closed is still read.
func TestALostPage(t *testing.T) {
	t.Parallel()
	const jobs = 800 // 200 in the group, 350 in the first page, and the others in the second.
	s := newSite(t)
	s.plainWorkers("node-a")
	run := s.launchPlain("group/plain", contract.JobGroupInput{RollEvents: 2000, OpenJobs: 300, Spec: s.specOf(plainParams{Jobs: jobs, Bytes: 1200}, ofBusyWorker)})
	s.awaitBook("jobs run", func(b book) bool { return len(b.of("start")) == slotsOfPlain })
	ref := starter.RunRef{WorkflowID: run.GetID()}
	answer, err := s.Client.Temporal().QueryWorkflow(t.Context(), ref.WorkflowID, "", contract.QueryJobs, contract.JobsQueryInput{Limit: 1})
	require.NoError(t, err)
	var held contract.JobsQueryResult
	require.NoError(t, answer.Get(&held))
	require.Len(t, held.Proposals, 2)
	page := func(n int) *commonpb.WorkflowExecution {
		return &commonpb.WorkflowExecution{WorkflowId: contract.PageWorkflowID(ref.WorkflowID, held.Proposals[n].Page)}
	}
	inPage := 1 + held.Proposals[1].Last - held.Proposals[1].First
	_, err = s.Client.Temporal().WorkflowService().TerminateWorkflowExecution(t.Context(), &workflowservice.TerminateWorkflowExecutionRequest{Namespace: s.Client.Namespace(), WorkflowExecution: page(0)})
	require.NoError(t, err)
	_, err = s.Client.Temporal().WorkflowService().DeleteWorkflowExecution(t.Context(), &workflowservice.DeleteWorkflowExecutionRequest{Namespace: s.Client.Namespace(), WorkflowExecution: page(1)})
	require.NoError(t, err)
	testsuite.WaitFor(t, time.Minute, "the page is gone", func() bool {
		_, err := s.Client.Temporal().DescribeWorkflowExecution(t.Context(), page(1).GetWorkflowId(), "")
		return err != nil
	})
	s.letGo()
	result := s.plainEnd(run)
	assert.Equal(t, contract.OutcomePartial, result.Outcome)
	assert.Equal(t, contract.GroupCounts{Detected: jobs, Accepted: jobs, Completed: jobs - inPage, Failed: inPage}, result.Counts)
	assert.Equal(t, contract.CodePageLost, contract.CodeOfError(result.Errors[0].Message))
	s.once(jobs - inPage)
	items, total, err := s.Client.Runs().Items(t.Context(), ref, starter.ItemFilter{Limit: starter.All, States: []string{contract.JobFailed}})
	require.NoError(t, err)
	assert.Equal(t, inPage, total)
	for _, one := range items {
		assert.Equal(t, contract.CodePageLost, contract.CodeOfError(one.Error))
	}
}

// TestABacklogIsReset while it runs, and after its end, when its pages are closed: the work after the point of reset is
// done again, and nothing is lost.
func TestABacklogIsReset(t *testing.T) {
	t.Parallel()
	const jobs = 470
	s := newSite(t)
	s.letGo()
	s.plainWorkers("node-a")
	run := s.plainGroup(jobs, 0, ofBusyWorker)
	s.awaitBook("jobs have ended", func(b book) bool { return len(b.of("end")) >= 300 })
	for range 2 { // The second time the group has ended.
		s.resetToFirstJob(run.GetID())
		result := s.plainEnd(s.Client.Temporal().GetWorkflow(t.Context(), run.GetID(), ""))
		assert.Equal(t, contract.OutcomeCompleted, result.Outcome, result.Reason)
		assert.Equal(t, completed(jobs), result.Counts)
		assert.Equal(t, map[string]int{contract.JobCompleted: jobs}, s.listed(jobs))
		assert.Equal(t, jobs, len(s.book().of("end").perKey())) //nolint:testifylint // the map is long
		s.sweep()
	}
}

// sweep closes the pages of the group, as the control plane does within minutes.
func (s *site) sweep() {
	s.T.Helper()
	c := s.Client.Temporal()
	keeper := pages.NewKeeper(pages.NewStore(c, s.Client.Namespace(), starter.DataConverter()), c, testsuite.Quiet())
	closed := 0
	testsuite.WaitFor(s.T, time.Minute, "its pages are closed", func() bool {
		n, err := keeper.Sweep(s.T.Context(), time.Now())
		closed += n
		return err == nil && closed > 0 && n == 0
	})
}

// resetToFirstJob sends the last run of a workflow back to the task that scheduled its first activity of a job.
func (s *site) resetToFirstJob(workflowID string) {
	s.T.Helper()
	var run *commonpb.WorkflowExecution
	task := int64(0)
	testsuite.WaitFor(s.T, time.Minute, "a job of its last run", func() bool { // One that has just continued as new has none yet.
		described, err := s.Client.Temporal().DescribeWorkflowExecution(s.T.Context(), workflowID, "")
		require.NoError(s.T, err)
		run = described.GetWorkflowExecutionInfo().GetExecution()
		for events := s.Client.Temporal().GetWorkflowHistory(s.T.Context(), workflowID, run.GetRunId(), false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext() && task == 0; {
			event, err := events.Next()
			require.NoError(s.T, err)
			if call := event.GetActivityTaskScheduledEventAttributes(); call.GetActivityType().GetName() == contract.ExecuteActivity {
				task = call.GetWorkflowTaskCompletedEventId()
			}
		}
		return task != 0
	})
	_, err := s.Client.Temporal().ResetWorkflowExecution(s.T.Context(), &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: s.Client.Namespace(), Reason: "test", RequestId: "reset-" + run.GetRunId(), WorkflowTaskFinishEventId: task, WorkflowExecution: run,
	})
	require.NoError(s.T, err)
}
