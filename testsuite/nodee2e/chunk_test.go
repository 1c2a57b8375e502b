package nodee2e

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/activities/control"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/admission"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
)

// keyedGroup starts a group of plain jobs with dedupe keys. It holds 201 of them, and the others are in pages if they are
// 200 or more: the first chunk has 100 of them, a later one 50.
func (s *site) keyedGroup(id string, of plainParams) client.WorkflowRun {
	s.T.Helper()
	of.Keyed = true
	return s.launchPlain(id, contract.JobGroupInput{RollEvents: 700, OpenJobs: 100, Spec: s.specOf(of, ofBusyWorker)})
}

// keysHeld counts the dedupe keys that admission holds; -1: it does not run yet.
func (s *site) keysHeld() int {
	s.T.Helper()
	view, err := s.Client.Admission().View(s.T.Context(), contract.AdmissionFilter{})
	if errors.Is(err, starter.ErrNotFound) {
		return -1
	}
	require.NoError(s.T, err)
	return view.Keys
}

// TestTheControlPlaneDiesBetweenAChunkAndItsGrant again and again. Each job runs once, with the key of its proposal,
// and no key is left behind.
func TestTheControlPlaneDiesBetweenAChunkAndItsGrant(t *testing.T) {
	t.Parallel()
	const jobs = 800 // 201 in the group, 350 in the first page, and the others in the second.
	s := newSite(t)
	s.letGo()
	s.plainWorkers("node-a")
	run := s.keyedGroup("group/plain", plainParams{Jobs: jobs, Bytes: 1200})
	for _, ended := range []int{1, 230, 380, 530, 680} {
		s.awaitBook(fmt.Sprintf("%d jobs have ended", ended), func(b book) bool { return len(b.of("end")) >= ended })
		s.control.Kill()
		s.control = s.Start("server")
	}
	result := s.plainEnd(run)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, result.Reason)
	assert.Equal(t, completed(jobs), result.Counts)
	s.once(jobs)
	assert.Equal(t, map[string]int{contract.JobCompleted: jobs}, s.listed(jobs))
	testsuite.WaitFor(t, time.Minute, "no key is held", func() bool { return s.keysHeld() == 0 })
	found, err := s.Client.Runs().ItemByKey(t.Context(), starter.RunRef{WorkflowID: "group/plain"}, keyOf(jobs-1))
	require.NoError(t, err)
	assert.Equal(t, contract.JobID(jobs-1), found.ID)
}

// TestAGroupWithChunksIsReset while it runs, and after its end.
func TestAGroupWithChunksIsReset(t *testing.T) {
	t.Parallel()
	const jobs = 500
	s := newSite(t)
	s.letGo()
	s.plainWorkers("node-a")
	run := s.keyedGroup("group/plain", plainParams{Jobs: jobs})
	s.awaitBook("jobs of chunks have ended", func(b book) bool { return len(b.of("end")) >= 300 })
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

// TestAChunkWaitsForAFullAdmission with this reason in explain, also for one that takes the place of a terminated one.
func TestAChunkWaitsForAFullAdmission(t *testing.T) {
	t.Parallel()
	const jobs = 450
	s := newSite(t)
	s.plainWorkers("node-a")
	require.NoError(t, control.New(s.Client.Temporal(), contract.FleetConfig{}).EnsureAdmission(t.Context(), contract.EnsureAdmissionInput{}))
	// There is room for the 201 jobs of the group, and none for a chunk. No job ends, so this remains.
	s.fill(admission.MaxKeys - 210)
	run := s.keyedGroup("group/plain", plainParams{Jobs: jobs})
	testsuite.WaitFor(t, time.Minute, "the jobs of the group are claimed", func() bool { return s.keysHeld() >= admission.MaxKeys-10 })
	ref := starter.RunRef{WorkflowID: run.GetID()}
	testsuite.WaitFor(t, time.Minute, "the next chunk waits", func() bool {
		shown, err := s.Client.Runs().Show(t.Context(), ref)
		if err != nil || shown.Group == nil {
			return false
		}
		for _, wait := range shown.Group.Waits {
			if wait.Code == string(contract.CodeClaims) && strings.Contains(wait.Detail, "of 120000 dedupe keys") {
				return true
			}
		}
		return false
	})
	s.letGo()
	require.NoError(t, s.Client.Temporal().TerminateWorkflow(t.Context(), contract.AdmissionWorkflowID, "", "test"))
	result := s.plainEnd(run)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, result.Reason)
	assert.Equal(t, completed(jobs), result.Counts)
	s.once(jobs)
}

// fill claims n keys for the registry, which never releases them. An admission that takes the place of a terminated one
// does not learn of them.
func (s *site) fill(n int) {
	s.T.Helper()
	described, err := s.Client.Temporal().DescribeWorkflowExecution(s.T.Context(), contract.FleetWorkflowID, "")
	require.NoError(s.T, err)
	keys := make([]uint64, n)
	for i := range keys {
		keys[i] = uint64(i)*0x9E3779B97F4A7C15 + 1
	}
	require.NoError(s.T, s.Client.Temporal().SignalWorkflow(s.T.Context(), contract.AdmissionWorkflowID, "", contract.SignalAdmissionRequest, contract.AdmissionRequest{
		Holder:  contract.AdmissionHolder{WorkflowID: contract.FleetWorkflowID, FirstRunID: described.GetWorkflowExecutionInfo().GetFirstRunId()},
		JobType: "hog", DeclaredAt: time.Now(), Items: []contract.AdmissionItem{{ID: "claims", Keys: admission.PackKeys(keys), Fences: 1}},
	}))
	testsuite.WaitFor(s.T, time.Minute, "the keys are held", func() bool { return s.keysHeld() >= n })
}

// TestTwoBacklogsOfOneJobType: the second group leaves the backlog to the first. No key runs twice at once.
func TestTwoBacklogsOfOneJobType(t *testing.T) {
	t.Parallel()
	const jobs = 500
	s := newSite(t)
	s.plainWorkers("node-a")
	first := s.keyedGroup("group/plain", plainParams{Jobs: jobs})
	testsuite.WaitFor(t, time.Minute, "the window is claimed", func() bool { return s.keysHeld() > 250 })
	second := s.plainEnd(s.keyedGroup("group/plain-2", plainParams{Jobs: jobs}))
	assert.Equal(t, contract.OutcomeSkipped, second.Outcome)
	assert.Contains(t, second.Reason, "BACKLOG: group/plain works on a backlog of job type plain")
	assert.Equal(t, contract.GroupCounts{Detected: jobs, AlreadyActive: jobs}, second.Counts)
	s.letGo()
	result := s.plainEnd(first)
	assert.Equal(t, completed(jobs), result.Counts)
	s.once(jobs)
}
