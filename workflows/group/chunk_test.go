package group_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/admission"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/jobtype"
)

// TestKeysThatCannotBeReadAreExplained: the group itself tries again, so that it explains why its jobs wait, and can
// continue as new meanwhile.
func TestKeysThatCannotBeReadAreExplained(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.found = proposals(1)
	var reads atomic.Int64
	var waits []contract.WaitReason
	b.RegisterActivityWithOptions(func(context.Context, contract.ReadKeysInput) ([]byte, error) {
		if reads.Add(1) < 20 {
			return nil, errors.New("the codec has no key")
		}
		return admission.PackKeys([]uint64{1, 2, 3}), nil
	}, activity.RegisterOptions{Name: contract.ReadKeysActivity})
	b.apart = func(in contract.DetectActivityInput) []contract.DetectPageInput {
		return []contract.DetectPageInput{{Attempt: in.Attempt, Seq: 1, Paged: &contract.ProposalPage{
			Page: "p", Count: 3, Classes: []contract.JobClass{{Keyed: true}}, Runs: []contract.ClassRun{{Count: 3}},
		}}}
	}
	b.RegisterDelayedCallback(func() {
		value, err := b.QueryWorkflow(contract.QueryStatus)
		require.NoError(t, err)
		var status contract.GroupStatus
		require.NoError(t, value.Get(&status))
		waits = status.Waits
	}, time.Minute)
	result := b.run(jobtype.Policy{MaxRuntime: jobtype.Duration(24 * time.Hour)})
	require.Len(t, waits, 1)
	assert.Equal(t, explain.TextKeysUnread("the codec has no key"), waits[0].Detail)
	assert.Equal(t, contract.GroupCounts{Detected: 4, Accepted: 4, Completed: 4}, result.Counts)
}
