package codec

import (
	"bytes"
	"crypto/sha256"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"pgregory.net/rapid"
)

func TestTheCodecIsMadeOnce(t *testing.T) {
	assert.Zero(t, testing.AllocsPerRun(10, func() { DataConverter() }))
}

func TestSmallPayloadsStayReadable(t *testing.T) {
	t.Parallel()
	payload, err := DataConverter().ToPayload(map[string]string{"job_type": "scrub"})
	require.NoError(t, err)
	assert.JSONEq(t, `{"job_type":"scrub"}`, string(payload.GetData()))
	assert.Equal(t, "json/plain", string(payload.GetMetadata()[converter.MetadataEncoding]))
}

func TestLargePayloadsAreCompressed(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("a proposal among many; ", 40_000)
	payload, err := DataConverter().ToPayload(large)
	require.NoError(t, err)
	assert.Less(t, len(payload.GetData()), len(large)/50)
	assert.Equal(t, "json/plain", string(payload.GetMetadata()[encodingOriginal]))

	var back string
	require.NoError(t, DataConverter().FromPayload(payload, &back))
	assert.Equal(t, large, back)
}

func TestCodecRoundTrip(t *testing.T) {
	t.Parallel()
	codec := newZstdCodec()
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom([]int{0, 1, compressFrom - 1, compressFrom, compressFrom + 1, 200_000}).Draw(t, "size")
		seed := rapid.SliceOfN(rapid.Byte(), 1, 300).Draw(t, "seed")
		original := &commonpb.Payload{
			Metadata: map[string][]byte{converter.MetadataEncoding: []byte("binary/plain"), "k": seed},
			Data:     bytes.Repeat(seed, size/len(seed)+1)[:size],
		}
		encoded, err := codec.Encode([]*commonpb.Payload{original})
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := codec.Decode(encoded)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(decoded[0].GetData(), original.GetData()) || !bytes.Equal(decoded[0].GetMetadata()["k"], seed) {
			t.Fatalf("payload of %d bytes changed on its way", size)
		}
	})
}

func TestCodecRefusesBombs(t *testing.T) {
	t.Parallel()
	codec := newZstdCodec()
	bomb := codec.encoder.EncodeAll(make([]byte, 4*maxDecoded), nil)
	_, err := codec.Decode([]*commonpb.Payload{{
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte(encodingZstd)},
		Data:     bomb,
	}})
	require.ErrorContains(t, err, "decompress payload")

	_, err = codec.Encode([]*commonpb.Payload{{Data: make([]byte, maxDecoded+1)}})
	require.ErrorContains(t, err, "over the limit")
}

func TestCodecReportsCorruption(t *testing.T) {
	t.Parallel()
	codec := newZstdCodec()
	_, err := codec.Decode([]*commonpb.Payload{{
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte(encodingZstd)},
		Data:     []byte("not zstd at all"),
	}})
	require.ErrorContains(t, err, "decompress payload")
}

// TestHashesLoseTheirBase64: they are the largest part of the history of a group with dedupe keys.
func TestHashesLoseTheirBase64(t *testing.T) {
	t.Parallel()
	var hashes []byte
	for i := range 1024 {
		sum := sha256.Sum256([]byte{byte(i), byte(i >> 8)})
		hashes = append(hashes, sum[:8]...)
	}
	payload, err := DataConverter().ToPayload(map[string][]byte{"keys": hashes})
	require.NoError(t, err)
	assert.Less(t, len(payload.GetData()), len(hashes)*102/100)
}
