package workflows

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/internal/fleet"
)

// TestFleetDetails: the Web UI names who gets no work, since when and why, and stays
// readable whatever the size of the fleet.
func TestFleetDetails(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	f := &fleetRun{core: fleet.New(fleet.Config{}, now)}
	for i := range 13 {
		id := fmt.Sprintf("node-%02d", i)
		f.core.Next(now, fleet.Register{Identity: fleet.Identity{ID: id, Instance: "i-" + id}})
	}
	assert.Equal(t, "**13 online**", f.details())

	at := now.Add(time.Minute)
	f.core.Next(at, fleet.Operate{ID: "node-03", Action: fleet.Drain, By: "ann", Reason: "new disks"})
	assert.Equal(t, "**12 online** · 1 draining\n\n- `node-03` DRAINING since 2026-03-01T12:01:00Z: draining: new disks, by ann", f.details())

	later := at.Add(time.Minute)
	f.core.Next(later, fleet.Annotate{ID: "node-03", Note: "resized to 1 detect, 9 execute", By: "bob"})
	f.core.Next(later, fleet.Register{Identity: fleet.Identity{ID: "node-03", Instance: "i-node-03"}, Digest: 7})
	assert.Contains(t, f.details(), "`node-03` DRAINING since 2026-03-01T12:01:00Z: draining: new disks, by ann", "what follows is about something else")

	for i := range 12 {
		f.core.Next(at, fleet.Operate{ID: fmt.Sprintf("node-%02d", i), Action: fleet.Cordon, By: "ann"})
	}
	f.fault = "set frontend.WorkerHeartbeatsEnabled"
	text := f.details()
	assert.Contains(t, text, "**1 online** · 12 cordoned\n\nNobody observes: set frontend")
	assert.Equal(t, detailedWorkers+1, strings.Count(text, "\n- "))
	assert.Contains(t, text, "\n- … and 2 more: `roundsman workers list`")
}
