// Package pack compresses the states that workflows carry, with zstd.
package pack

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// maxOpen bounds any unpacked data.
const maxOpen = 512 << 20

// ErrTooLarge is the cause of the error if the limit is exceeded.
var ErrTooLarge = errors.New("more than the limit")

// EncodeAll and DecodeAll are stateless and may be called concurrently.
var (
	encoder = used(must(zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true), zstd.WithAllLitEntropyCompression(true)))) //nolint:gochecknoglobals // stateless
	decoder = must(zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxOpen)))                                                                                  //nolint:gochecknoglobals // stateless
)

// used makes the encoder create its channel. A channel that is created in a synctest bubble can be used only there.
func used(e *zstd.Encoder) *zstd.Encoder {
	e.EncodeAll([]byte{0}, nil)
	return e
}

// must has only constant options to judge.
func must[T any](value T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("zstd refuses constant options: %v", err))
	}
	return value
}

// Bytes packs bytes. The result depends on nothing but them.
//
//workflowcheck:ignore
func Bytes(plain []byte) []byte {
	return encoder.EncodeAll(plain, make([]byte, 0, len(plain)/4))
}

// Open is the inverse of [Bytes]. More than most bytes are an error.
//
//workflowcheck:ignore
func Open(packed []byte, most int) ([]byte, error) {
	var header zstd.Header
	switch err := header.Decode(packed); {
	case err != nil:
		return nil, fmt.Errorf("unpack: %w", err)
	case header.FrameContentSize > uint64(most): //nolint:gosec // limits are positive
		return nil, fmt.Errorf("unpack: %w of %d bytes", ErrTooLarge, most)
	}
	plain, err := decoder.DecodeAll(packed, make([]byte, 0, header.FrameContentSize))
	if err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	if len(plain) > most { // Small and foreign frames have no size.
		return nil, fmt.Errorf("unpack: %w of %d bytes", ErrTooLarge, most)
	}
	return plain, nil
}

// JSON packs a value as JSON.
func JSON(value any) ([]byte, error) {
	plain, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return Bytes(plain), nil
}

// OpenJSON is the inverse of [JSON].
func OpenJSON(packed []byte, most int, into any) error {
	plain, err := Open(packed, most)
	if err != nil {
		return err
	}
	return json.Unmarshal(plain, into)
}
