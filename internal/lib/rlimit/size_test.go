package rlimit_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/lib/rlimit"
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
