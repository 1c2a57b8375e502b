package explain

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
)

// TestKeptForSomebodyElse: a free pool or object may be reserved for an older request.
func TestKeptForSomebodyElse(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	mine := contract.AdmissionUse{WorkflowID: "group/a-1", ID: "job-00001.1", For: "job-00001", N: 1, Since: now}
	ahead := contract.AdmissionUse{WorkflowID: "group/b-1", ID: "job-00007.1", For: "job-00007", N: 2, Kept: true}
	why := func(view contract.AdmissionView) []Reason {
		wait := contract.WaitReason{Code: string(contract.CodeResources), Object: mine.ID, Since: now, Detail: "its resources"}
		return Facts{Admission: &view}.admission(wait, mine.WorkflowID, []Reason{{Code: contract.CodeResources}})
	}
	pool := contract.AdmissionPool{Name: "db", Size: 2, Waiting: []contract.AdmissionUse{ahead, mine}}
	reasons := why(contract.AdmissionView{Pools: []contract.AdmissionPool{pool}})
	require.Len(t, reasons, 1)
	assert.Equal(t, contract.CodePoolFull, reasons[0].Code)
	assert.Equal(t, "it needs 1; 0 of 2 are in use, the rest is kept for group/b-1/job-00007, which waited longer", reasons[0].Detail)

	object := contract.AdmissionThing{Name: "volume/1", Waiting: []contract.AdmissionUse{ahead, mine}}
	reasons = why(contract.AdmissionView{Objects: []contract.AdmissionThing{object}})
	require.Len(t, reasons, 1)
	assert.Equal(t, contract.CodeClaimHeld, reasons[0].Code)
	assert.Equal(t, "free, and kept for group/b-1/job-00007, which waited longer", reasons[0].Detail)

	pool.Size = 3
	reasons = why(contract.AdmissionView{Pools: []contract.AdmissionPool{pool}})
	assert.Equal(t, contract.CodeResources, reasons[0].Code, "there is enough for both")
}
