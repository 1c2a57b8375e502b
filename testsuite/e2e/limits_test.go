package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/admission"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
)

// claim claims n more dedupe keys for a run, as the signal of a large group does.
func (p *inProcess) claim(ref starter.RunRef, id string, from, n int) {
	p.t.Helper()
	described, err := p.client.Temporal().DescribeWorkflowExecution(p.t.Context(), ref.WorkflowID, "")
	require.NoError(p.t, err)
	keys := make([]uint64, n)
	for i := range keys {
		keys[i] = uint64(from+i)*0x9E3779B97F4A7C15 + 1
	}
	require.NoError(p.t, p.client.Temporal().SignalWorkflow(p.t.Context(), contract.AdmissionWorkflowID, "", contract.SignalAdmissionRequest,
		contract.AdmissionRequest{
			Holder:  contract.AdmissionHolder{WorkflowID: ref.WorkflowID, FirstRunID: described.GetWorkflowExecutionInfo().GetFirstRunId()},
			JobType: "large", Grace: jobtype.Duration(time.Minute), DeclaredAt: time.Now(),
			Items: []contract.AdmissionItem{{ID: id, Keys: admission.PackKeys(keys), Fences: int64(n)}},
		}))
}

// TestClaimsBeyondTheLimit: the largest claim of one group arrives in one signal. A group whose claims do not fit next to
// those of others waits, and says for what. It starts when there is room.
func TestClaimsBeyondTheLimit(t *testing.T) {
	t.Parallel()
	s := newSite()
	p := newInProcess(t, 8, s)
	goOn := s.hold("large")
	defer goOn()
	large := p.submit(siteSpec(t, "large", ""), "first", at("large"))
	testsuite.WaitFor(t, 20*time.Second, "the first group runs", func() bool { return s.present("large") == 1 })
	p.claim(starter.RunRef{WorkflowID: large.WorkflowID}, "claims-a", 1, jobtype.MaxKeyedJobs)
	p.claim(starter.RunRef{WorkflowID: large.WorkflowID}, "claims-b", jobtype.MaxKeyedJobs+1, admission.MaxKeys-jobtype.MaxKeyedJobs-2)
	p.awaitAdmission("the keys are held", func(view contract.AdmissionView) bool { return view.Keys == admission.MaxKeys-1 })

	small := p.submit(siteSpec(t, "small", ""), "second", at("a"), at("b"), at("c"))
	ref := starter.RunRef{WorkflowID: small.WorkflowID}
	testsuite.WaitFor(t, 20*time.Second, "the second group explains its wait", func() bool {
		shown, err := p.client.Runs().Show(t.Context(), ref)
		return err == nil && shown.Group != nil && shown.Group.Wait != nil && shown.Group.Wait.Code == string(contract.CodeClaims) &&
			strings.Contains(shown.Group.Wait.Detail, "admission carries 119999 of 120000 dedupe keys, 3 more do not fit")
	})
	assert.Zero(t, s.present("a"))
	goOn()
	result := p.resultOf(small)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, result.Reason)
	assert.Equal(t, contract.GroupCounts{Detected: 3, Accepted: 3, Completed: 3}, result.Counts)
}

// TestASettingBeyondTheLimit: a Schedule from an earlier version may have such a setting.
func TestASettingBeyondTheLimit(t *testing.T) {
	t.Parallel()
	s := newSite()
	p := newInProcess(t, 1, s)
	spec := siteSpec(t, "huge", "", at("a"))
	spec.Policy.MaxJobsPerDetection = 2 * jobtype.MaxJobsLimit
	refused, _ := p.group(spec)
	assert.Equal(t, contract.OutcomeFailed, refused.Outcome)
	assert.Contains(t, refused.Reason, "INVALID: max_jobs_per_detection is 2000000, a group has at most 1000000")
	assert.Empty(t, s.order(), "nothing is detected")
}
