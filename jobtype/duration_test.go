package jobtype_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/jobtype"
)

func TestParseDuration(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"45s": 45 * time.Second, "30m": 30 * time.Minute, "2h30m": 150 * time.Minute,
		"7d": 7 * day, "1d12h": 36 * time.Hour, "1.5d": 36 * time.Hour, "0s": 0, "0d": 0,
		" 5s ": 5 * time.Second, "-5s": -5 * time.Second, "250ms": 250 * time.Millisecond,
		"36500d": 36500 * day, "36500d876000h": 2 * 36500 * day,
	} {
		got, err := jobtype.ParseDuration(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got.Std(), text)
	}
}

func TestParseDurationRefusesWhatIsNotClear(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "10", "d", ".d", "-1d", "+1d", "NaNd", "Infd", "1e3d", "0x10d", "1.2.3d", "36501d",
		"1d-5h", "1d+5h", "1d5", "1d 5h", "1d36500d", "36500d2562047h", "1w", "2 hours", "99999999999h",
	} {
		_, err := jobtype.ParseDuration(text)
		require.ErrorContains(t, err, "write it like 45s, 30m, 2h30m or 7d", text)
		require.ErrorContains(t, err, "duration", text)
	}
}

func TestDurationStringHasNoTrailingZeroUnits(t *testing.T) {
	t.Parallel()
	for want, value := range map[string]time.Duration{
		"30m": 30 * time.Minute, "2h": 2 * time.Hour, "2h30m": 150 * time.Minute, "1h0m5s": time.Hour + 5*time.Second,
		"20h": 20 * time.Hour, "10m": 10 * time.Minute, "0s": 0, "10s": 10 * time.Second, "168h": 7 * 24 * time.Hour, "-1h": -time.Hour,
	} {
		assert.Equal(t, want, jobtype.Duration(value).String())
	}
}

func TestDurationRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := jobtype.Duration(rapid.Int64().Draw(t, "nanoseconds"))
		got, err := jobtype.ParseDuration(want.String())
		require.NoError(t, err)
		require.Equal(t, want, got)

		encoded, err := json.Marshal(want)
		require.NoError(t, err)
		var decoded jobtype.Duration
		require.NoError(t, json.Unmarshal(encoded, &decoded))
		require.Equal(t, want, decoded)
	})
}

func TestDaysAreHours(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		days := rapid.IntRange(0, 36500).Draw(t, "days")
		hours := rapid.IntRange(0, 100).Draw(t, "hours")
		got, err := jobtype.ParseDuration(itoa(days) + "d" + itoa(hours) + "h")
		require.NoError(t, err)
		require.Equal(t, time.Duration(days*24+hours)*time.Hour, got.Std())
	})
}

func TestParseDurationNeverPanics(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.RuneFrom([]rune("0123456789.dhms+-eN ")), 0, 12, -1).Draw(t, "text")
		parsed, err := jobtype.ParseDuration(text)
		if err != nil {
			require.Zero(t, parsed)
		}
	})
}

func TestDurationInJSON(t *testing.T) {
	t.Parallel()
	var holder struct {
		D jobtype.Duration `json:"d,omitempty"`
	}
	require.NoError(t, json.Unmarshal([]byte(`{"d":"1d12h"}`), &holder))
	assert.Equal(t, 36*time.Hour, holder.D.Std())

	require.NoError(t, json.Unmarshal([]byte(`{"d":null}`), &holder))
	assert.Equal(t, 36*time.Hour, holder.D.Std(), "null changes nothing")

	for _, bad := range []string{`{"d":30}`, `{"d":true}`, `{"d":"30"}`, `{"d":{}}`} {
		require.ErrorContains(t, json.Unmarshal([]byte(bad), &holder), "write it", bad)
	}
	holder.D = 0
	encoded, err := json.Marshal(holder)
	require.NoError(t, err)
	assert.JSONEq(t, `{}`, string(encoded), "a zero duration is left out")
}
