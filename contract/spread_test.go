package contract_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

func TestSpreadOffset(t *testing.T) {
	t.Parallel()
	minute := jobtype.Duration(time.Minute)
	assert.NotEqual(t, contract.SpreadOffset("scrub", minute), contract.SpreadOffset("balance", minute))
	assert.Zero(t, contract.SpreadOffset("scrub", jobtype.Duration(time.Second)))
	assert.Zero(t, contract.SpreadOffset("scrub", 0))
	// A thousand names that differ only in a number fill all seconds of a minute evenly.
	for _, pattern := range []string{"type-%03d", "check_%d", "node-%d-scrub"} {
		due := map[jobtype.Duration]int{}
		for i := range 1000 {
			offset := contract.SpreadOffset(fmt.Sprintf(pattern, i), minute)
			assert.GreaterOrEqual(t, offset, jobtype.Duration(0))
			assert.Less(t, offset, minute)
			assert.Zero(t, offset.Std()%time.Second)
			due[offset]++
		}
		assert.Len(t, due, 60, pattern)
		for offset, count := range due {
			assert.Less(t, count, 40, "%s at %s", pattern, offset)
		}
	}
}
