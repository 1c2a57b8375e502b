package starter

import (
	"context"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/lib/lists"
)

// maxFailures bounds the failed items read to count their messages.
const maxFailures = 10_000

// FailedStates are the states of the items that [Progress] counts as failed.
func FailedStates() []string { return []string{contract.JobFailed, contract.JobStale} }

// Failures groups the failed items of a closed run by message, the most frequent first. uncounted items are in no
// group. Items missing in the result need a control plane.
func (r Runs) Failures(ctx context.Context, snapshot Snapshot) (failures []explain.Failure, uncounted int) {
	if snapshot.Open() || snapshot.Progress == nil {
		return nil, 0
	}
	failed, listed := snapshot.Progress.Failed, len(snapshot.Failed)
	if failed <= listed {
		return snapshot.Failures()
	}
	items, _, err := r.itemsOf(ctx, snapshot, ItemFilter{States: FailedStates(), Limit: min(failed, maxFailures)})
	if err != nil || len(items) < listed {
		return snapshot.Failures()
	}
	return explain.GroupFailures(lists.Map(items, Item.JobError)), max(0, failed-len(items))
}
