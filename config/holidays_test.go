package config_test

import (
	"os"
	"path/filepath"
	"testing"

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
		`{cron: "0 2 * * *", holidays: none.txt}`:    "name a file at or below " + dir,
		`{cron: "0 2 * * *", holidays: ../free.txt}`: "name a file at or below " + dir,
		`{cron: "0 2 1-7 * *", days: [last]}`:        `"0 2 1-7 * *" and days both name days`,
		`{cron: "0 2 * * *", days: [lasts]}`:         `there is no day "lasts"`,
		`{every: 1h, days: [last]}`:                  "has no meaning for every",
	} {
		_, err := load(schedule, "", "2026-12-24\n25.12.\n")
		assert.ErrorContains(t, err, fault, schedule)
	}
}
