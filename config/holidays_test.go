package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/config"
)

func TestHolidaysAreReadFromAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	load := func(schedule, more, holidays string) (*config.Config, error) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "free.txt"), []byte(holidays), 0o600))
		file := filepath.Join(dir, "r.yaml")
		require.NoError(t, os.WriteFile(file, []byte("version: 1\njob_types:\n  check:\n    handler: command\n    each_worker: true\n    schedule: "+schedule+"\n"+more), 0o600))
		return config.Load(config.Options{Files: []string{file}, AllowUnregistered: true})
	}
	loaded, err := load(`{cron: "0 2 * * *", days: [last, first sun], except_holidays: free.txt}`, "    blackouts: [{holidays: free.txt, note: free}]\n", "2026-12-25 Christmas\n\n# next\n2026-12-24 # eve\n")
	require.NoError(t, err)
	check := loaded.JobTypes["check"]
	assert.Equal(t, []string{"last", "first sun"}, check.Schedule.Days)
	assert.Equal(t, []string{"2026-12-24", "2026-12-25"}, check.Schedule.Except)
	assert.Equal(t, []string{"2026-12-24", "2026-12-25"}, check.Calendar.Blackouts[0].Days)
	assert.Equal(t, "24:00", check.Calendar.Blackouts[0].To)

	for schedule, fault := range map[string]string{
		`{cron: "0 2 * * *", holidays: free.txt}`:    `free.txt:2: "25.12." is no date: write one per line, like 2026-12-25`,
		`{cron: "0 2 * * *", holidays: none.txt}`:    "none.txt cannot be read: no such file or directory: name a file at or below " + dir,
		`{cron: "0 2 * * *", holidays: ../free.txt}`: "name a file at or below " + dir,
		`{cron: "0 2 1-7 * *", days: [last]}`:        `"0 2 1-7 * *" and days both name days`,
		`{cron: "0 2 * * *", days: [lasts]}`:         `there is no day "lasts"`,
		`{every: 1h, days: [last]}`:                  "has no meaning for every",
	} {
		_, err := load(schedule, "", "2026-12-24\n25.12.\n")
		assert.ErrorContains(t, err, fault, schedule)
	}
}

func TestAFileOfHolidaysIsReadToItsEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	load := func(text int) error {
		day := "2026-12-24 "
		require.NoError(t, os.WriteFile(filepath.Join(dir, "free.txt"), []byte(day+strings.Repeat("x", text-len(day))), 0o600))
		file := filepath.Join(dir, "r.yaml")
		require.NoError(t, os.WriteFile(file, []byte("version: 1\njob_types: {check: {handler: command, each_worker: true, schedule: {cron: \"0 2 * * *\", holidays: free.txt}}}\n"), 0o600))
		_, err := config.Load(config.Options{Files: []string{file}, AllowUnregistered: true})
		return err
	}
	require.NoError(t, load(64<<10))
	require.ErrorContains(t, load(64<<10+1), "free.txt has more than 64 KiB: remove the dates of past years and long texts")
}

// TestCalendarsOfAScheduleAreBounded: the server reads one calendar for each pair of a cron expression and a day.
func TestCalendarsOfAScheduleAreBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var free strings.Builder
	for i := range 400 {
		free.WriteString(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, i).Format(time.DateOnly) + "\n")
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "free.txt"), []byte(free.String()), 0o600))
	load := func(crons int) error {
		file, list := filepath.Join(dir, "r.yaml"), make([]string, crons)
		for i := range list {
			list[i] = fmt.Sprintf("%q", fmt.Sprintf("%d 2 * * *", i))
		}
		require.NoError(t, os.WriteFile(file, []byte("version: 1\njob_types: {check: {handler: command, each_worker: true, schedule: {cron: ["+strings.Join(list, ", ")+"], holidays: free.txt}}}\n"), 0o600))
		_, err := config.Load(config.Options{Files: []string{file}, AllowUnregistered: true})
		return err
	}
	require.NoError(t, load(10))
	require.ErrorContains(t, load(11), "schedule.cron: 11 expressions on 400 days are 4400 calendars of the server, the limit is 4000: join times of a day")
}
