package sse

import (
	"bytes"
	"compress/gzip"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// At its end a stream of events is a whole gzip file.
func TestPackingEnds(t *testing.T) {
	t.Parallel()
	p := new(packing)
	var file bytes.Buffer
	for _, parts := range [][][]byte{{[]byte("a\n")}, {[]byte("b"), nil, []byte("b\n")}} {
		for _, part := range p.packed(parts) {
			file.Write(part)
		}
	}
	file.Write(p.end())
	r, err := gzip.NewReader(&file)
	require.NoError(t, err)
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	assert.Equal(t, "a\nbb\n", string(text))
}
