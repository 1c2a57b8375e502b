package config_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/jobtype"
)

const windowed = `version: 1
lanes:
  night:
    windows:
      - {from: "20:00", to: "08:00"}
job_types:
  scrub:
    handler: plain
    lane: night
    schedule: {cron: "0 * * * *", timezone: Europe/Berlin}
    windows:
      - days: [mon-fri]
        from: 22:00
        to: "06:00"
      - {days: sun, from: "00:00", to: "24:00", timezone: America/New_York}
    blackouts:
      - {from: 2026-12-24T12:00, to: 2026-12-27T06:00, note: holidays}
    policy: {on_window_end: checkpoint}
`

func TestWindowsAreStoredWithTheirZonesAndDays(t *testing.T) {
	t.Parallel()
	loaded, err := load(windowed)
	require.NoError(t, err)
	assert.Empty(t, loaded.Warnings)
	specs, err := loaded.Specs()
	require.NoError(t, err)
	assert.Equal(t, &jobtype.Calendar{
		Windows: []jobtype.Window{
			{Days: []string{"mon", "tue", "wed", "thu", "fri"}, From: "22:00", To: "06:00", Timezone: "Europe/Berlin"},
			{Days: []string{"sun"}, From: "00:00", To: "24:00", Timezone: "America/New_York"},
		},
		Blackouts: []jobtype.Blackout{{From: "2026-12-24T12:00", To: "2026-12-27T06:00", Timezone: "Europe/Berlin", Note: "holidays"}},
	}, specs[0].Calendar)
	assert.Equal(t, &jobtype.Calendar{Windows: []jobtype.Window{{From: "20:00", To: "08:00", Timezone: "UTC"}}}, specs[0].LaneCalendar)
	assert.Equal(t, jobtype.WindowEndCheckpoint, specs[0].Policy.OnWindowEnd)
	printed, err := loaded.Format("yaml")
	require.NoError(t, err)
	again, err := load(string(printed))
	require.NoError(t, err)
	same, err := again.Specs()
	require.NoError(t, err)
	assert.Equal(t, specs, same, "what is printed means the same")
}

func TestNoWindowsAreStoredNowhere(t *testing.T) {
	t.Parallel()
	loaded, err := load(minimal)
	require.NoError(t, err)
	specs, err := loaded.Specs()
	require.NoError(t, err)
	assert.Nil(t, specs[0].Calendar)
	assert.Nil(t, specs[0].LaneCalendar)
}

func TestWindowFaultsNameTheirLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ from, to, want string }{
		{"days: [mon-fri]", "days: [mon-fry]", `:12:15: job_types.scrub.windows[0].days: there is no day "mon-fry"`},
		{"days: [mon-fri]", "days: []", ":12:15: job_types.scrub.windows[0].days: names no day"},
		{"from: 22:00", "from: 22", ":13:15: job_types.scrub.windows[0].from: is an integer, but must be text: put it in quotes"},
		{"from: 22:00", "from: 9pm", `:13:15: job_types.scrub.windows[0].from: "9pm" is not a time of day`},
		{"from: 22:00", "from: 06:00", ":14:13: job_types.scrub.windows[0].to: 06:00 is the same as from"},
		{"        to: \"06:00\"\n", "", ":12:9: job_types.scrub.windows[0].to: is missing"},
		{"to: \"06:00\"", "until: \"06:00\"", `:14:9: job_types.scrub.windows[0].until: unknown key`},
		{"America/New_York", "America/New_Yrk", "there is no time zone \"America/New_Yrk\""},
		{"to: 2026-12-27T06:00", "to: 2026-12-20T06:00", "blackouts[0].to: 2026-12-20T06:00 is not after from"},
		{"to: 2026-12-27T06:00", "to: 06:00", "blackouts[0].to: \"06:00\" is neither a date"},
		{"blackouts:\n      - {", "blackouts:\n      {", "job_types.scrub.blackouts: is an object, but must be a list"},
		{"note: holidays", "note: " + strings.Repeat("x", 201), "blackouts[0].note: has 201 bytes"},
		{`from: "20:00"`, `from: "20:60"`, "lanes.night.windows[0].from: \"20:60\" is not a time of day"},
		{"on_window_end: checkpoint", "on_window_end: slam", `policy.on_window_end: "slam" is none of drain, checkpoint`},
	} {
		require.Contains(t, windowed, c.from)
		_, err := load(strings.Replace(windowed, c.from, c.to, 1))
		require.ErrorContains(t, err, c.want)
	}
}

func warnings(t *testing.T, yaml string) string {
	t.Helper()
	loaded, err := load(yaml)
	require.NoError(t, err)
	return loaded.Warnings.Error()
}

func TestWindowsThatCannotBeMeant(t *testing.T) {
	t.Parallel()
	_, err := load(strings.Replace(windowed, `from: "20:00", to: "08:00"`, `from: "10:00", to: "11:00", days: sat`, 1))
	require.ErrorContains(t, err, "scrub.windows: there is no moment at which jobs may start")

	assert.Contains(t, warnings(t, strings.NewReplacer("22:00", "22:00", `"06:00"`, `"22:01"`, `days: sun, from: "00:00", to: "24:00"`, `from: "23:00", to: "23:01"`,
		"on_window_end: checkpoint", "detection_timeout: 2m").Replace(windowed)), "no window is longer than 1m, and a detection alone may take detection_timeout, 2m")

	assert.Contains(t, warnings(t, strings.Replace(windowed, `"0 * * * *"`, `"0 12,13 * * tue"`, 1)),
		"no tick of the schedule falls into a window, or so shortly before one that its group would wait for it (1h)")
	assert.Empty(t, warnings(t, strings.Replace(windowed, `"0 * * * *"`, `"0 12,21 * * tue"`, 1)))
	assert.Empty(t, warnings(t, strings.Replace(windowed, `"0 * * * *"`, `"0 12 * * tue"`, 1)), "it waits for a week at most")

	assert.Contains(t, warnings(t, minimal+"    policy: {on_window_end: drain, drain_grace: 1m}\n"), "on_window_end: has no effect without windows")
	assert.Contains(t, warnings(t, minimal+"    policy: {drain_grace: 1m}\n"), "drain_grace: has no effect")
	assert.Empty(t, warnings(t, strings.Replace(windowed, "on_window_end: checkpoint", "drain_grace: 1m", 1)))
}
