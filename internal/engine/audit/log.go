package audit

import (
	"hash/fnv"
	"time"

	"github.com/roundsman/roundsman/contract"
)

const (
	// DefaultEntries is the default number of entries kept.
	DefaultEntries = 4000
	// MaxEntries is the largest number that can be configured.
	MaxEntries = 20_000
	// MaxBytes bounds the size of all entries: 4,000 entries of usual size are a quarter of it.
	MaxBytes = 4 << 20
	// MaxFormers is small: former settings hardly compress, and half of the encoded log is left for texts. The oldest ones are
	// dropped first; their entries stay.
	MaxFormers = 512 << 10
	// A repeat comes within seconds, or after a restart; this is hours of a busy cluster.
	remembered = 4096
)

// Log is the bounded log, from [New] or [Decode]. It is not safe for concurrent use.
type Log struct {
	limit   int
	maxAge  time.Duration // 0: without end
	entries []contract.AuditEntry
	bytes   int
	formers int // of the bytes, those of former settings
	seq     int64
	dropped int64
	// ids are hashes of the last entries, oldest first; known is their set.
	ids   []uint64
	known map[uint64]struct{}
}

// New returns an empty log that keeps so many entries; 0: [DefaultEntries].
func New(limit int) *Log {
	l := &Log{known: map[uint64]struct{}{}}
	l.limit = withinLimits(limit)
	return l
}

func withinLimits(limit int) int {
	if limit <= 0 {
		return DefaultEntries
	}
	return min(limit, MaxEntries)
}

// SetLimit changes how many entries are kept; 0 changes nothing.
func (l *Log) SetLimit(limit int) {
	if limit > 0 {
		l.limit = withinLimits(limit)
		l.trim()
	}
}

// SetMaxAge changes how long entries are kept, with effect at the next record. 0 changes nothing, less than 0 means
// without end.
func (l *Log) SetMaxAge(age time.Duration) {
	if age != 0 {
		l.maxAge = max(age, 0)
	}
}

// Record takes entries in order and returns how many were new. An entry without an ID always counts.
func (l *Log) Record(now time.Time, entries ...contract.AuditEntry) int {
	taken := 0
	for _, entry := range entries {
		if !l.isNew(entry.ID) {
			continue
		}
		if entry.At.IsZero() {
			entry.At = now
		}
		entry = kept(entry)
		l.seq++
		entry.Seq = l.seq
		l.entries = append(l.entries, entry)
		l.weigh(entry)
		taken++
	}
	if l.maxAge > 0 {
		l.drop(func(oldest contract.AuditEntry) bool { return now.Sub(oldest.At) > l.maxAge })
	}
	l.trim()
	return taken
}

func (l *Log) isNew(id string) bool {
	if id == "" {
		return true
	}
	digest := fnv.New64a()
	digest.Write([]byte(id)) // It never fails.
	sum := digest.Sum64()
	if _, seen := l.known[sum]; seen {
		return false
	}
	l.known[sum] = struct{}{}
	l.ids = append(l.ids, sum)
	if len(l.ids) > remembered {
		delete(l.known, l.ids[0])
		l.ids = l.ids[1:]
	}
	return true
}

func (l *Log) trim() {
	for i := 0; l.formers > MaxFormers; i++ {
		size := len(l.entries[i].Former)
		l.entries[i].Former = nil
		l.bytes -= size
		l.formers -= size
	}
	l.drop(func(contract.AuditEntry) bool { return len(l.entries) > l.limit || l.bytes > MaxBytes })
}

func (l *Log) weigh(entry contract.AuditEntry) {
	l.bytes += weight(entry)
	l.formers += len(entry.Former)
}

func (l *Log) drop(superfluous func(oldest contract.AuditEntry) bool) {
	for len(l.entries) > 0 && superfluous(l.entries[0]) {
		l.bytes -= weight(l.entries[0])
		l.formers -= len(l.entries[0].Former)
		l.entries[0] = contract.AuditEntry{} // Its texts are not kept by the array behind the slice.
		l.entries = l.entries[1:]
		l.dropped++
	}
}

// Len is how many entries are kept.
func (l *Log) Len() int { return len(l.entries) }

// Dropped is how many entries were dropped for the bounds.
func (l *Log) Dropped() int64 { return l.dropped }

// Limit is how many entries are kept at most.
func (l *Log) Limit() int { return l.limit }
