package wire_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/dag/internal/wire"
)

const magic = "TST1"

func open(t require.TestingT, body []byte) *wire.Reader {
	in, err := wire.Unseal(wire.Sealed(append([]byte(magic), body...)), magic)
	require.NoError(t, err)
	return in
}

// TestColumnsHaveOneEncoding: what Runs accepts, AppendRuns writes, and the other way round.
func TestColumnsHaveOneEncoding(t *testing.T) {
	t.Parallel()
	const low, high = -3, 4
	read := func(body []byte, n int) ([]int64, error) {
		values, in := make([]int64, n), open(t, body)
		in.Runs(n, low, high, func(i int, v int64) { values[i] = v })
		return values, in.End()
	}
	rapid.Check(t, func(t *rapid.T) {
		column := rapid.SliceOfN(rapid.Int64Range(low, high), 0, 12).Draw(t, "column")
		body := wire.AppendRuns(nil, len(column), func(i int) int64 { return column[i] })
		back, err := read(body, len(column))
		require.NoError(t, err)
		require.Equal(t, column, back[:len(column):len(column)])

		if len(body) > 0 {
			body[rapid.IntRange(0, len(body)-1).Draw(t, "at")] ^= byte(rapid.IntRange(1, 255).Draw(t, "bits"))
			if back, err := read(body, len(column)); err == nil {
				require.Equal(t, body, wire.AppendRuns(nil, len(back), func(i int) int64 { return back[i] }))
				for _, v := range back {
					require.True(t, v >= low && v <= high)
				}
			}
		}
	})
	run := func(delta int64, n uint64) []byte {
		return binary.AppendUvarint(binary.AppendUvarint(nil, wire.Zigzag(delta)), n)
	}
	for name, c := range map[string]struct {
		body []byte
		n    int
	}{
		"an empty run": {run(1, 0), 0 + 1}, "a run that is split": {append(run(1, 1), run(1, 1)...), 2}, "too long": {run(0, 3), 2}, "above": {run(5, 1), 1}, "below": {run(-4, 1), 1},
		"leaves the range later": {run(1, 5), 5}, "far outside": {run(math.MaxInt64, 1), 1}, "far below": {run(math.MinInt64, 1), 1}, "overflows": {run(math.MaxInt64/2, 4), 4},
	} {
		_, err := read(c.body, c.n)
		require.ErrorIs(t, err, wire.ErrCorrupt, name)
	}
	for n, delta := range map[int]int64{4: 1, 3: -1} { // To both ends of the range.
		values, err := read(run(delta, uint64(n)), n)
		require.NoError(t, err)
		require.Equal(t, delta*int64(n), values[n-1])
	}
}

// TestNumbersHaveOneEncoding.
func TestNumbersHaveOneEncoding(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n, small, text := rapid.Int64().Draw(t, "n"), rapid.Int32().Draw(t, "small"), rapid.SliceOf(rapid.Byte()).Draw(t, "text")
		body := wire.AppendBytes(binary.AppendUvarint(binary.AppendUvarint(nil, wire.Zigzag(n)), wire.Zigzag(int64(small))), text)
		in := open(t, append(body, 7, 2))
		require.Equal(t, n, wire.Unzigzag(in.Uvarint()))
		require.Equal(t, small, in.Int32())
		require.Equal(t, text, append([]byte{}, in.Bytes("text")...))
		require.Equal(t, 2, in.Left())
		require.Equal(t, byte(7), in.Byte(8, "number"))
		require.Equal(t, 2, in.Count(2, "things"))
		require.NoError(t, in.End())
	})
	assert.LessOrEqual(t, wire.Zigzag(-3), uint64(6), "small numbers of both signs are short")
	for name, c := range map[string]struct {
		body []byte
		read func(*wire.Reader)
	}{
		"a number with a zero behind it": {[]byte{0x81, 0}, func(r *wire.Reader) { r.Uvarint() }}, "a number that ends": {[]byte{0x81}, func(r *wire.Reader) { r.Uvarint() }}, "no number": {nil, func(r *wire.Reader) { r.Uvarint() }},
		"a count above the limit": {[]byte{3}, func(r *wire.Reader) { r.Count(2, "things") }}, "a count with a negative limit": {[]byte{0}, func(r *wire.Reader) { r.Count(-1, "things") }},
		"a byte at its limit": {[]byte{8}, func(r *wire.Reader) { r.Byte(8, "number") }}, "no byte": {nil, func(r *wire.Reader) { r.Byte(8, "number") }},
		"more bytes than there are": {[]byte{2, 'a'}, func(r *wire.Reader) { r.Bytes("text") }}, "bytes that are left": {[]byte{1}, func(*wire.Reader) {}},
		"more than 32 bits": {binary.AppendUvarint(nil, wire.Zigzag(math.MaxInt32+1)), func(r *wire.Reader) { r.Int32() }}, "less than 32 bits": {binary.AppendUvarint(nil, wire.Zigzag(math.MinInt32-1)), func(r *wire.Reader) { r.Int32() }},
	} {
		in := open(t, c.body)
		c.read(in)
		require.ErrorIs(t, in.End(), wire.ErrCorrupt, name)
		assert.Zero(t, in.Uvarint(), "%s: nothing is read after a fault", name)
		assert.Zero(t, in.Byte(255, "number"), name)
		assert.Empty(t, in.Take(1), name)
		first := in.Err()
		in.Fail("another fault")
		assert.Equal(t, first, in.Err(), name)
	}
}

// TestBytesOfAReaderCannotBeOverwritten by appending to those before them.
func TestBytesOfAReaderCannotBeOverwritten(t *testing.T) {
	t.Parallel()
	in := open(t, []byte("abcd"))
	first := in.Take(2)
	_ = append(first, 'x')
	assert.Equal(t, []byte("cd"), in.Take(2))
}

// TestASealIsChecked: damage and other versions are distinguished.
func TestASealIsChecked(t *testing.T) {
	t.Parallel()
	sealed := wire.Sealed([]byte(magic + "body"))
	in, err := wire.Unseal(sealed, magic)
	require.NoError(t, err)
	assert.Equal(t, []byte("body"), in.Take(4))
	require.NoError(t, in.End())
	_, err = wire.Unseal(sealed, "TST2")
	require.ErrorIs(t, err, wire.ErrVersion)
	_, err = wire.Unseal(sealed, "OTH1")
	require.ErrorIs(t, err, wire.ErrCorrupt)
	for n := range sealed {
		_, err = wire.Unseal(sealed[:n], magic)
		require.ErrorIs(t, err, wire.ErrCorrupt)
		damaged := append([]byte{}, sealed...)
		damaged[n] ^= 1
		_, err = wire.Unseal(damaged, magic)
		require.Error(t, err)
	}
	empty, err := wire.Unseal(wire.Sealed([]byte(magic)), magic)
	require.NoError(t, err)
	require.NoError(t, empty.End())
}
