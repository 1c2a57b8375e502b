// Package codec is the data converter of all clients and workers: JSON, compressed from 4 KiB on.
package codec

import (
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"

	"github.com/roundsman/roundsman/internal/temporal/rpc"
)

const (
	// Smaller payloads stay readable for the Web UI and the plain `temporal` CLI.
	compressFrom = 4 << 10
	// Twice the 8 MiB of a group: a corrupt or hostile payload cannot exhaust the memory of a worker.
	maxDecoded   = 16 << 20
	encodingZstd = "binary/zstd"
	// encodingOriginal keeps the inner encoding, for readers of the raw history.
	encodingOriginal = "roundsman-original-encoding"
)

// DataConverter is the SDK's JSON converter with compression. A process without it can read small payloads only.
func DataConverter() converter.DataConverter {
	return shared
}

// shared has tables and buffers that take longer to make than most payloads to read.
var shared = converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), newZstdCodec()) //nolint:gochecknoglobals // stateless

// zstdCodec compresses large payloads. EncodeAll and DecodeAll are stateless and safe for concurrent use.
type zstdCodec struct {
	encoder *zstd.Encoder
	decoder *zstd.Decoder
}

func newZstdCodec() *zstdCodec {
	// The encoder keeps a buffer of the size of the window, 8 MiB by default.
	encoder, encoderErr := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true),
		zstd.WithAllLitEntropyCompression(true)) // Hashes in JSON have six bits per byte, and no sequences.
	decoder, decoderErr := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxDecoded))
	if err := errors.Join(encoderErr, decoderErr); err != nil {
		panic(fmt.Sprintf("zstd refuses constant options: %v", err))
	}
	encoder.EncodeAll([]byte{0}, nil) // It makes its channel: one that is made in a synctest bubble can be used only there.
	return &zstdCodec{encoder: encoder, decoder: decoder}
}

// Encode implements converter.PayloadCodec.
func (z *zstdCodec) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	encoded := make([]*commonpb.Payload, len(payloads))
	for i, payload := range payloads {
		compressed, err := z.compress(payload)
		if err != nil {
			return payloads, err
		}
		encoded[i] = compressed
	}
	return encoded, nil
}

func (z *zstdCodec) compress(payload *commonpb.Payload) (*commonpb.Payload, error) {
	if len(payload.GetData()) < compressFrom {
		return payload, nil
	}
	plain, err := proto.Marshal(payload)
	if err != nil {
		return nil, fmt.Errorf("compress payload: %w", err)
	}
	if len(plain) > maxDecoded {
		return nil, rpc.Invalidf("payload of %d bytes is over the limit of %d: pass a reference instead of the data", len(plain), maxDecoded)
	}
	packed := z.encoder.EncodeAll(plain, make([]byte, 0, len(plain)/4))
	if len(packed) >= len(plain) {
		return payload, nil
	}
	return &commonpb.Payload{
		Metadata: map[string][]byte{
			converter.MetadataEncoding: []byte(encodingZstd),
			encodingOriginal:           payload.GetMetadata()[converter.MetadataEncoding],
		},
		Data: packed,
	}, nil
}

// Decode implements converter.PayloadCodec. Payloads of other codecs stay unchanged.
func (z *zstdCodec) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	decoded := make([]*commonpb.Payload, len(payloads))
	for i, payload := range payloads {
		if string(payload.GetMetadata()[converter.MetadataEncoding]) != encodingZstd {
			decoded[i] = payload
			continue
		}
		plain, err := z.decoder.DecodeAll(payload.GetData(), nil)
		if err != nil {
			return payloads, fmt.Errorf("decompress payload of %d bytes (at most %d expected): %w", len(payload.GetData()), maxDecoded, err)
		}
		decoded[i] = &commonpb.Payload{}
		if err := proto.Unmarshal(plain, decoded[i]); err != nil {
			return payloads, fmt.Errorf("decode payload: %w", err)
		}
	}
	return decoded, nil
}
