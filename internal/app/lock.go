package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// A stopped or killed `dev` ends within seconds.
	lockWait = 5 * time.Second
	lockPoll = 50 * time.Millisecond
	lockFile = "lock"
)

var errInUse = errors.New("in use")

// The kernel releases the lock with the process. Without the file two processes could lock two different inodes.
type dirLock struct{ file *os.File }

func lockDir(ctx context.Context, dir string, wait time.Duration) (*dirLock, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("data dir: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data dir: %w", err)
	}
	if err := flock(ctx, file, wait); err != nil {
		holder, _ := io.ReadAll(io.NewSectionReader(file, 0, 32)) // only for the message
		err = inUse(ctx, dir, strings.TrimSpace(string(holder)), wait, err)
		return nil, errors.Join(err, file.Close())
	}
	pid := strconv.Itoa(os.Getpid()) + "\n"
	if err := errors.Join(file.Truncate(0), writeAt(file, pid)); err != nil {
		return nil, errors.Join(fmt.Errorf("data dir: %w", err), file.Close())
	}
	return &dirLock{file: file}, nil
}

func writeAt(file *os.File, text string) error {
	_, err := file.WriteAt([]byte(text), 0)
	return err
}

func flock(ctx context.Context, file *os.File, wait time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, wait, errInUse)
	defer cancel()
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil || !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

func inUse(ctx context.Context, dir, holder string, wait time.Duration, err error) error {
	if !errors.Is(err, errInUse) || ctx.Err() != nil {
		return fmt.Errorf("lock data dir %s: %w", dir, err)
	}
	who := "another process"
	if holder != "" {
		who = "process " + holder
	}
	return fmt.Errorf("data dir %s is %w by %s (waited %s): stop that one, or choose another --data-dir", dir, err, who, wait)
}

// A close alone does not unlock while a command is starting, which has a copy of every descriptor until exec.
func (l *dirLock) release() error {
	if l == nil {
		return nil
	}
	return errors.Join(unix.Flock(int(l.file.Fd()), unix.LOCK_UN), l.file.Close())
}
