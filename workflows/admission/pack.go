package admission

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"

	"github.com/roundsman/roundsman/internal/engine/admission"
)

// maxUnpacked bounds what is unpacked, as a guard against a corrupt input.
const maxUnpacked = 64 << 20

func packJSON(value any) ([]byte, error) {
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	if err := json.NewEncoder(writer).Encode(value); err != nil {
		return nil, err
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

func unpackJSON(packed []byte, into any) error {
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return fmt.Errorf("unpack the state: %w", err)
	}
	if err := json.NewDecoder(io.LimitReader(reader, maxUnpacked)).Decode(into); err != nil {
		return fmt.Errorf("read the state: %w", err)
	}
	return nil
}

func unpackState(packed []byte) (*admission.Core, error) {
	var snapshot admission.Snapshot
	if err := unpackJSON(packed, &snapshot); err != nil {
		return nil, err
	}
	return admission.Restore(snapshot)
}
