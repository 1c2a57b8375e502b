package record

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
)

const (
	maxJobs     = 8192
	maxBytes    = 440 << 10
	inlineBytes = 4 << 10
	storeAgain  = 10 * time.Second
)

type segment struct {
	writer writer
	entry  contract.RecordPage
	count  int
}

func newSegment() segment {
	return segment{writer: writer{names: map[string]uint64{}}, entry: contract.RecordPage{States: map[string]int{}}}
}

func (s *segment) add(j *Job) {
	s.writer.job(j)
	s.note(j)
}

func (s *segment) note(j *Job) {
	if s.count == 0 {
		s.entry.First = j.N
	}
	s.entry.First, s.entry.Last = min(s.entry.First, j.N), max(s.entry.Last, j.N+j.More)
	s.entry.States[j.State] += 1 + j.More
	s.count++
}

func (s *segment) room(bytes int) bool {
	return s.count == 0 || s.count < maxJobs && len(s.writer.out)+bytes <= maxBytes
}

func (j *Job) weight() int {
	const fields = 32
	size := fields + len(j.Key) + len(j.Summary) + len(j.Worker) + len(j.Error) + len(j.Work)
	for _, item := range j.Items {
		size += len(item.DedupeKey) + len(item.Summary) + 4
	}
	return size
}

// Book is the record of one run.
type Book struct {
	pages   []contract.RecordPage
	full    []segment
	open    segment
	storing bool
	at      time.Time
}

// NewBook returns an empty record.
func NewBook() Book { return Book{open: newSegment()} }

// Add writes down a job that has ended.
func (b *Book) Add(j Job) {
	if !b.open.room(j.weight()) {
		b.full, b.open = append(b.full, b.open), newSegment()
	}
	b.open.add(&j)
}

// Pages is the table of the stored segments.
func (b *Book) Pages() []contract.RecordPage { return b.pages }

// Store returns the segment that is to be stored now. [Book.Stored] or [Book.Failed] is the answer.
func (b *Book) Store(now time.Time) []byte {
	if len(b.full) == 0 || b.storing || now.Before(b.at) {
		return nil
	}
	b.storing, b.at = true, time.Time{}
	return b.full[0].writer.out
}

// Storing reports whether an answer is awaited.
func (b *Book) Storing() bool { return b.storing }

// StoreAt is when a failed store is to be repeated; zero: nothing failed.
func (b *Book) StoreAt() time.Time { return b.at }

// Stored notes the page of the segment.
func (b *Book) Stored(page string) {
	if !b.storing {
		return
	}
	entry := b.full[0].entry
	entry.Page = page
	b.pages, b.full, b.storing = append(b.pages, entry), b.full[1:], false
}

// Failed notes that the segment could not be stored.
func (b *Book) Failed(now time.Time) { b.storing, b.at = false, now.Add(storeAgain) }

// Finish ends the record of a run: all is to be stored, except a small last segment.
func (b *Book) Finish() {
	b.storing, b.at = false, time.Time{}
	if len(b.open.writer.out) > inlineBytes {
		b.full, b.open = append(b.full, b.open), newSegment()
	}
}

// Rest is the last segment. It is not stored.
func (b *Book) Rest() []byte { return b.open.writer.out }

// Jobs lists the jobs that are not in pages, in the order of their ends.
func (b *Book) Jobs() ([]Job, error) {
	var list []Job
	for _, s := range append(slices.Clip(b.full), b.open) {
		jobs, err := Read(s.writer.out)
		if err != nil {
			return nil, err
		}
		list = append(list, jobs...)
	}
	return list, nil
}

// Pack writes down the segments that are not stored.
func (b *Book) Pack() []byte {
	var out []byte
	for _, s := range append(slices.Clip(b.full), b.open) {
		out = binary.AppendUvarint(out, uint64(len(s.writer.out)))
		out = append(out, s.writer.out...)
	}
	return out
}

// Unpack is the inverse of [Book.Pack], with the table of the pages.
func Unpack(packed []byte, pages []contract.RecordPage) (Book, error) {
	b := Book{pages: pages}
	for len(packed) > 0 {
		size, n := binary.Uvarint(packed)
		if n <= 0 || size > uint64(len(packed)-n) {
			return Book{}, ErrDamaged
		}
		s, err := resume(packed[n : n+int(size)])
		if err != nil {
			return Book{}, err
		}
		b.full, packed = append(b.full, s), packed[n+int(size):]
	}
	if len(b.full) == 0 {
		b.open = newSegment()
		return b, nil
	}
	last := len(b.full) - 1
	b.full, b.open = b.full[:last], b.full[last]
	return b, nil
}

func resume(data []byte) (segment, error) {
	s, r := newSegment(), reader{in: data}
	jobs, err := r.jobs()
	if err != nil {
		return s, err
	}
	for i := range jobs {
		s.note(&jobs[i])
	}
	for i, name := range r.names {
		s.writer.names[name] = uint64(i)
	}
	s.writer.out, s.writer.n, s.writer.at, s.writer.created = append([]byte(nil), data...), r.n, r.at, r.created
	return s, nil
}
