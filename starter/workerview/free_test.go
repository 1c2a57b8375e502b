package workerview

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestAnEstimateAsksFew checks that an estimate queries only the runs with most attempts.
func TestAnEstimateAsksFew(t *testing.T) {
	t.Parallel()
	var attempts []attempt
	for i := range 300 {
		attempts = append(attempts, attempt{jobType: fmt.Sprintf("type-%03d", i)})
	}
	attempts = append(attempts, attempt{jobType: "type-200"}, attempt{jobType: "type-200"}, attempt{jobType: "type-100"})
	asked := busiest(attempts, func(one attempt) string { return one.jobType })
	assert.Len(t, asked, mostAsked)
	assert.Equal(t, []string{"type-200", "type-100", "type-000"}, asked[:3])
	assert.Empty(t, busiest(nil, nil))
}
