package contract_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
)

// TestAttemptIDs checks that the id of an attempt leads back to its job or task and is unique.
func TestAttemptIDs(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, job := range []string{contract.JobID(1), contract.JobID(12), "ship", "ship.fra", "ship.#0", "ship.#2", "ship.1.5", "a-b_c"} {
		assert.Equal(t, job, contract.AttemptID(job, 1), "the first attempt is found under the job's own name")
		for n := 1; n < 13; n++ {
			id := contract.AttemptID(job, n)
			assert.False(t, seen[id], id)
			seen[id] = true
			assert.Equal(t, job, contract.JobOfAttempt(id))
			for of, adopts := range map[string]bool{id: false, contract.AdoptionID(job, n, 3): true} {
				parsed, attempt, adoption := contract.ParseAttemptID(of)
				assert.Equal(t, []any{job, n, adopts}, []any{parsed, attempt, adoption}, of)
			}
		}
	}
	number, ok := contract.JobNumber(contract.AttemptID(contract.JobID(12), 3))
	assert.True(t, ok)
	assert.Equal(t, 12, number)
}
