package launch_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/lib/launch"
	"github.com/roundsman/roundsman/internal/lib/rlimit"
)

func TestLimits(t *testing.T) {
	t.Parallel()
	read, err := launch.Decode([]byte(`{"limits": {"memory": "2GiB", "pids": 200, "open_files": 4096, "core": "0", "cpu": "1.5"}}`))
	require.NoError(t, err)
	assert.Empty(t, read.Faults())
	assert.Equal(t, rlimit.Limits{Memory: 2 << 30, PIDs: 200, OpenFiles: 4096, Core: new(rlimit.Size), CPU: rlimit.CPU{Cores: 1.5}}, read.Limits)
	for text, want := range map[string]string{
		`{"limits": {"memory": "1KiB"}}`:    "limits.memory: 1KiB is too little: use 1MiB or more",
		`{"limits": {"pids": -1}}`:          "limits.pids: -1 is out of range: use 1 to 4194304",
		`{"limits": {"open_files": 3}}`:     "limits.open_files: 3 is out of range: use 8 to 4194304",
		`{"limits": {"pids": 99999999999}}`: "limits.pids: 99999999999 is out of range",
	} {
		read, err := launch.Decode([]byte(text))
		require.NoError(t, err)
		require.Len(t, read.Faults(), 1, text)
		assert.ErrorContains(t, read.Faults()[0], want)
	}
	for text, want := range map[string]string{`{"limits": {"memory": "2GB"}}`: "is no size", `{"limits": {"cpu": "fast"}}`: "neither a number of CPUs", `{"limits": {"cpu": "0"}}`: "neither a number of CPUs", `{"limits": {"cpu": "500ms"}}`: "neither a number of CPUs"} {
		_, err := launch.Decode([]byte(text))
		assert.ErrorContains(t, err, want)
	}
	for _, text := range []string{`"0.5"`, `"2"`, `"10m"`} {
		var cpu rlimit.CPU
		require.NoError(t, json.Unmarshal([]byte(text), &cpu))
		again, err := json.Marshal(cpu)
		require.NoError(t, err)
		assert.JSONEq(t, text, string(again))
	}
}
