package pack_test

import (
	"bytes"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/internal/lib/pack"
)

func TestWhatIsPackedComesBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		plain := bytes.Repeat(rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "text"), rapid.IntRange(1, 100).Draw(t, "times"))
		packed := pack.Bytes(plain)
		opened, err := pack.Open(packed, len(plain))
		require.NoError(t, err)
		assert.True(t, bytes.Equal(plain, opened))
		assert.Equal(t, packed, pack.Bytes(plain))
	})
}

// The other tests are parallel, so they pack after this one.
func TestPackInAndOutOfABubble(t *testing.T) { //nolint:paralleltest // see above
	synctest.Test(t, func(*testing.T) { pack.Bytes([]byte("in")) })
	pack.Bytes([]byte("out"))
}

func TestStatesThatAreTooLargeOrNone(t *testing.T) {
	t.Parallel()
	bomb := pack.Bytes(make([]byte, 1<<20))
	for want, packed := range map[string][]byte{
		"more than the limit of 1000 bytes": bomb,
		"unpack: invalid input":             []byte("no state at all"),
		"unpack: unexpected EOF":            pack.Bytes([]byte("a state"))[:5],
		"unpack: more than the limit":       bytes.Repeat(pack.Bytes(make([]byte, 100)), 20),
	} {
		_, err := pack.Open(packed, 1000)
		assert.ErrorContains(t, err, want)
	}
	_, err := pack.Open(bomb, 1<<20)
	require.NoError(t, err)
	_, err = pack.Open(nil, 1<<20)
	assert.Error(t, err)
}

func TestJSON(t *testing.T) {
	t.Parallel()
	packed, err := pack.JSON(map[string]int{"a": 1})
	require.NoError(t, err)
	var opened map[string]int
	require.NoError(t, pack.OpenJSON(packed, 100, &opened))
	assert.Equal(t, map[string]int{"a": 1}, opened)
	_, err = pack.JSON(func() {})
	require.Error(t, err)
	require.Error(t, pack.OpenJSON(pack.Bytes([]byte("{")), 100, &opened))
	assert.Error(t, pack.OpenJSON(nil, 100, &opened))
}
