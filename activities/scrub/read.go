package scrub

import (
	"context"
	"crypto/sha256"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"time"
)

const (
	bufferSize = 1 << 20
	// checkpointEvery applies on a slow disk, Options.CheckpointBytes on a fast one.
	checkpointEvery = time.Second
)

var (
	errChanging   = errors.New("the file changed while it was read")
	errNotRegular = errors.New("no regular file")
)

type reading struct {
	identity
	digest digest
}

type checkpoint struct {
	identity
	Offset int64  `json:"offset"`
	State  []byte `json:"state"`
}

// readCheckpoint returns nil for an empty or unreadable checkpoint, because a job may always begin again.
func readCheckpoint(data json.RawMessage) *checkpoint {
	var c checkpoint
	if len(data) == 0 || json.Unmarshal(data, &c) != nil || c.Offset <= 0 {
		return nil
	}
	return &c
}

type reader struct {
	*verification
	file     *os.File
	identity identity
	sum      hash.Hash
	offset   int64
	dropped  int64
	saved    int64
	savedAt  time.Time
}

func (v *verification) read(ctx context.Context) (reading, error) {
	file, err := v.open()
	if err != nil {
		return reading{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return reading{}, err
	}
	if !info.Mode().IsRegular() {
		return reading{}, errNotRegular
	}
	r := &reader{verification: v, file: file, identity: identityOf(info), sum: sha256.New(), savedAt: time.Now()}
	if err := r.settle(ctx); err != nil {
		return reading{}, err
	}
	if err := r.goOn(); err != nil {
		return reading{}, err
	}
	if v.params.dropCache() {
		dropCache(file, r.offset, 0)
	}
	if err := r.toEnd(ctx); err != nil {
		return reading{}, err
	}
	return r.finish()
}

func (v *verification) open() (*os.File, error) {
	return openBelow(v.root, v.relative, v.params.FollowSymlinks)
}

func (r *reader) settle(ctx context.Context) error {
	age := time.Since(r.identity.mtime())
	if age < 0 || age >= settleFor {
		return nil
	}
	timer := time.NewTimer(settleFor - age)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (r *reader) goOn() error {
	from := r.resume
	if from == nil || from.identity != r.identity || from.Offset > r.identity.Size {
		return nil
	}
	if !restore(r.sum, from.State) {
		r.sum.Reset()
		return nil
	}
	if _, err := r.file.Seek(from.Offset, io.SeekStart); err != nil {
		return err
	}
	r.offset, r.saved, r.dropped = from.Offset, from.Offset, from.Offset
	return nil
}

func restore(sum hash.Hash, state []byte) bool {
	restorable, ok := sum.(encoding.BinaryUnmarshaler)
	return ok && restorable.UnmarshalBinary(state) == nil
}

func (r *reader) toEnd(ctx context.Context) error {
	buffer := make([]byte, min(bufferSize, max(r.identity.Size-r.offset+1, 512)))
	for {
		if ctx.Err() != nil {
			return errors.Join(context.Cause(ctx), r.save())
		}
		n, err := r.file.Read(buffer)
		r.sum.Write(buffer[:n])
		r.offset += int64(n)
		if n > 0 {
			r.report()
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read error at byte %d: %w", r.offset, err)
		}
		if r.offset > r.identity.Size {
			return errChanging
		}
		if r.offset-r.saved >= r.checkpointBytes || time.Since(r.savedAt) >= checkpointEvery {
			if err := r.save(); err != nil {
				return err
			}
		}
	}
}

func (r *reader) report() {
	percent := 100.0
	if r.identity.Size > 0 {
		percent = min(100*float64(r.offset)/float64(r.identity.Size), 100)
	}
	r.progress.Report(percent, "hash", byteCount(r.offset)+" of "+byteCount(r.identity.Size))
}

func (r *reader) save() error {
	if r.offset == r.saved {
		return nil
	}
	state, ok := r.sum.(encoding.BinaryMarshaler)
	if !ok {
		return nil
	}
	encoded, err := state.MarshalBinary()
	if err == nil {
		err = r.progress.Checkpoint(checkpoint{identity: r.identity, Offset: r.offset, State: encoded})
	}
	if err != nil {
		return fmt.Errorf("checkpoint at byte %d: %w", r.offset, err)
	}
	r.saved, r.savedAt = r.offset, time.Now()
	r.letGo()
	return nil
}

func (r *reader) letGo() {
	if r.params.dropCache() && r.offset > r.dropped {
		dropCache(r.file, r.dropped, r.offset-r.dropped)
		r.dropped = r.offset
	}
}

func (r *reader) finish() (reading, error) {
	r.letGo()
	info, err := r.file.Stat()
	if err != nil {
		return reading{}, err
	}
	again, err := r.open()
	if err != nil {
		return reading{}, err
	}
	named, err := again.Stat()
	_ = again.Close()
	if err != nil {
		return reading{}, err
	}
	if r.offset != r.identity.Size || identityOf(info) != r.identity || identityOf(named) != r.identity {
		return reading{}, errChanging
	}
	done := reading{identity: r.identity}
	r.sum.Sum(done.digest[:0])
	return done, nil
}
