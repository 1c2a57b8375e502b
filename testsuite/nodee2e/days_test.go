package nodee2e

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/starter/jobtypes"
)

// TestTheServerKnowsTheLastDay: the ticks of a real server are the days of the calendar, so next
// runs, backfills and the ledger have them, too.
func TestTheServerKnowsTheLastDay(t *testing.T) {
	t.Parallel()
	s := newSite(t, "node-a")
	require.NoError(t, os.WriteFile(filepath.Join(s.Dir, "holidays.txt"), []byte("# of 2027\n2027-01-31 a holiday\n2027-12-25\n"), 0o600))
	text := `
version: 1
job_types:
  monthly:
    handler: command
    each_worker: true
    schedule: {cron: "30 2 * * *", days: [last, first sun], timezone: Europe/Berlin}
    execute: {command: ["true"]}
  works:
    handler: command
    each_worker: true
    schedule: {cron: "0 3 * * *", days: ["-2"], except_holidays: holidays.txt, holidays: holidays.txt}
    blackouts: [{holidays: holidays.txt}]
    execute: {command: ["true"]}
  free:
    handler: command
    each_worker: true
    schedule: {cron: "0 3 * * *", days: [last], except_holidays: holidays.txt}
    execute: {command: ["true"]}
`
	s.Apply(text)
	s.Command("plan", "--config", filepath.Join(s.Dir, "jobs.yaml"), "--allow-unregistered")
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	from, to := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2029, 1, 1, 0, 0, 0, 0, time.UTC)
	due := func(name string, zone *time.Location) (days []string) {
		ticks, err := jobtypes.Of(s.Client).Due(t.Context(), name, from, to)
		require.NoError(t, err)
		for _, at := range ticks {
			days = append(days, at.In(zone).Format("2006-01-02 15:04"))
		}
		return days
	}
	var monthly, free []string
	for date := from; date.Before(to); date = date.AddDate(0, 0, 1) {
		last, sunday := date.AddDate(0, 0, 1).Day() == 1, date.Weekday() == time.Sunday && date.Day() <= 7
		if last || sunday {
			monthly = append(monthly, date.Format("2006-01-02")+" 02:30")
		}
		if last && date.Format(time.DateOnly) != "2027-01-31" {
			free = append(free, date.Format("2006-01-02")+" 03:00")
		}
	}
	assert.Equal(t, monthly, due("monthly", berlin))
	assert.Equal(t, free, due("free", time.UTC))
	assert.Contains(t, due("works", time.UTC), "2028-02-28 03:00", "the day before the last of a leap year")
	shown := s.Command("show", "monthly")
	next, err := jobtypes.Of(s.Client).Due(t.Context(), "monthly", time.Now(), to)
	require.NoError(t, err)
	assert.Contains(t, shown, next[0].UTC().Format("2006-01-02 15:04:05 UTC"))
}
