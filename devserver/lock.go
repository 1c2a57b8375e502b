package devserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// lockWait bounds the wait of a new server for the lock: a predecessor that is stopping may need stopGrace.
	lockWait = stopGrace + 2*time.Second
	lockPoll = 50 * time.Millisecond
)

var errLocked = errors.New("already in use")

// fileLock is an advisory lock on a file next to the database. The kernel releases it with the process. The file
// itself stays: removing it would let two waiters lock two inodes.
type fileLock struct{ file *os.File }

func acquireLock(ctx context.Context, path string) (*fileLock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	if err := waitForLock(ctx, f); err != nil {
		holder := readHolder(f)
		return nil, errors.Join(describeHolder(err, path, holder), f.Close())
	}
	l := &fileLock{file: f}
	if err := l.writeHolder(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return l, nil
}

func waitForLock(ctx context.Context, f *os.File) error {
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil || (!errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR)) {
			return err
		}
		select {
		case <-ctx.Done():
			return errLocked
		case <-tick.C:
		}
	}
}

func (l *fileLock) writeHolder() error {
	if err := l.file.Truncate(0); err != nil {
		return fmt.Errorf("write lock file: %w", err)
	}
	if _, err := l.file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0); err != nil {
		return fmt.Errorf("write lock file: %w", err)
	}
	return nil
}

func readHolder(f *os.File) string {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, 32))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

func describeHolder(err error, path, holder string) error {
	if !errors.Is(err, errLocked) {
		return fmt.Errorf("lock %s: %w", path, err)
	}
	who := "another server"
	if holder != "" {
		who = "process " + holder
	}
	return fmt.Errorf("database %s is %w by %s (waited %s): stop that server, or choose another --db-filename",
		strings.TrimSuffix(path, lockSuffix), err, who, lockWait)
}

// Closing alone would not unlock while a process is being started, which has a copy of every descriptor.
func (l *fileLock) release() error {
	if l == nil {
		return nil
	}
	return errors.Join(syscall.Flock(int(l.file.Fd()), syscall.LOCK_UN), l.file.Close())
}
