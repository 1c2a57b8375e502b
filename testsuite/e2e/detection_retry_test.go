package e2e

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/testsuite"
)

// restarting is a handler whose server restarts at the first detection.
type restarting struct {
	*site

	detections atomic.Int32
}

func (r *restarting) Detect(ctx context.Context, in jobtype.DetectInput, out jobtype.ProposalSink) error {
	if r.detections.Add(1) == 1 {
		return errors.New("connection refused")
	}
	return r.site.Detect(ctx, in, out)
}

// TestAFailedDetectionIsTriedAgain: a run whose first detection fails detects again.
func TestAFailedDetectionIsTriedAgain(t *testing.T) {
	t.Parallel()
	h := &restarting{site: newSite()}
	p := newInProcess(t, 4, h)
	run := p.begin("dump-1", siteSpec(t, "dump", "", at("orders"), at("stock")))
	testsuite.WaitFor(t, 30*time.Second, "the run says when it detects again", func() bool {
		answer, err := p.client.Temporal().QueryWorkflow(t.Context(), run.GetID(), "", contract.QueryStatus)
		var status contract.GroupStatus
		return err == nil && answer.Get(&status) == nil && status.Wait != nil && status.Wait.Code == string(contract.CodeBackoff) &&
			assert.Contains(t, status.Waiting, "attempt 1 of 3 failed") && assert.Contains(t, status.Waiting, "connection refused")
	})
	result := p.end(run)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
	assert.Equal(t, 2, result.Counts.Completed)
	assert.EqualValues(t, 2, h.detections.Load())
}
