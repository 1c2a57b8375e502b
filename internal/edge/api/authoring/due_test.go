package authoring

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

func TestNextInstants(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, time.December, 24, 12, 0, 0, 0, time.UTC)
	hour := jobtype.Duration(time.Hour)
	for _, row := range []struct {
		name string
		of   contract.ScheduleSpec
		want []string
	}{
		{"an interval counts from 1970", contract.ScheduleSpec{Every: 6 * hour, Offset: hour}, []string{"2026-12-24T13:00:00Z", "2026-12-24T19:00:00Z", "2026-12-25T01:00:00Z"}},
		{"an instant itself is not after it", contract.ScheduleSpec{Every: hour}, []string{"2026-12-24T13:00:00Z", "2026-12-24T14:00:00Z", "2026-12-24T15:00:00Z"}},
		{"weeks begin on a Thursday, as 1970 did", contract.ScheduleSpec{Every: 168 * hour}, []string{"2026-12-31T00:00:00Z", "2027-01-07T00:00:00Z", "2027-01-14T00:00:00Z"}},
		{"an interval that divides no day", contract.ScheduleSpec{Every: 5 * hour, Offset: hour}, []string{"2026-12-24T17:00:00Z", "2026-12-24T22:00:00Z", "2026-12-25T03:00:00Z"}},
		{"each minute of a rare day", contract.ScheduleSpec{Cron: []string{"* * * * *"}, Days: []string{"2027-06-01"}, Timezone: "Europe/Berlin"}, []string{"2027-05-31T22:00:00Z", "2027-05-31T22:01:00Z", "2027-05-31T22:02:00Z"}},
		{"several crons in a zone", contract.ScheduleSpec{Cron: []string{"0 2 * * *", "30 3 * * *"}, Timezone: "Europe/Berlin"}, []string{"2026-12-25T01:00:00Z", "2026-12-25T02:30:00Z", "2026-12-26T01:00:00Z"}},
		{"days and exceptions", contract.ScheduleSpec{Cron: []string{"0 2 * * *"}, Days: []string{"fri", "last"}, Except: []string{"2026-12-25"}}, []string{"2026-12-31T02:00:00Z", "2027-01-01T02:00:00Z", "2027-01-08T02:00:00Z"}},
		{"never again", contract.ScheduleSpec{Cron: []string{"0 2 * * *"}, Days: []string{"2020-02-29"}}, nil},
	} {
		found, err := nextInstants(row.of, from, 3)
		require.NoError(t, err, row.name)
		var got []string
		for _, at := range found {
			got = append(got, at.Format(time.RFC3339))
		}
		assert.Equal(t, row.want, got, row.name)
	}
	for _, every := range []jobtype.Duration{168 * hour, 72 * hour, 36 * hour, 7 * hour, 5 * hour} {
		found, err := nextInstants(contract.ScheduleSpec{Every: every, Offset: hour}, from, 1)
		require.NoError(t, err)
		interval := int64(every.Std().Seconds())
		assert.Equal(t, ((from.Unix()-3600)/interval+1)*interval+3600, found[0].Unix(), "Temporal's rule for %s", every)
	}
	_, err := nextInstants(contract.ScheduleSpec{Cron: []string{"x"}}, from, 3)
	require.Error(t, err)
}
