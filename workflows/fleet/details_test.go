package fleet

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/fleet"
)

// TestFleetDetails: the Web UI names the workers without work, with time and cause, and stays
// readable for any size of the fleet.
func TestFleetDetails(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	core := fleet.New(nil, now.Add(-contract.RebuildTime))
	for i := range 13 {
		id := fmt.Sprintf("node-%02d", i)
		core.Next(now.Add(-time.Second), fleet.Register{ID: id, Instance: "i-" + id})
	}
	assert.Equal(t, "**13 online** · just created, workers are still registering", details(core, ""))
	core.Next(now, fleet.Tick{})
	assert.Equal(t, "**13 online**", details(core, ""))

	at := now.Add(time.Minute)
	core.Next(at, fleet.Operate{ID: "node-03", Action: contract.DrainWorker, By: "ann", Reason: "new disks"})
	assert.Equal(t, "**12 online** · 1 draining\n\n- `node-03` DRAINING since 2026-03-01T12:01:00Z: draining: new disks, by ann", details(core, ""))

	later := at.Add(time.Minute)
	core.Next(later, fleet.Resize{ID: "node-03", MaxDetect: 1, MaxExecute: 9, By: "bob"})
	core.Next(later, fleet.Register{ID: "node-03", Instance: "i-node-03", Version: "7"})
	assert.Contains(t, details(core, ""), "`node-03` DRAINING since 2026-03-01T12:01:00Z: draining: new disks, by ann", "later transitions are about something else")

	for i := range 12 {
		core.Next(at, fleet.Operate{ID: fmt.Sprintf("node-%02d", i), Action: contract.CordonWorker, By: "ann"})
	}
	text := details(core, "set frontend.WorkerHeartbeatsEnabled")
	assert.Contains(t, text, "**1 online** · 12 cordoned\n\nThe workers are not observed: set frontend")
	assert.Equal(t, detailedWorkers+1, strings.Count(text, "\n- "))
	assert.Contains(t, text, "\n- … and 2 more: `roundsman workers`")
}
