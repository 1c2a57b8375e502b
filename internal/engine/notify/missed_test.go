package notify_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/notify"
)

// TestAnAbsentWorkerIsReportedOnce: at its first missed run, and again after a run that reached
// all workers.
func TestAnAbsentWorkerIsReportedOnce(t *testing.T) {
	t.Parallel()
	w := watching(t, []contract.NotifyRule{on("ops", contract.NotifyPartial, contract.NotifyRecovered)}, notify.TypeRules{Name: "check"})
	at := time.Duration(0)
	ends := func(id string, outcome contract.Outcome, missed ...string) []string {
		at += time.Second
		ended := run("check", id, outcome, at)
		ended.Missed = missed
		return w.ended(at+time.Second, ended)
	}
	assert.Equal(t, []string{"partial/group/check-1/1 [ops]"}, ends("1", contract.OutcomePartial, "node-b"))
	assert.Empty(t, ends("2", contract.OutcomePartial, "node-b"))
	assert.Equal(t, []string{"partial/group/check-3/3 [ops]"}, ends("3", contract.OutcomePartial, "node-b", "node-c"), "another one")
	assert.Empty(t, ends("4", contract.OutcomePartial, "node-b"), "one of two is back")
	assert.Equal(t, []string{"partial/group/check-5/5 [ops]"}, ends("5", contract.OutcomePartial), "a job failed")
	assert.Empty(t, ends("6", contract.OutcomePartial, "node-b"))
	assert.Equal(t, []string{"recovered/group/check-7/7 [ops]"}, ends("7", contract.OutcomeCompleted))
	assert.Equal(t, []string{"partial/group/check-8/8 [ops]"}, ends("8", contract.OutcomePartial, "node-b"), "absent again")
	assert.Equal(t, []string{"recovered/group/check-9/9 [ops]"}, ends("9", contract.OutcomeCompleted))
	assert.Empty(t, ends("10", contract.OutcomeFailed, "node-b", "node-c"), "no rule reports a failed run")
	assert.Equal(t, []string{"partial/group/check-11/11 [ops]"}, ends("11", contract.OutcomePartial, "node-b"), "it was not reported so far")
}
