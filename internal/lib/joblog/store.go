// Package joblog stores the output of a worker's jobs: the end in memory, all up to a bound in an [Archive], also for
// the next process.
package joblog

import (
	"io"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/roundsman/roundsman/jobtype"
)

const (
	// MaxRunning bounds the output of a running job in memory.
	MaxRunning = 1 << 20
	// MaxEnded bounds the output of an ended job in memory.
	MaxEnded = 16 << 10
	// fresh is the number of recently ended jobs with their full output, for followers.
	fresh = 8
	// MaxLogs bounds the ended jobs in memory: 4 MiB at most.
	MaxLogs = 256
	// MaxChunk bounds the result of one Read, which is the answer of a query.
	MaxChunk = 256 << 10
)

// slack is the output beyond MaxRunning before a trim, so that bytes move once per slack.
const slack = MaxRunning / 4

// Key identifies an attempt. Job and Group are as in its execution.
type Key struct {
	Group, Job string
	Attempt    int
}

// Chunk is a part of the output of an attempt. Offsets count bytes from its beginning.
type Chunk struct {
	Attempt int
	// Offset is the start of Text. It is later than the requested one if that part is gone.
	Offset, Next int64
	Text         string
	Running      bool
	Started      time.Time
}

// Store is safe for concurrent use.
type Store struct {
	archive *Archive

	mu    sync.Mutex
	logs  map[Key]*Log
	ended []Key
}

// New returns an empty store. archive may be nil.
func New(archive *Archive) *Store { return &Store{archive: archive, logs: map[Key]*Log{}} }

// Begin opens the log of an attempt and replaces an earlier one of the same attempt.
func (s *Store) Begin(key Key, now time.Time) *Log {
	s.mu.Lock()
	defer s.mu.Unlock()
	log := &Log{running: true, started: now}
	if s.archive != nil {
		log.file = s.archive.begin(key, now)
	}
	s.logs[key] = log
	return log
}

// End closes a log. It drops the oldest ended log if there are too many. It drops an empty log at once.
func (s *Store) End(key Key, log *Log) {
	empty := log.end()
	if s.archive != nil && s.archive.grew() {
		s.archive.Prune(time.Now())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.logs[key] != log {
		return
	}
	if empty {
		delete(s.logs, key)
		return
	}
	s.ended = append(slices.DeleteFunc(s.ended, func(earlier Key) bool { return earlier == key }), key)
	if at := len(s.ended) - 1 - fresh; at >= 0 {
		if old := s.logs[s.ended[at]]; old != nil && !old.open() {
			old.shorten()
		}
	}
	for len(s.ended) > MaxLogs {
		if old := s.logs[s.ended[0]]; old != nil && !old.open() {
			delete(s.logs, s.ended[0])
		}
		s.ended = s.ended[1:]
	}
}

// Prune deletes old and surplus outputs on disk.
func (s *Store) Prune(now time.Time) {
	if s.archive != nil {
		s.archive.Prune(now)
	}
}

// Read returns the output from offset, at most limit bytes (0: [MaxChunk]). A negative offset counts from the end.
// Attempt 0 is the newest.
func (s *Store) Read(key Key, offset int64, limit int) (Chunk, bool) {
	s.mu.Lock()
	log := s.logs[key]
	if key.Attempt == 0 {
		for other, candidate := range s.logs {
			if other.Group == key.Group && other.Job == key.Job && other.Attempt > key.Attempt {
				key, log = other, candidate
			}
		}
	}
	s.mu.Unlock()
	if limit <= 0 || limit > MaxChunk {
		limit = MaxChunk
	}
	if s.archive != nil {
		chunk, known := s.archive.Read(key, offset, limit, log != nil && log.open())
		lost := log.lost()
		if known && (lost == nil || offset >= 0 && chunk.Text != "") {
			return chunk, true
		}
	}
	if log == nil {
		return Chunk{}, false
	}
	chunk := log.read(offset, limit)
	chunk.Attempt = key.Attempt
	return chunk, true
}

// Log is the output of one attempt.
type Log struct {
	mu      sync.Mutex
	kept    []byte
	total   int64
	running bool
	started time.Time
	file    *file
}

// Keep sets the policy for the output on disk. It must be called before the first write.
func (l *Log) Keep(policy jobtype.OutputPolicy) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil && l.total == 0 {
		policy = policy.WithDefaults()
		l.file.max, l.file.about.Keep = policy.Max, policy.Keep
	}
}

func (l *Log) lost() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	return l.file.err
}

var _ io.Writer = (*Log)(nil)

// Write implements io.Writer and never fails.
func (l *Log) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total += int64(len(data))
	if skipped := len(data) - MaxRunning; skipped > 0 {
		l.kept = append(l.kept[:0], data[skipped:]...) // What was kept does not border on it.
	} else {
		l.kept = append(l.kept, data...)
	}
	if len(l.kept) > MaxRunning+slack {
		l.trim(MaxRunning)
	}
	if l.file != nil {
		l.file.write(data)
	}
	return len(data), nil
}

func (l *Log) trim(most int) {
	if drop := len(l.kept) - most; drop > 0 {
		l.kept = append([]byte(nil), l.kept[drop:]...)
	}
}

func (l *Log) end() (empty bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running = false
	if l.file != nil {
		l.file.end()
	}
	return l.total == 0
}

func (l *Log) shorten() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trim(MaxEnded)
}

func (l *Log) open() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.running
}

func (l *Log) read(offset int64, limit int) Chunk {
	l.mu.Lock()
	defer l.mu.Unlock()
	if offset < 0 {
		offset += l.total
	}
	first := l.total - int64(len(l.kept))
	from := min(max(offset, first), l.total)
	piece := l.kept[from-first:]
	piece = piece[:min(len(piece), limit)]
	// An incomplete character at the end is left for the next chunk.
	if l.running || from+int64(len(piece)) < l.total {
		piece = piece[:len(piece)-cut(piece)]
	}
	return Chunk{
		Offset: from, Next: from + int64(len(piece)), Text: strings.ToValidUTF8(string(piece), string(utf8.RuneError)),
		Running: l.running, Started: l.started,
	}
}

func cut(piece []byte) int {
	for back := 1; back <= min(utf8.UTFMax, len(piece)); back++ {
		if last := piece[len(piece)-back:]; utf8.RuneStart(last[0]) {
			if utf8.FullRune(last) {
				return 0
			}
			return back
		}
	}
	return 0
}
