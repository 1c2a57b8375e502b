package workers

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
)

// TestAnOperatorsWordOnAnAbsentWorker: a request for an absent worker is shown, and takes effect when the
// worker is back.
func TestAnOperatorsWordOnAnAbsentWorker(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		state                 contract.WorkerState
		mode                  string
		leaving               bool
		wantAnswer, wantState string
	}{
		{contract.WorkerOnline, "", false, "node-a is ONLINE", "ONLINE"},
		{contract.WorkerDraining, "draining", false, "node-a is DRAINING", "DRAINING"},
		{contract.WorkerUnreachable, "draining", false, "node-a is UNREACHABLE, and will be DRAINING when it is back", "UNREACHABLE, draining"},
		{contract.WorkerOffline, "cordoned", true, "node-a is OFFLINE, and will be CORDONED when it is back", "OFFLINE, leaving, cordoned"},
		{contract.WorkerOffline, "", false, "node-a is OFFLINE, and will be ONLINE when it is back", "OFFLINE"},
		{contract.WorkerDeleted, "cordoned", false, "node-a is DELETED", "DELETED"},
	} {
		worker := contract.WorkerDetail{
			Registration: contract.WorkerRegistration{ID: "node-a"}, State: c.state, Mode: c.mode, Fresh: true, Leaving: c.leaving,
		}
		assert.Equal(t, c.wantAnswer, operated(worker))
		assert.Equal(t, c.wantState, State(worker).Text)
	}
}
