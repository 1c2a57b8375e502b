package scrub

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// bbolt allows one opener at a time, so the file is open only during use and a little longer.
const (
	// lingerFor keeps the file open between the operations of busy workers.
	lingerFor = 100 * time.Millisecond
	// holdLimit bounds the use while another opener waits; the file then stays closed for yieldFor. Lock attempts are
	// 50 ms apart.
	holdLimit  = 500 * time.Millisecond
	yieldFor   = 150 * time.Millisecond
	attemptFor = 250 * time.Millisecond
	// batchDelay is how long a commit waits for others to share its fsync.
	batchDelay = 2 * time.Millisecond
)

// lease opens one database file on demand. A process that waits for it writes a note (path + ".wanted"), and the
// holder closes it for a moment.
type lease struct {
	path     string
	patience time.Duration

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced at every change below
	db       *bbolt.DB
	users    int
	opening  bool
	draining bool
	openedAt time.Time
	yieldEnd time.Time
	noticed  time.Time // when the note was last looked for
	linger   *time.Timer
}

func newLease(path string, patience time.Duration) *lease {
	return &lease{path: path, patience: patience, changed: make(chan struct{})}
}

func (l *lease) use(ctx context.Context, work func(*bbolt.DB) error) error {
	db, err := l.acquire(ctx)
	if err != nil {
		return err
	}
	defer l.release()
	return work(db)
}

func (l *lease) acquire(ctx context.Context) (*bbolt.DB, error) {
	for {
		l.mu.Lock()
		l.drainIfWanted()
		now := time.Now()
		switch {
		case l.db != nil && !l.draining:
			l.users++
			db := l.db
			l.mu.Unlock()
			return db, nil
		case l.db == nil && !l.opening && !now.Before(l.yieldEnd):
			l.opening = true
			l.mu.Unlock()
			if err := l.open(ctx); err != nil {
				return nil, err
			}
			continue
		}
		changed, pause := l.changed, l.yieldEnd.Sub(now)
		l.mu.Unlock()
		if err := waitForChange(ctx, changed, pause); err != nil {
			return nil, err
		}
	}
}

func waitForChange(ctx context.Context, changed <-chan struct{}, pause time.Duration) error {
	var over <-chan time.Time
	if pause > 0 {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-changed:
	case <-over:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

func (l *lease) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.users--
	l.drainIfWanted()
	if l.users > 0 || l.db == nil {
		return
	}
	if l.linger == nil {
		l.linger = time.AfterFunc(lingerFor, l.closeIdle)
	} else {
		l.linger.Reset(lingerFor)
	}
}

func (l *lease) closeIdle() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.users == 0 && l.db != nil {
		l.shut()
	}
}

// drainIfWanted closes the file after the last user when another process has waited long enough.
func (l *lease) drainIfWanted() {
	if l.db == nil {
		return
	}
	now := time.Now()
	if !l.draining && now.Sub(l.openedAt) > holdLimit && now.Sub(l.noticed) > holdLimit/5 {
		l.noticed = now
		_, err := os.Stat(l.note())
		l.draining = err == nil
	}
	if l.draining && l.users == 0 {
		l.yieldEnd = now.Add(yieldFor)
		l.shut()
	}
}

// A failed close loses nothing, because every commit is on disk.
func (l *lease) shut() {
	_ = l.db.Close()
	l.db, l.draining = nil, false
	l.announce()
}

func (l *lease) announce() {
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *lease) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.linger != nil {
		l.linger.Stop()
	}
	if l.db != nil && l.users == 0 {
		l.shut()
	}
}

func (l *lease) note() string { return l.path + ".wanted" }

// open is called by the one user that has set opening.
func (l *lease) open(ctx context.Context) error {
	db, err := l.lock(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.opening = false
	if err == nil {
		l.db, l.openedAt = db, time.Now()
	}
	l.announce()
	return err
}

func (l *lease) lock(ctx context.Context) (*bbolt.DB, error) {
	if err := os.MkdirAll(filepath.Dir(l.path), 0o750); err != nil {
		return nil, fmt.Errorf("the directory of the baseline: %w", err)
	}
	for until := time.Now().Add(l.patience); ; {
		db, err := bbolt.Open(l.path, 0o600, &bbolt.Options{Timeout: attemptFor, FreelistType: bbolt.FreelistMapType})
		if err == nil {
			_ = os.Remove(l.note()) // other waiting processes write it again
			db.MaxBatchDelay = batchDelay
			return db, prepare(db)
		}
		if !errors.Is(err, bolterrors.ErrTimeout) {
			return nil, fmt.Errorf("baseline %s cannot be opened: %w; if it is damaged, move it away: the files get new baselines", l.path, err)
		}
		if time.Now().After(until) {
			return nil, fmt.Errorf("baseline %s was held by another process for %s; is one of them stopped in a debugger? params.state gives a job type a file of its own", l.path, l.patience)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err := os.WriteFile(l.note(), nil, 0o600); err != nil {
			return nil, fmt.Errorf("the note next to the baseline: %w", err)
		}
	}
}
