package workers

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/roundsman/roundsman/jobtype"
)

// idFile stores a generated worker id in the data directory.
const idFile = "worker-id"

// InUseError means that another process on this node runs a worker with this id and data directory.
type InUseError struct {
	ID   string
	Path string
}

// Error implements error.
func (e *InUseError) Error() string {
	return fmt.Sprintf("worker %q already runs on this node (%s is locked): stop it first, or give this one another --id or --data-dir", e.ID, e.Path)
}

// stableID returns id, or the id stored in dir, which is generated on first use.
func stableID(id, dir string) (string, error) {
	if id != "" {
		return id, nil
	}
	path := filepath.Join(dir, idFile)
	kept, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return createID(dir, path)
	}
	if err != nil {
		return "", fmt.Errorf("read the worker id: %w", err)
	}
	id = strings.TrimSpace(string(kept))
	if err := jobtype.ValidateName(id); err != nil {
		return "", fmt.Errorf("worker id in %s: %w: correct or remove the file", path, err)
	}
	return id, nil
}

func createID(dir, path string) (string, error) {
	id, err := madeUpID()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("data directory: %w", err)
	}
	// Exclusive, so that one of two concurrent starts wins.
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return stableID("", dir)
	}
	if err != nil {
		return "", fmt.Errorf("keep the worker id: %w", err)
	}
	_, err = file.WriteString(id + "\n")
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return "", fmt.Errorf("keep the worker id: %w", errors.Join(err, os.Remove(path)))
	}
	return id, nil
}

// madeUpID returns the host's name and a random part, because cloned machines share names.
func madeUpID() (string, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "node"
	}
	unique, err := randomName(3)
	if err != nil {
		return "", err
	}
	const keep = jobtype.MaxNameLength - 8
	short, _, _ := strings.Cut(strings.ToLower(host), ".")
	clean := strings.Map(func(r rune) rune {
		if (r >= 'a' && r <= 'z') || (r >= '0' && r <= '9') || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, short)
	clean = strings.TrimLeft(clean[:min(len(clean), keep)], "-_")
	clean = cmp.Or(clean, "node")
	return clean + "-" + unique, nil
}

func randomName(bytes int) (string, error) {
	raw := make([]byte, bytes)
	if _, err := rand.Read(raw); err != nil {
		return "", fmt.Errorf("random name: %w", err)
	}
	return hex.EncodeToString(raw), nil
}

// claim is this process's lock on a worker id. The kernel releases it at any end of the process, so the next owner
// can treat the incarnations in the file as dead.
type claim struct {
	file *os.File
	// line is the entry of this incarnation in the file.
	line string
	// dead may still hold the id: the last registered incarnation, and those killed before their registration.
	dead []string
}

// takeClaim locks the id and adds instance to the file for its successor.
func takeClaim(dir, id, instance string) (*claim, error) {
	path := filepath.Join(dir, id+".lock")
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("claim the worker id: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, &InUseError{ID: id, Path: path}
		}
		return nil, fmt.Errorf("claim the worker id: %w", err)
	}
	held := &claim{file: file, line: instance + "\n"}
	before, err := os.ReadFile(path)
	if err == nil {
		held.dead = strings.Fields(string(before))
		err = held.write(int64(len(before)))
	}
	if err != nil {
		held.release()
		return nil, fmt.Errorf("claim the worker id: %w", err)
	}
	return held, nil
}

func (c *claim) write(offset int64) error {
	_, err := c.file.WriteAt([]byte(c.line), offset)
	return errors.Join(err, c.file.Sync())
}

// registered drops the dead. The file names this incarnation at every moment.
func (c *claim) registered() error {
	if c == nil || len(c.dead) == 0 {
		return nil
	}
	c.dead = nil
	return errors.Join(c.write(0), c.file.Truncate(int64(len(c.line))))
}

// release keeps the file: a removal would let two processes lock two files of one name. A close alone would not
// unlock while a command is being started, which has a copy of every descriptor.
func (c *claim) release() {
	if c != nil {
		_ = syscall.Flock(int(c.file.Fd()), syscall.LOCK_UN)
		_ = c.file.Close()
	}
}
