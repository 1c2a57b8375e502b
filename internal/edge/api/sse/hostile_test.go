package sse

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestEachEventOfManyStreamsIsReadableAtOnce: streams share their compressors, and a client waits for no later event.
func TestEachEventOfManyStreamsIsReadableAtOnce(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	for seed := range uint64(6) {
		all.Go(func() {
			random := rand.New(rand.NewPCG(seed, 1))
			noise := make([]byte, 3*keptBuffer)
			for i := range noise {
				noise[i] = byte(random.Uint32())
			}
			p, wire, sent := new(packing), bytes.Buffer{}, bytes.Buffer{}
			var unzipped *gzip.Reader
			for _, parts := range [][][]byte{{[]byte("a")}, {noise}, {}, {[]byte(strings.Repeat("b", 5*keptBuffer)), nil, noise[:77]}, {{0}}, {noise[:keptBuffer]}} {
				size := 0
				for _, part := range parts {
					sent.Write(part)
					size += len(part)
				}
				for _, part := range p.packed(parts) {
					wire.Write(part)
				}
				if unzipped == nil {
					var err error
					if unzipped, err = gzip.NewReader(&wire); !assert.NoError(t, err) {
						return
					}
				}
				got := make([]byte, size)
				if _, err := io.ReadFull(unzipped, got); !assert.NoError(t, err) {
					return
				}
				assert.True(t, bytes.Equal(got, sent.Next(size)), "stream %d", seed)
			}
			wire.Write(p.end())
			rest, err := io.ReadAll(unzipped)
			assert.NoError(t, err, "its sum and its length are right")
			assert.Empty(t, rest)
			p.packed([][]byte{{1}})
			assert.Less(t, p.buffer.Cap(), 3*keptBuffer, "a large event is not kept as long as the stream")
		})
	}
	all.Wait()
}

var errGone = errors.New("gone")

// goneClient takes some bytes.
type goneClient struct {
	*httptest.ResponseRecorder

	takes int
}

func (c *goneClient) Write(part []byte) (int, error) {
	if len(part) > c.takes {
		return 0, errGone
	}
	c.takes -= len(part)
	return c.ResponseRecorder.Write(part)
}

func TestAClientThatIsGoneEndsItsStream(t *testing.T) {
	t.Parallel()
	for _, zipped := range []bool{false, true} {
		client := &goneClient{httptest.NewRecorder(), 100}
		out, err := New(client, zipped)
		require.NoError(t, err)
		require.NoError(t, out.Write([]byte("event: a\n\n")))
		assert.True(t, client.Flushed)
		noise := make([]byte, 200)
		for i := range noise {
			noise[i] = byte(i * i)
		}
		require.ErrorIs(t, out.Write([]byte("event: "), noise, []byte("\n\n")), errGone)
		client.takes = 0
		out.End()
		assert.Equal(t, zipped, client.Header().Get("Content-Encoding") == "gzip")
		assert.Equal(t, "Accept-Encoding", client.Header().Get("Vary"), "a cache must not give one form to all")
		assert.Equal(t, http.StatusOK, client.Code)
	}
}
