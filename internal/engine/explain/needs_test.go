package explain

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestNeedsOfAPerson: each code that stays until a person acts is listed once with its actions, the others are not.
func TestNeedsOfAPerson(t *testing.T) {
	t.Parallel()
	var things []Thing
	for _, code := range Codes() {
		things = append(things, Thing{Kind: "thing", Name: string(code), Facts: fixtures()[code]})
	}
	var listed []Code
	for _, need := range NeedsPerson(things) {
		assert.Equal(t, string(need.Code), need.Name)
		assert.NotEmpty(t, need.Actions, need.Code)
		listed = append(listed, need.Code)
	}
	assert.Equal(t, []Code{
		ControlPlaneDown, WorkflowStuck, Paused, RetryBudget, Held, AwaitingApproval, NoWorker, WorkerUnreachable, WorkerCordoned, NoReceiver, ReceiverFailing,
	}, listed)
	soon, late, never := task("a", AwaitingApproval, "a"), task("b", AwaitingApproval, "b"), task("c", AwaitingApproval, "c")
	soon.Item.Waits[0].Until, never.Item.Waits[0].Until = now, now.AddDate(0, 0, 1)
	var order []string
	for _, need := range NeedsPerson([]Thing{{Name: "never", Facts: never}, {Name: "late", Facts: late}, {Name: "soon", Facts: soon}}) {
		order = append(order, need.Name)
	}
	assert.Equal(t, []string{"soon", "late", "never"}, order, "by deadline")
}
