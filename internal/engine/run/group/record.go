package group

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// The record of jobs that have ended travels behind the rest of the state. 10,000 jobs
// take 2 ms to write and 3 ms to read; as JSON they took 10 and 19 ms, and three times
// the bytes before compression.

// errBadRecord is returned for a record that is cut off or damaged.
var errBadRecord = errors.New("the record of ended jobs is damaged")

// recordWriter appends jobs that have ended. Names that occur again and again, such as
// workers, are written once.
type recordWriter struct {
	out   []byte
	names map[string]uint64
	// n and at are the number and the end of the job before.
	n  int
	at time.Time
}

// packEnded writes the jobs in their order.
func packEnded(list []*job) []byte {
	w := recordWriter{out: binary.AppendUvarint(nil, uint64(len(list))), names: map[string]uint64{}}
	for _, j := range list {
		w.job(j)
	}
	return w.out
}

func (w *recordWriter) job(j *job) {
	w.out = binary.AppendVarint(w.out, int64(j.N-w.n))
	w.n = j.N
	w.name(string(j.State))
	w.out = binary.AppendVarint(w.out, int64(j.Attempt))
	w.name(j.Worker)
	w.name(string(j.Proposal.Priority))
	w.text(j.Error)
	w.text(j.Proposal.DedupeKey)
	w.text(j.Proposal.Summary)
	w.time(j.EndedAt)
	w.time(j.StartedAt)
	w.at = j.EndedAt
	w.out = binary.AppendUvarint(w.out, math.Float64bits(j.Done))
	w.out = binary.AppendUvarint(w.out, uint64(len(j.Items)))
	for _, item := range j.Items {
		w.text(item.DedupeKey)
		w.text(item.Summary)
	}
}

func (w *recordWriter) text(s string) {
	w.out = binary.AppendUvarint(w.out, uint64(len(s)))
	w.out = append(w.out, s...)
}

// name writes the place of a name, and the name itself where it occurs first.
func (w *recordWriter) name(s string) {
	place, known := w.names[s]
	if !known {
		place = uint64(len(w.names))
		w.names[s] = place
	}
	w.out = binary.AppendUvarint(w.out, place)
	if !known {
		w.text(s)
	}
}

// time writes the distance to the end of the job before; 0: there is no time.
func (w *recordWriter) time(at time.Time) {
	if at.IsZero() {
		w.out = binary.AppendUvarint(w.out, 0)
		return
	}
	w.out = binary.AppendUvarint(w.out, 1)
	w.out = binary.AppendVarint(w.out, at.Unix()-w.at.Unix())
	w.out = binary.AppendUvarint(w.out, uint64(at.Nanosecond()))
}

// recordReader is the inverse of recordWriter. It remembers that something was missing.
type recordReader struct {
	in    []byte
	bad   bool
	names []string
	n     int
	at    time.Time
}

// unpackEnded is the inverse of packEnded; an empty record has no jobs.
func unpackEnded(data []byte) ([]*job, error) {
	if len(data) == 0 {
		return nil, nil
	}
	r := recordReader{in: data}
	var list []*job
	for left := r.uint(); left > 0 && !r.bad; left-- {
		list = append(list, r.job())
	}
	if r.bad || len(r.in) > 0 {
		return nil, errBadRecord
	}
	return list, nil
}

func (r *recordReader) job() *job {
	j := &job{N: r.n + int(r.int()), counted: true}
	r.n = j.N
	j.State, j.Attempt, j.Worker = State(r.name()), int(r.int()), r.name()
	j.Proposal.Priority = jobtype.Priority(r.name())
	j.Error, j.Proposal.DedupeKey, j.Proposal.Summary = r.text(), r.text(), r.text()
	j.EndedAt, j.StartedAt = r.time(), r.time()
	r.at = j.EndedAt
	j.Done = math.Float64frombits(r.uint())
	for left := r.uint(); left > 0 && !r.bad; left-- {
		j.Items = append(j.Items, jobtype.BatchItem{DedupeKey: r.text(), Summary: r.text()})
	}
	return j
}

func (r *recordReader) uint() uint64 {
	value, n := binary.Uvarint(r.in)
	return value * r.took(n)
}

func (r *recordReader) int() int64 {
	value, n := binary.Varint(r.in)
	return value * int64(r.took(n))
}

// took continues after n bytes and returns 1, or 0 if nothing could be read.
func (r *recordReader) took(n int) uint64 {
	if n <= 0 {
		r.bad, r.in = true, nil
		return 0
	}
	r.in = r.in[n:]
	return 1
}

func (r *recordReader) text() string {
	length := r.uint()
	if length > uint64(len(r.in)) {
		r.bad, r.in = true, nil
		return ""
	}
	text := string(r.in[:length])
	r.in = r.in[length:]
	return text
}

func (r *recordReader) name() string {
	switch place := r.uint(); {
	case r.bad:
		return ""
	case place < uint64(len(r.names)):
		return r.names[place]
	default:
		r.names = append(r.names, r.text())
		return r.names[len(r.names)-1]
	}
}

func (r *recordReader) time() time.Time {
	if r.uint() == 0 {
		return time.Time{}
	}
	seconds := r.at.Unix() + r.int()
	return time.Unix(seconds, int64(r.uint()%1e9)).UTC()
}
