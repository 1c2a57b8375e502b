package gateway

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSeal(t *testing.T) {
	t.Parallel()
	secret := bytes.Repeat([]byte{7}, MinSecret)
	one, err := newSealer(secret)
	require.NoError(t, err)
	other, err := newSealer(secret)
	require.NoError(t, err)
	stranger, err := newSealer(bytes.Repeat([]byte{8}, MinSecret))
	require.NoError(t, err)

	text, err := one.seal(sealedWorker, identity{ID: "a", Instance: "b"})
	require.NoError(t, err)
	var who identity
	require.NoError(t, other.open(sealedWorker, text, &who), "every gateway with the secret opens it")
	assert.Equal(t, identity{ID: "a", Instance: "b"}, who)
	require.Error(t, stranger.open(sealedWorker, text, &who), "one of another namespace does not")
	require.Error(t, one.open(sealedLease, text, &who), "a token is no lease")
	for i := range []byte(text) {
		altered := []byte(text)
		altered[i] ^= 1
		require.Errorf(t, one.open(sealedWorker, string(altered), &who), "altered at %d", i)
	}
	// For each length, the spare bits of the last letter must be zero.
	for length := range 4 {
		text, err := one.seal(sealedWorker, strings.Repeat("x", length))
		require.NoError(t, err)
		last := []byte(text)
		last[len(last)-1] ^= 1
		var v string
		require.Errorf(t, one.open(sealedWorker, string(last), &v), "length %d", length)
	}
	_, err = newSealer(secret[:MinSecret-1])
	require.ErrorContains(t, err, "at least 32")
}
