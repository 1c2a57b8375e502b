package run_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/admission"
	"github.com/roundsman/roundsman/workflows/run"
)

// TestEachClaimAssertsItsOwnKeys, those of this moment: the link keeps no list of held keys. A waiting request has them all.
func TestEachClaimAssertsItsOwnKeys(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ids := []string{"backlog.chunk-1", "backlog.chunk-2"}
	b.RegisterDelayedCallback(func() {
		answer := contract.AdmissionAnswer{Holder: b.requests[0].Holder}
		for i, id := range ids {
			answer.Granted = append(answer.Granted, contract.AdmissionGrant{ID: id, Fence: int64(i + 1), Fences: 1 << 20})
		}
		b.SignalWorkflow(contract.SignalAdmissionAnswer, answer)
	}, time.Second)
	b.RegisterDelayedCallback(func() { b.SignalWorkflow(contract.SignalReassert, nil) }, 2*time.Second)
	open := map[string][]uint64{ids[0]: {1}, ids[1]: {3, 4}} // The job of key 2 has ended.
	b.ExecuteWorkflow(func(ctx workflow.Context) error {
		r := run.New(ctx, run.Options{JobType: "scrub"})
		r.Admission.RequestKeys(ids[0], []uint64{1, 2})
		r.Admission.RequestKeys(ids[1], []uint64{3, 4})
		r.Admission.RequestKeys("backlog.chunk-3", []uint64{5})
		for until := r.Now().Add(4 * time.Second); r.Now().Before(until); {
			if err := r.Wait(until, true, r.Ready); err != nil {
				return err
			}
			r.Collect()
			r.Answers(func() run.Keys {
				return func(id string) []byte { return admission.PackKeys(open[id]) }
			})
		}
		return r.Close()
	})
	require.NoError(t, b.GetWorkflowError())
	var asserted *contract.AdmissionRequest
	for i := range b.requests {
		if b.requests[i].Reassert {
			asserted = &b.requests[i]
		}
	}
	require.NotNil(t, asserted)
	held := map[string][]byte{}
	for _, one := range asserted.Held {
		held[one.ID] = one.Keys
	}
	assert.Equal(t, map[string][]byte{ids[0]: admission.PackKeys([]uint64{1}), ids[1]: admission.PackKeys([]uint64{3, 4})}, held)
	require.Len(t, asserted.Items, 1)
	assert.Equal(t, admission.PackKeys([]uint64{5}), asserted.Items[0].Keys)
}

// TestFreedKeysDoNotTravel: a new admission does not hold them. It gets the failures that count against a retry budget.
func TestFreedKeysDoNotTravel(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	at := time.Unix(1000, 0).UTC()
	ended := contract.AdmissionEndings{
		SuccessAt: at, Done: admission.PackKeys([]uint64{1}), Settled: admission.PackKeys([]uint64{2}),
		Failed: []contract.AdmissionFailure{{Attempt: "job-00001.1", At: at}},
	}
	counted := ended
	counted.Settled = nil
	b.ExecuteWorkflow(func(ctx workflow.Context) error {
		for _, budget := range []*contract.RetryBudget{nil, {}} {
			link := run.New(ctx, run.Options{JobType: "scrub", Request: contract.AdmissionRequest{Budget: budget}}).Admission
			link.RequestKeys("claims", []uint64{1, 2})
			link.Report(ended)
			counted.At = workflow.Now(ctx)
			if told := link.State().Told; budget == nil {
				assert.Empty(t, told)
			} else {
				assert.Equal(t, []contract.AdmissionEndings{counted}, told)
			}
		}
		return nil
	})
	require.NoError(t, b.GetWorkflowError())
}
