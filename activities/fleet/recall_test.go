package fleet

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
)

// Workers that beat without being registered are requested to look at the registry.
func TestObserveRecallsStrangers(t *testing.T) {
	t.Parallel()
	s := newServer()
	NewObserver(s, "default", Fixed(*fast())).recall(t.Context(), []contract.Incarnation{{ID: "a", Instance: "1"}, {ID: "b", Instance: "2"}})
	s.mu.Lock()
	defer s.mu.Unlock()
	assert.ElementsMatch(t, []string{"refresh " + contract.WorkerWorkflowID("a"), "refresh " + contract.WorkerWorkflowID("b")}, s.asked)
}
