package workers

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
)

// TestALaneIsHeldByARun: a lane is held by a run, a pool by a job.
func TestALaneIsHeldByARun(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "group/a-1, group/b-1/job-00001", usedBy([]contract.AdmissionUse{{WorkflowID: "group/a-1"}, {WorkflowID: "group/b-1", For: "job-00001"}}))
}
