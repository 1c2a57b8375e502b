package audit

import (
	"fmt"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/lib/pack"
)

// MaxEncoded is the target size of an encoded log: half of the server's limit of an argument.
const MaxEncoded = 1 << 20

// maxDecoded guards against a corrupt input.
const maxDecoded = 64 << 20

type state struct {
	Limit   int                   `json:"limit"`
	MaxAge  time.Duration         `json:"max_age,omitempty"`
	Seq     int64                 `json:"seq"`
	Dropped int64                 `json:"dropped,omitempty"`
	IDs     []uint64              `json:"ids,omitempty"`
	Entries []contract.AuditEntry `json:"entries,omitempty"`
}

// Encode writes at most so many bytes: the oldest entries are left out, and count as dropped. The log is not changed.
func (l *Log) Encode(most int) ([]byte, error) {
	kept := l.entries
	for {
		s := state{Limit: l.limit, MaxAge: l.maxAge, Seq: l.seq, Dropped: l.dropped + int64(len(l.entries)-len(kept)), IDs: l.ids, Entries: kept}
		encoded, err := pack.JSON(s)
		if err != nil || len(encoded) <= most || len(kept) == 0 {
			return encoded, err
		}
		// A little less than the share that would just fit, so that few rounds do.
		kept = kept[len(kept)-len(kept)*most/len(encoded)*19/20:]
	}
}

// Decode is the inverse of [Log.Encode].
func Decode(encoded []byte) (*Log, error) {
	var s state
	if err := pack.OpenJSON(encoded, maxDecoded, &s); err != nil {
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
