package launch_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/lib/launch"
	"github.com/roundsman/roundsman/jobtype"
)

func TestSizes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]launch.Size{"0": 0, "65536": 64 << 10, "10MiB": 10 << 20, "2G": 2 << 30, "3 KiB": 3 << 10, "7B": 7} {
		got, err := launch.ParseSize(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
		again, err := launch.ParseSize(got.String())
		require.NoError(t, err)
		assert.Equal(t, got, again)
	}
	for _, text := range []string{"", "MiB", "-1MiB", "1.5MiB", "10MB", "10mib", "9999999999TiB", "1MiBMiB"} {
		_, err := launch.ParseSize(text)
		assert.ErrorContains(t, err, "write it like 512KiB, 10MiB or 2GiB", text)
	}
}

func TestOutputIsBounded(t *testing.T) {
	t.Parallel()
	read, err := launch.Decode([]byte(`{"output": {"keep": "7d", "max": "1MiB"}}`))
	require.NoError(t, err)
	assert.Empty(t, read.Faults())
	assert.Equal(t, jobtype.OutputPolicy{Keep: jobtype.Duration(7 * 24 * 3600e9), Max: 1 << 20}, read.Output.Policy())
	assert.Equal(t, jobtype.OutputPolicy{Keep: jobtype.DefaultOutputKeep, Max: 10 << 20}, launch.Output{}.Policy())
	for text, want := range map[string]string{
		`{"output": {"keep": "0s"}}`:   "output.keep: 0s is out of range: use 1s to ",
		`{"output": {"max": "10KiB"}}`: "output.max: 10KiB is out of range: use 64KiB to 256MiB",
		`{"output": {"max": "1GiB"}}`:  "output.max: 1GiB is out of range",
	} {
		read, err := launch.Decode([]byte(text))
		require.NoError(t, err)
		require.Len(t, read.Faults(), 1)
		assert.ErrorContains(t, read.Faults()[0], want)
	}
	_, err = launch.Decode([]byte(`{"output": {"max": "10MB"}}`))
	assert.ErrorContains(t, err, "is no size")
	assert.NotContains(t, launch.KeysOfAll(), "output")
}
