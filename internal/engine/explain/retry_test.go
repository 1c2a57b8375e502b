package explain

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
)

// A retry of all would execute the first jobs without a key once more, and leave the same ones out.
func TestAJobOverTheLimitSaysHowToRetryIt(t *testing.T) {
	t.Parallel()
	assert.Contains(t, Kept{Key: "k", Why: contract.KeptOverLimit}.String(), "retry again when the new run has ended")
	assert.Contains(t, Kept{Why: contract.KeptOverLimit}.String(), "retry it by its number")
}
