package workers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/workers"
)

// TestAStaleHolderThatAnswersDoesNotFreeItsID: a wait does not help, so the refusal names none.
func TestAStaleHolderThatAnswersDoesNotFreeItsID(t *testing.T) {
	t.Parallel()
	refused := workers.RefusedError{ID: "a", Host: "vm", PID: 7, Age: time.Hour, SinceBeat: 3 * time.Second}
	assert.EqualError(t, &refused, `worker id "a" is held by process 7 on host vm, registered 1h0m0s ago, last heartbeat at most 3s ago: `+
		"stop that process, choose another --id, wait until it is stale, or start with --take-over to fence it")
	refused.Stale, refused.SinceBeat = true, 40*time.Second
	assert.EqualError(t, &refused, `worker id "a" is held by process 7 on host vm, registered 1h0m0s ago, last heartbeat at most 40s ago, and it answers: `+
		"stop that process, choose another --id, or start with --take-over to fence it")
}
