package nodee2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter/jobtypes"
	"github.com/roundsman/roundsman/testsuite"
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

// TestDaysAreBackfilledAndKept: a backfill starts the runs of the days alone, the ledger has them, and a blackout of
// holidays closes today.
func TestDaysAreBackfilledAndKept(t *testing.T) {
	t.Parallel()
	s := newSite(t, "node-a")
	now := time.Now().UTC()
	var free strings.Builder
	for i := range 3 {
		free.WriteString(now.AddDate(0, 0, i-1).Format(time.DateOnly) + "\n")
	}
	require.NoError(t, os.WriteFile(filepath.Join(s.Dir, "holidays.txt"), []byte(free.String()), 0o600))
	ran := filepath.Join(s.Dir, "ran")
	day := func(before int) time.Time { return now.AddDate(0, 0, -before) }
	s.Apply(fmt.Sprintf(`
version: 1
job_types:
  monthly:
    handler: command
    each_worker: true
    schedule: {cron: "30 2 * * *", days: [last]}
    policy: {overlap: buffer_all}
    execute: {command: [sh, -c, 'echo $ROUNDSMAN_SCHEDULED_AT >> %[1]s']}
  recent:
    handler: command
    each_worker: true
    schedule: {cron: "30 2 * * *", days: ["%[2]d", "%[3]d"]}
    policy: {overlap: buffer_all}
    execute: {command: ["true"]}
  closed:
    handler: command
    each_worker: true
    schedule: {every: 365d, first_run: scheduled}
    blackouts: [{holidays: holidays.txt, note: holidays}]
    execute: {command: [sh, -c, 'echo closed >> %[1]s']}
`, ran, day(2).Day(), day(4).Day()))
	s.Command("start", "monthly", "--backfill", "2026-01-01T00:00:00Z..2026-04-01T00:00:00Z")
	lines := func() []string {
		text, _ := os.ReadFile(ran)
		return strings.Fields(string(text))
	}
	want := []string{"2026-01-31T02:30:00Z", "2026-02-28T02:30:00Z", "2026-03-31T02:30:00Z"}
	testsuite.WaitFor(t, time.Minute, "three runs", func() bool { return len(lines()) == len(want) })
	assert.ElementsMatch(t, want, lines())
	s.Command("start", "recent", "--backfill", day(5).Format(time.RFC3339)+".."+day(1).Format(time.RFC3339))
	ledger := func() string { return s.Command("schedule", "recent", "--since", "6d", "--until", "now") }
	testsuite.WaitFor(t, time.Minute, "two runs are in the ledger", func() bool { return strings.Count(ledger(), "ran") == 2 })
	for before, is := range map[int]bool{2: true, 3: false, 4: true} {
		assert.Equal(t, is, strings.Contains(ledger(), day(before).Format("01-02")+" 02:30"), "%d days ago", before)
	}
	closed := s.Begin("closed")
	testsuite.WaitFor(t, time.Minute, "the run waits for the end of the holidays", func() bool {
		return strings.Contains(s.Command("explain", "closed"), "a blackout: holidays")
	})
	assert.Len(t, lines(), len(want))
	s.Command("start", "closed", "--ignore-window")
	assert.Equal(t, contract.OutcomeCompleted, s.Result(closed).Outcome)
	assert.Len(t, lines(), len(want)+1)
}
