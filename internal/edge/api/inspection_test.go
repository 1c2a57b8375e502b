package api

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/action"
	"github.com/roundsman/roundsman/internal/engine/explain"
)

// TestABlankReasonNamesNothing: a caller who may not view all job types gets the code and its times.
func TestABlankReasonNamesNothing(t *testing.T) {
	t.Parallel()
	at := time.Unix(1, 0)
	reason := explain.Reason{
		Code: contract.CodeNoWorker, Of: "group/scrub-1", Object: "disk", Named: true, Holder: &explain.Holder{Run: "group/other-1"}, Since: at, Until: at,
		Detail: "it waits for disk", Remedy: "wait", Hint: "wait", Actions: []action.Action{action.New(action.ListWorkers, nil)}, Actor: "operator",
	}
	blank(&reason)
	assert.Equal(t, explain.Reason{Code: contract.CodeNoWorker, Of: "group/scrub-1", Since: at, Until: at, Actions: []action.Action{}, Actor: "operator"}, reason)
}
