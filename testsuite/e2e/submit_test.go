package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
	"github.com/roundsman/roundsman/testsuite"
)

// submit submits jobs of a spec that need not be applied.
func (p *inProcess) submit(spec contract.JobTypeSpec, id string, list ...jobtype.Proposal) jobtypes.Submitted {
	p.t.Helper()
	submitted, err := jobtypes.Of(p.client).Submit(p.t.Context(), jobtypes.JobType{Name: spec.Name, Spec: spec}, contract.Submission{ID: id, By: "tester", Proposals: list})
	require.NoError(p.t, err)
	return submitted
}

func (p *inProcess) resultOf(submitted jobtypes.Submitted) contract.JobGroupResult {
	p.t.Helper()
	result, err := p.client.Runs().Result(p.t.Context(), starter.RunRef{WorkflowID: submitted.WorkflowID})
	require.NoError(p.t, err)
	return result
}

// TestSubmittedJobsGoThroughAdmission: lane, dedupe keys and objects hold between detected and submitted jobs,
// in both directions.
func TestSubmittedJobsGoThroughAdmission(t *testing.T) {
	t.Parallel()
	s := newSite()
	p := newInProcess(t, 4, s)
	open := s.hold("held")
	defer open()
	scheduled := siteSpec(t, "tidy", "default", at("held"))
	first := p.begin("tidy-1", scheduled)
	testsuite.WaitFor(t, 20*time.Second, "the group works", func() bool { return s.present("held") == 1 })

	// It takes its turn, next to another submission and a group of its type.
	one, two := p.submit(scheduled, "one", at("free/1")), p.submit(scheduled, "two", at("free/2"))
	again := p.begin("tidy-2", siteSpec(t, "tidy", "default"))
	for _, waiting := range []string{one.WorkflowID, two.WorkflowID, "group/tidy-2"} {
		busy := p.explains(waiting, contract.CodeLaneBusy)
		assert.Contains(t, busy.Detail, "group/tidy-1", waiting)
	}

	// Without a lane it needs no turn, but its key and its object are taken.
	free := siteSpec(t, "tidy", "")
	taken := p.resultOf(p.submit(free, "taken", at("held")))
	assert.Equal(t, contract.OutcomeSkipped, taken.Outcome)
	assert.Equal(t, `DEDUPED: "held" is active in group/tidy-1`, taken.Reason)
	assert.Equal(t, contract.GroupCounts{Detected: 1, AlreadyActive: 1}, taken.Counts)

	gate := s.hold("mine")
	defer gate()
	mine := at("mine")
	mine.Exclusive = []string{"volume/9"}
	holder := p.submit(free, "holder", mine)
	testsuite.WaitFor(t, 20*time.Second, "the submitted job works", func() bool { return s.present("mine") == 1 })
	theirs := at("theirs")
	theirs.Exclusive = []string{"volume/9"}
	waits := p.begin("other-1", siteSpec(t, "other", "", theirs))
	held := p.explains("group/other-1", contract.CodeClaimHeld)
	assert.Contains(t, held.Detail, "group/tidy-adhoc-holder/job-00001")

	gate()
	open()
	for _, submitted := range []jobtypes.Submitted{one, two, holder} {
		assert.Equal(t, contract.OutcomeCompleted, p.resultOf(submitted).Outcome, submitted.WorkflowID)
	}
	for _, run := range []string{first.GetID(), again.GetID(), waits.GetID()} {
		result, err := p.client.Runs().Result(t.Context(), starter.RunRef{WorkflowID: run})
		require.NoError(t, err)
		assert.Equal(t, contract.OutcomeCompleted, result.Outcome, run)
	}
	assert.Equal(t, []string{"tidy", "other", "tidy"}, s.order(), "what is submitted detects nothing")
	assert.Zero(t, s.outdated(), "fences grow over detected and submitted jobs")
}

// TestSubmittedJobIsCanceled: the commands that cancel other jobs cancel a submitted one.
func TestSubmittedJobIsCanceled(t *testing.T) {
	t.Parallel()
	s := newSite()
	p := newInProcess(t, 4, s)
	for _, object := range []string{"a", "b"} {
		t.Cleanup(s.hold(object))
	}
	submitted := p.submit(siteSpec(t, "tidy", ""), "x", at("a"), at("b"))
	testsuite.WaitFor(t, 20*time.Second, "both run", func() bool { return s.present("a")+s.present("b") == 2 })
	jobs, total, err := p.client.Runs().Items(t.Context(), submitted.RunRef, starter.ItemFilter{DedupeKey: "b"})
	require.NoError(t, err)
	require.Equal(t, 1, total)
	require.NoError(t, p.client.Runs().CancelItem(t.Context(), jobs[0].Ref(), "not that one"))
	require.NoError(t, p.client.Runs().Cancel(t.Context(), submitted.RunRef, "enough"))
	result := p.resultOf(submitted)
	assert.Equal(t, contract.OutcomeCanceled, result.Outcome)
	assert.Equal(t, 2, result.Counts.Canceled)
}

// TestSubmissionDoesNotDisturbTheSchedule: with real processes, a job type is applied and the same submission
// is sent twice.
func TestSubmissionDoesNotDisturbTheSchedule(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "node-a")
	c.apply(script("note", "global_execution_concurrency: 2, per_worker_execution_concurrency: 2", "echo detected", "echo $1 >> "+c.dir+"/done"))
	before := c.result(c.run("note"), time.Minute)
	require.EqualValues(t, 1, before.Record.Sequence)
	for range 2 {
		p := c.start("submit", "note", "--as", "once", "-p", "item=by-hand", "--wait")
		require.Equal(t, 0, p.Code(t, 2*time.Minute), p.Stderr.Last())
	}
	require.ElementsMatch(t, []string{"detected", "by-hand"}, c.lines("done"))
	after := c.result(c.run("note"), time.Minute)
	require.EqualValues(t, 2, after.Record.Sequence, "the submission is no run of the job type")
	require.Len(t, after.Record.Good, 2)
	for _, run := range after.Record.Good {
		require.NotContains(t, run.WorkflowID, "adhoc", fmt.Sprint(run))
	}
}
