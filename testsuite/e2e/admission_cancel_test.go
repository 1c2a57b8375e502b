package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/testsuite"
)

// TestOperatorsOfAdmission: cancel in the Web UI does not stop admission. After a termination a new one works
// within seconds, without help of the waiting groups. The audit log names the operator of both, and of a reset.
func TestOperatorsOfAdmission(t *testing.T) {
	t.Parallel()
	s := newSite()
	p := newInProcess(t, 20, s)
	plain := p.dial("temporal-cli:ann@desk").Temporal()
	open := s.hold("held")
	defer open()
	first := p.begin("first", siteSpec(t, "first", "default", at("held")))
	testsuite.WaitFor(t, 20*time.Second, "it works", func() bool { return s.present("held") == 1 })
	second := p.begin("second", siteSpec(t, "second", "default", at("free")))
	p.awaitWaiting("default", 1)

	require.NoError(t, plain.CancelWorkflow(t.Context(), contract.AdmissionWorkflowID, ""))
	canceled := audited(t, p.client, "admission.cancel", "admission")
	assert.Equal(t, []string{"ann", "CANCEL_IGNORED"}, []string{canceled.Actor, canceled.Code})
	third := p.begin("third", siteSpec(t, "third", "night", at("free")))
	assert.Equal(t, contract.OutcomeCompleted, p.end(third).Outcome, "it grants as before")
	p.awaitWaiting("default", 1)

	require.NoError(t, plain.TerminateWorkflow(t.Context(), contract.AdmissionWorkflowID, "", "a slip"))
	testsuite.WaitFor(t, 15*time.Second, "the next one has heard both", func() bool {
		view, err := p.client.Admission().View(t.Context(), contract.AdmissionFilter{})
		return err == nil && !view.Recovering && len(view.Lanes) == 1 && view.Lanes[0].Holder != nil && view.Lanes[0].WaitingCount == 1
	})
	terminated := audited(t, p.client, "admission.terminate", "admission")
	assert.Equal(t, []string{"ann", "a slip"}, []string{terminated.Actor, terminated.Detail})

	p.reset(contract.AdmissionWorkflowID)
	audited(t, p.client, "admission.reset", "admission")
	open()
	assert.Equal(t, contract.OutcomeCompleted, p.end(first).Outcome)
	assert.Equal(t, contract.OutcomeCompleted, p.end(second).Outcome)
}
