package control_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdktemporal "go.temporal.io/sdk/temporal"

	"github.com/roundsman/roundsman/activities/control"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

func TestWindowsOfBothCalendars(t *testing.T) {
	t.Parallel()
	c := control.New(nil, contract.FleetConfig{})
	in := contract.WindowsInput{
		At: time.Date(2026, 10, 24, 21, 0, 0, 0, time.UTC), JobType: "scrub", Lane: "night",
		Calendar:     &jobtype.Calendar{Windows: []jobtype.Window{{From: "22:00", To: "06:00", Timezone: "Europe/Berlin"}}},
		LaneCalendar: &jobtype.Calendar{Blackouts: []jobtype.Blackout{{From: "23:30", To: "02:30", Timezone: "Europe/Berlin", Note: "backup"}}},
	}
	result, err := c.Windows(t.Context(), in)
	require.NoError(t, err)
	assert.Empty(t, result.Closed)
	require.Len(t, result.Open, contract.MaxWindows)
	var spans []string
	for _, span := range result.Open {
		spans = append(spans, span.From.Format("02T15:04")+" to "+span.To.Format("02T15:04"))
	}
	// The clock shows 02:30 to 03:00 twice that night, and 02:00 to 02:30 too.
	assert.Equal(t, []string{"24T21:00 to 24T21:30", "25T00:30 to 25T01:00", "25T01:30 to 25T05:00", "25T21:00 to 25T22:30"}, spans)
	assert.Equal(t, jobtype.Duration(3*time.Hour+30*time.Minute), result.Longest)

	in.At = in.At.Add(45 * time.Minute)
	result, err = c.Windows(t.Context(), in)
	require.NoError(t, err)
	assert.Equal(t, "lane night: a blackout: backup", result.Closed)
	in.At = in.At.Add(12 * time.Hour)
	in.LaneCalendar = &jobtype.Calendar{Windows: []jobtype.Window{{From: "00:00", To: "01:00"}}}
	result, err = c.Windows(t.Context(), in)
	require.NoError(t, err)
	assert.Equal(t, "job type scrub: outside its windows; lane night: outside its windows", result.Closed)
}

func TestUnreadableWindowsAreNotTriedAgain(t *testing.T) {
	t.Parallel()
	c := control.New(nil, contract.FleetConfig{})
	bad := &jobtype.Calendar{Windows: []jobtype.Window{{From: "22:00", To: "six"}}}
	for _, in := range []contract.WindowsInput{{JobType: "scrub", Calendar: bad}, {JobType: "scrub", Lane: "night", LaneCalendar: bad}} {
		_, err := c.Windows(t.Context(), in)
		var refused *sdktemporal.ApplicationError
		require.ErrorAs(t, err, &refused)
		assert.True(t, refused.NonRetryable())
		assert.Contains(t, refused.Message(), "run apply to repair them")
	}
}
