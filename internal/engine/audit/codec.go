package audit

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/roundsman/roundsman/contract"
)

// MaxEncoded is the target size of an encoded log: half of the server's limit of an argument.
const MaxEncoded = 1 << 20

// maxDecoded guards against a corrupt input.
const maxDecoded = 64 << 20

// state is the log as it travels.
type state struct {
	Limit   int                   `json:"limit"`
	MaxAge  time.Duration         `json:"max_age,omitempty"`
	Seq     int64                 `json:"seq"`
	Dropped int64                 `json:"dropped,omitempty"`
	IDs     []uint64              `json:"ids,omitempty"`
	Entries []contract.AuditEntry `json:"entries,omitempty"`
}

// Encode writes the log in at most so many bytes: of texts that do not compress
// the oldest entries are left out, and count as dropped. The log itself is not
// changed.
func (l *Log) Encode(most int) ([]byte, error) {
	kept := l.entries
	for {
		s := state{Limit: l.limit, MaxAge: l.maxAge, Seq: l.seq, Dropped: l.dropped + int64(len(l.entries)-len(kept)), IDs: l.ids, Entries: kept}
		encoded, err := s.encode()
		if err != nil || len(encoded) <= most || len(kept) == 0 {
			return encoded, err
		}
		// A little less than the share that would just fit, so that few rounds do.
		kept = kept[len(kept)-len(kept)*most/len(encoded)*19/20:]
	}
}

func (s state) encode() ([]byte, error) {
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	if err := json.NewEncoder(writer).Encode(s); err != nil {
		return nil, fmt.Errorf("encode the log: %w", err)
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("pack the log: %w", err)
	}
	return packed.Bytes(), nil
}

// Decode is the inverse of [Log.Encode].
func Decode(encoded []byte) (*Log, error) {
	reader, err := gzip.NewReader(bytes.NewReader(encoded))
	if err != nil {
		return nil, fmt.Errorf("unpack the log: %w", err)
	}
	var s state
	if err := json.NewDecoder(io.LimitReader(reader, maxDecoded)).Decode(&s); err != nil {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	l := New(s.Limit)
	l.maxAge = s.MaxAge
	l.seq, l.dropped, l.ids, l.entries = s.Seq, s.Dropped, s.IDs, s.Entries
	for _, id := range s.IDs {
		l.known[id] = struct{}{}
	}
	for _, entry := range s.Entries {
		l.weigh(entry)
	}
	l.trim()
	return l, nil
}
