package doctor

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/action"
)

// An unusable worker is named with the reason and the remedy.
func TestDoctorOnWorkers(t *testing.T) {
	t.Parallel()
	worker := func(id string, state contract.WorkerState, fresh bool) contract.WorkerDetail {
		return contract.WorkerDetail{Registration: contract.WorkerRegistration{ID: id, MaxExecute: 4}, State: state, Fresh: fresh}
	}
	well := worker("a", contract.WorkerOnline, true)
	assert.Equal(t, Check{Name: "workers", Verdict: VerdictOK, Found: "1 online with 4 slots"}, checkWorkers([]contract.WorkerDetail{well}))

	none := checkWorkers([]contract.WorkerDetail{worker("b", contract.WorkerOnline, false), worker("c", contract.WorkerDraining, true)})
	assert.Equal(t, VerdictFail, none.Verdict)
	assert.Equal(t, "0 online with 0 slots; b is online, but not fresh (no heartbeat for three intervals), c is draining: nothing can be detected or executed", none.Found)
	assert.Equal(t, "`roundsman resume c`, or `roundsman worker --id NAME`", none.Fix)
	assert.Len(t, none.Actions, 2)

	some := checkWorkers([]contract.WorkerDetail{well, worker("d", contract.WorkerOffline, false)})
	assert.Equal(t, VerdictWarn, some.Verdict)
	assert.Equal(t, "see `roundsman workers`", some.Fix)
	assert.Equal(t, action.ListWorkers, some.Actions[0].Operation)

	cordoned := worker("e", contract.WorkerCordoned, true)
	assert.Equal(t, "`roundsman resume e`; see `roundsman workers`", checkWorkers([]contract.WorkerDetail{well, cordoned}).Fix)
	assert.Equal(t, "see `roundsman workers`", checkWorkers([]contract.WorkerDetail{well, cordoned, worker("f", contract.WorkerCordoned, true)}).Fix, "two buttons would look alike")
}
