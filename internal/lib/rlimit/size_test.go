package rlimit_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/lib/rlimit"
	"github.com/roundsman/roundsman/jobtype"
)

func TestSizes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]rlimit.Size{"0": 0, "65536": 64 << 10, "10MiB": 10 << 20, "2G": 2 << 30, "3 KiB": 3 << 10, "7B": 7} {
		got, err := rlimit.ParseSize(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
		again, err := rlimit.ParseSize(got.String())
		require.NoError(t, err)
		assert.Equal(t, got, again)
	}
	for _, text := range []string{"", "MiB", "-1MiB", "1.5MiB", "10MB", "10mib", "9999999999TiB", "1MiBMiB"} {
		_, err := rlimit.ParseSize(text)
		assert.ErrorContains(t, err, "write it like 512KiB, 10MiB or 2GiB", text)
	}
}

func TestCPU(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]rlimit.CPU{
		`0.5`: {Cores: 0.5}, `"0.01"`: {Cores: 0.01}, `2`: {Cores: 2}, `"8192"`: {Cores: 8192},
		`"90s"`: {Time: jobtype.Duration(90 * time.Second)}, `"1h30m"`: {Time: jobtype.Duration(90 * time.Minute)}, `"365d"`: {Time: jobtype.Duration(365 * 24 * time.Hour)},
	} {
		var got rlimit.CPU
		require.NoError(t, json.Unmarshal([]byte(text), &got), text)
		assert.Equal(t, want, got, text)
		encoded, err := json.Marshal(got)
		require.NoError(t, err)
		var again rlimit.CPU
		require.NoError(t, json.Unmarshal(encoded, &again), string(encoded))
		assert.Equal(t, want, again, text)
	}
	for _, text := range []string{`0`, `"0"`, `-1`, `"NaN"`, `"Inf"`, `8193`, `"0.001"`, `"1.5s"`, `"366d"`, `"0s"`, `""`, `{}`, `true`} {
		var got rlimit.CPU
		assert.ErrorContains(t, json.Unmarshal([]byte(text), &got), "limits.cpu: ", text)
	}
}
