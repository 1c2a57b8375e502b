package joblog

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

const (
	// One half of the segments holds the beginning of an output, the other its end.
	segments   = 16
	maxSegment = 1 << 20
)

var errReplaced = errors.New("the same attempt has begun again")

type file struct {
	// mu guards replaced, which is set when the same attempt begins again in this directory.
	mu       sync.Mutex
	replaced bool

	archive     *Archive
	dir         string
	about       about
	max         int64
	current     *os.File
	from, total int64
	ends        []int64
	err         error

	attached artifacts
}

// begin replaces the output of the same attempt. It creates nothing before the first write.
func (a *Archive) begin(key Key, started time.Time) *file {
	policy := jobtype.OutputPolicy{}.WithDefaults()
	f := &file{archive: a, dir: a.attemptDir(key), max: policy.Max, about: about{
		Group: key.Group, Job: key.Job, Attempt: key.Attempt, Started: started.UTC(), Keep: policy.Keep,
	}}
	a.mu.Lock()
	earlier := a.open[f.dir]
	a.open[f.dir] = f
	a.mu.Unlock()
	if earlier != nil {
		earlier.mu.Lock()
		earlier.replaced = true
		earlier.mu.Unlock()
	}
	_ = os.RemoveAll(f.dir)
	return f
}

func (f *file) size() int64 { return min(f.max/segments, maxSegment) }

// write stops permanently at the first error. The rest stays in memory only.
func (f *file) write(data []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.replaced {
		f.err = errReplaced
	}
	for len(data) > 0 && f.err == nil {
		if f.current == nil {
			if f.err = f.next(); f.err != nil {
				return
			}
		}
		n := min(int64(len(data)), f.size()-(f.total-f.from))
		written, err := f.current.Write(data[:n])
		f.total += int64(written)
		f.archive.grown.Add(int64(written))
		if f.err = err; err != nil {
			return
		}
		data = data[n:]
		if f.total-f.from == f.size() {
			f.err = f.full()
		}
	}
}

func (f *file) next() error {
	if f.total == 0 {
		if err := f.create(); err != nil {
			return err
		}
	}
	f.from = f.total
	var err error
	f.current, err = os.OpenFile(filepath.Join(f.dir, segment{start: f.from}.name()), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	return err
}

func (f *file) create() error {
	// A prune removes a job's directory without attempts.
	f.archive.mu.Lock()
	err := os.MkdirAll(f.dir, 0o700)
	f.archive.mu.Unlock()
	if err != nil {
		return err
	}
	text, err := json.Marshal(f.about)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(f.dir, aboutFile), text, 0o600)
}

// full compresses the current segment and drops the oldest one between the beginning and the end.
func (f *file) full() error {
	err := f.close()
	if f.from < f.size()*(f.max/f.size()/2) {
		return err
	}
	f.ends = append(f.ends, f.from)
	if int64(len(f.ends)) <= f.max/f.size()/2 {
		return err
	}
	oldest := f.ends[0]
	f.ends = f.ends[1:]
	for _, compressed := range []bool{true, false} {
		if gone := os.Remove(filepath.Join(f.dir, segment{oldest, compressed}.name())); !errors.Is(gone, os.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

func (f *file) close() error {
	if f.current == nil {
		return nil
	}
	err := f.current.Close()
	f.current = nil
	if f.replaced {
		return errors.Join(err, errReplaced)
	}
	return errors.Join(err, f.archive.compress(f.dir, segment{start: f.from}))
}

func (f *file) end() {
	f.mu.Lock()
	f.err = errors.Join(f.err, f.close())
	f.mu.Unlock()
	f.archive.mu.Lock()
	defer f.archive.mu.Unlock()
	if f.archive.open[f.dir] == f {
		delete(f.archive.open, f.dir)
	}
}

// compress replaces a plain segment. A segment within one disk block stays plain.
func (a *Archive) compress(dir string, s segment) error {
	path := filepath.Join(dir, s.name())
	data, err := os.ReadFile(path)
	if err != nil || len(data) <= block {
		return err
	}
	s.compressed = true
	final := filepath.Join(dir, s.name())
	if err := writeSynced(final+temporarySuffix, a.encoder.EncodeAll(data, nil)); err != nil {
		return errors.Join(err, os.Remove(final+temporarySuffix))
	}
	if err := os.Rename(final+temporarySuffix, final); err != nil {
		return err
	}
	return os.Remove(path)
}

// After a power failure no empty file must replace a plain segment.
func writeSynced(path string, data []byte) error {
	to, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	n, err := to.Write(data)
	if err == nil && n < len(data) {
		err = io.ErrShortWrite
	}
	if err == nil {
		err = to.Sync()
	}
	return errors.Join(err, to.Close())
}
