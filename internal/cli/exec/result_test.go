package exec

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
)

func TestAWarningIsNoFailureOfAWorker(t *testing.T) {
	t.Parallel()
	report := Report{Workers: []Result{{State: stateCompleted}, {State: contract.JobWarning}, {State: stateAbsent}, {State: contract.JobFailed}}}
	report.count()
	assert.Equal(t, 2, report.Completed)
	assert.Equal(t, 2, report.Failed)
}
