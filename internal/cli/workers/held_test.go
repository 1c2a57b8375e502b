package workers

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
)

// TestALaneIsHeldByARun: the holder of a lane is a run, that of a pool one of its jobs.
func TestALaneIsHeldByARun(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "group/a-1, group/b-1/job-00001", usedBy([]contract.AdmissionUse{{WorkflowID: "group/a-1"}, {WorkflowID: "group/b-1", For: "job-00001"}}))
}
