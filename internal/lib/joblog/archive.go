package joblog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"

	"github.com/roundsman/roundsman/jobtype"
)

const (
	// MaxArchive bounds the size on disk of all ended attempts.
	MaxArchive = 1 << 30
	// block is the disk space of a small file or a directory.
	block = 4 << 10

	plainSuffix      = ".log"
	compressedSuffix = ".zst"
	temporarySuffix  = ".tmp"
	aboutFile        = "about.json"
)

// Archive stores the output of attempts in files: DIR/<job>/<attempt>/<offset>.log or .zst. A segment is plain text
// until it is full or the attempt has ended, so a killed process loses nothing.
type Archive struct {
	dir string
	// Max bounds the bytes of all ended attempts.
	Max     int64
	encoder *zstd.Encoder
	decoder *zstd.Decoder

	mu   sync.Mutex
	open map[string]*file
	// pruning is held by the running prune. grown counts the bytes since the last one.
	pruning sync.Mutex
	grown   atomic.Int64
}

type about struct {
	Group   string           `json:"group"`
	Job     string           `json:"job"`
	Attempt int              `json:"attempt"`
	Started time.Time        `json:"started"`
	Keep    jobtype.Duration `json:"keep"`
}

// OpenArchive opens a directory, which need not exist.
func OpenArchive(dir string) (*Archive, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("directory of outputs: %w", err)
	}
	encoder, encoderErr := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithLowerEncoderMem(true))
	decoder, decoderErr := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(2*maxSegment))
	if err := errors.Join(encoderErr, decoderErr); err != nil {
		return nil, err
	}
	return &Archive{dir: dir, Max: MaxArchive, encoder: encoder, decoder: decoder, open: map[string]*file{}}, nil
}

// jobDir returns the directory of a job. Its name is a hash, since ids may be longer than a file name.
func (a *Archive) jobDir(key Key) string {
	sum := sha256.Sum256([]byte(key.Group + "\x00" + key.Job))
	return filepath.Join(a.dir, hex.EncodeToString(sum[:16]))
}

func (a *Archive) attemptDir(key Key) string {
	return filepath.Join(a.jobDir(key), strconv.Itoa(key.Attempt))
}

func (a *Archive) newest(key Key) int {
	entries, _ := os.ReadDir(a.jobDir(key))
	newest := 0
	for _, entry := range entries {
		if number, err := strconv.Atoi(entry.Name()); err == nil {
			newest = max(newest, number)
		}
	}
	return newest
}

// Read ends before a gap. running means that more output may follow.
func (a *Archive) Read(key Key, offset int64, limit int, running bool) (Chunk, bool) {
	if key.Attempt == 0 {
		key.Attempt = a.newest(key)
	}
	dir := a.attemptDir(key)
	// A segment may be compressed, or dropped, between its listing and its opening.
	for range 3 {
		chunk, err := a.read(dir, offset, limit, running)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return Chunk{}, false
		}
		chunk.Attempt, chunk.Running, chunk.Started = key.Attempt, running, startOf(dir)
		return chunk, true
	}
	return Chunk{}, false
}

func (a *Archive) read(dir string, offset int64, limit int, running bool) (Chunk, error) {
	segments, err := listSegments(dir)
	if err == nil && len(segments) == 0 {
		err = os.ErrNotExist
	}
	if err != nil {
		return Chunk{}, err
	}
	if offset < 0 {
		last := segments[len(segments)-1]
		text, err := a.content(dir, last)
		if err != nil {
			return Chunk{}, err
		}
		offset = max(0, last.start+int64(len(text))+offset)
	}
	at := max(0, lastFrom(segments, offset))
	from, piece := max(offset, segments[at].start), []byte(nil)
	for ; at < len(segments) && len(piece) < limit; at++ {
		text, err := a.content(dir, segments[at])
		if err != nil {
			return Chunk{}, err
		}
		end := segments[at].start + int64(len(text))
		next := from + int64(len(piece))
		switch {
		case len(piece) == 0 && next >= end && at+1 < len(segments):
			from = max(from, segments[at+1].start)
			continue
		case segments[at].start > next:
			return chunkOf(from, piece, true), nil
		case next > end:
			from = end // The offset is beyond the end.
			continue
		}
		piece = append(piece, text[next-segments[at].start:]...)
	}
	if running && at == len(segments) && len(piece) <= limit && len(piece) == cut(piece) {
		return Chunk{Offset: from, Next: from}, nil // The rest of the character will follow.
	}
	more := running || len(piece) > limit
	return chunkOf(from, piece[:min(limit, len(piece))], more || at < len(segments)), nil
}

// lastFrom returns the index of the segment with the offset, or -1 if the first one begins later.
func lastFrom(segments []segment, offset int64) int {
	for at, s := range slices.Backward(segments) {
		if s.start <= offset {
			return at
		}
	}
	return -1
}

// An incomplete character is left to the next chunk.
func chunkOf(from int64, piece []byte, more bool) Chunk {
	if more && len(piece) > cut(piece) {
		piece = piece[:len(piece)-cut(piece)]
	}
	return Chunk{Offset: from, Next: from + int64(len(piece)), Text: strings.ToValidUTF8(string(piece), string(utf8.RuneError))}
}

type segment struct {
	start      int64
	compressed bool
}

func (s segment) name() string {
	if s.compressed {
		return fmt.Sprintf("%016d%s", s.start, compressedSuffix)
	}
	return fmt.Sprintf("%016d%s", s.start, plainSuffix)
}

// A killed process may have left both forms of a segment; the compressed form is complete.
func listSegments(dir string) ([]segment, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var list []segment
	for _, entry := range entries {
		name, compressed := strings.CutSuffix(entry.Name(), compressedSuffix)
		name, plain := strings.CutSuffix(name, plainSuffix)
		start, err := strconv.ParseInt(name, 10, 64)
		if err == nil && (plain || compressed) {
			list = append(list, segment{start: start, compressed: compressed})
		}
	}
	slices.SortFunc(list, func(x, y segment) int {
		if x.start == y.start && x.compressed {
			return -1
		}
		return int(x.start - y.start)
	})
	return slices.CompactFunc(list, func(x, y segment) bool { return x.start == y.start }), nil
}

func (a *Archive) content(dir string, s segment) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(dir, s.name()))
	if err != nil || !s.compressed {
		return data, err
	}
	return a.decoder.DecodeAll(data, nil)
}

func describe(dir string) (about, error) {
	var read about
	text, err := os.ReadFile(filepath.Join(dir, aboutFile))
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	return read, err
}

func startOf(dir string) time.Time {
	read, _ := describe(dir)
	return read.Started
}
