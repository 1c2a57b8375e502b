package launch_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/lib/launch"
	"github.com/roundsman/roundsman/jobtype"
)

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
