package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
)

// TestJobsAndTasksRefuseAlike: the same requests about a job and about a task have the same answers.
func TestJobsAndTasksRefuseAlike(t *testing.T) {
	t.Parallel()
	s := newSite()
	p := newInProcess(t, 4, s)
	t.Cleanup(s.hold("a"))
	group := p.submit(siteSpec(t, "alike", ""), "x", at("b"), at("a")).RunRef
	task := runDAG(t, p.client, compileDAG(t, "version: 1\nname: alike\ntasks:\n  - {id: done, noop: true}\n  - {id: gate, approval: {timeout: 5m}}\n", nil), starter.DAGOptions{Run: "x"})
	var refused *starter.ItemRefusedError
	require.ErrorAs(t, p.client.Runs().ExpireItem(t.Context(), starter.ItemRef{Run: task, ID: "gate"}, ""), &refused)
	assert.Equal(t, contract.CodeNoExpiry, refused.Refusal.Code)
	for name, run := range map[string]struct {
		ref                 starter.RunRef
		done, open, unknown string
	}{
		"jobs":  {group, contract.JobID(1), contract.JobID(2), contract.JobID(99)},
		"tasks": {task, "done", "gate", "absent"},
	} {
		t.Run(name, func(t *testing.T) {
			cancel := func(id string) error {
				return p.client.Runs().CancelItem(t.Context(), starter.ItemRef{Run: run.ref, ID: id}, "a test")
			}
			refused := func(id string) contract.Code {
				var refused *starter.ItemRefusedError
				require.ErrorAs(t, cancel(id), &refused)
				assert.Equal(t, id, refused.Ref.ID)
				return refused.Refusal.Code
			}
			testsuite.WaitFor(t, time.Minute, "one item has ended", func() bool {
				item, err := p.client.Runs().Item(t.Context(), starter.ItemRef{Run: run.ref, ID: run.done})
				return err == nil && item.State == contract.JobCompleted
			})
			assert.Equal(t, contract.CodeAlreadyEnded, refused(run.done))
			require.ErrorIs(t, cancel(run.done), starter.ErrAlreadyEnded)
			assert.Equal(t, contract.CodeUnknownItem, refused(run.unknown))
			require.ErrorIs(t, cancel(run.unknown), starter.ErrNotFound)
			require.NoError(t, cancel(run.open))
		})
	}
}
