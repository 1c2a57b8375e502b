package jobtypes

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

func TestChangedWindowsAreShown(t *testing.T) {
	t.Parallel()
	before := contract.JobTypeSpec{Name: "scrub", Lane: "night", Calendar: &jobtype.Calendar{
		Windows: []jobtype.Window{{Days: []string{"sat", "sun"}, From: "22:00", To: "06:00", Timezone: "UTC"}, {From: "12:00", To: "13:00", Timezone: "UTC"}},
	}}
	after := before
	after.Calendar = nil
	after.LaneCalendar = &jobtype.Calendar{Blackouts: []jobtype.Blackout{{From: "2026-12-24T12:00", To: "2026-12-27T06:00", Timezone: "UTC", Note: "holidays"}}}
	var lines []string
	for _, change := range specChanges(before, after) {
		lines = append(lines, change.String())
	}
	assert.Equal(t, []string{
		"lanes.night.blackouts: (none) → 2026-12-24T12:00 to 2026-12-27T06:00 UTC (holidays)",
		"windows: sat,sun 22:00-06:00 UTC; 12:00-13:00 UTC → (none)",
	}, lines)
	assert.Empty(t, specChanges(after, after))
	assert.Equal(t, []string{"lane night: blackouts: 2026-12-24T12:00 to 2026-12-27T06:00 UTC (holidays)"}, calendarLines(after))
	assert.Contains(t, detailsOf(before), "\n- windows: sat,sun 22:00-06:00 UTC; 12:00-13:00 UTC\n")
}
