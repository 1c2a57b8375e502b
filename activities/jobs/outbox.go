package jobs

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/roundsman/roundsman/internal/lib/lists"
)

// Outbox stores undelivered outcomes, one file each, so that they survive the death of the worker while the server is
// away. Nothing is written while the server answers.
type Outbox struct {
	dir    string
	logger *slog.Logger
}

const outboxSuffix = ".outcome.json"

// OpenOutbox uses dir, which belongs to one worker id; a nil logger discards.
func OpenOutbox(dir string, logger *slog.Logger) (*Outbox, error) {
	logger = cmp.Or(logger, slog.New(slog.DiscardHandler))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("outbox: %w: the data directory must be writable", err)
	}
	return &Outbox{dir: dir, logger: logger}, nil
}

// path is the same for the same attempt, so a repeated put stores one file.
func (o *Outbox) path(d delivery) string {
	sum := sha256.Sum256(d.Token)
	return filepath.Join(o.dir, hex.EncodeToString(sum[:12])+outboxSuffix)
}

// put writes d durably, and returns a function that removes it.
func (o *Outbox) put(d delivery) (remove func(), err error) {
	encoded, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("outbox: %w", err)
	}
	err = replaceFile(o.path(d), encoded)
	if errors.Is(err, os.ErrNotExist) && os.MkdirAll(o.dir, 0o700) == nil {
		err = replaceFile(o.path(d), encoded) // The data directory was deleted.
	}
	if err != nil {
		return nil, fmt.Errorf("outbox: %w", err)
	}
	return func() { o.drop(d) }, nil
}

// A remaining file is delivered again at the next start, which changes nothing.
func (o *Outbox) drop(d delivery) {
	if err := os.Remove(o.path(d)); err != nil && !errors.Is(err, os.ErrNotExist) {
		o.logger.Warn("could not remove a delivered outcome", "file", o.path(d), "error", err)
	}
}

func (o *Outbox) count() int {
	entries, err := os.ReadDir(o.dir)
	if err != nil {
		return 0
	}
	return lists.Count(entries, func(entry os.DirEntry) bool { return strings.HasSuffix(entry.Name(), outboxSuffix) })
}

// An unreadable file is logged and left for the operator.
func (o *Outbox) load() ([]delivery, error) {
	entries, err := os.ReadDir(o.dir)
	if err != nil {
		return nil, fmt.Errorf("outbox: %w", err)
	}
	var kept []delivery
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), outboxSuffix) {
			continue
		}
		path := filepath.Join(o.dir, entry.Name())
		var d delivery
		encoded, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(encoded, &d)
		}
		if err != nil {
			o.logger.Error("an undelivered outcome cannot be read; remove the file after you have identified its job", "file", path, "error", err)
			continue
		}
		kept = append(kept, d)
	}
	return kept, nil
}

// replaceFile writes content to path atomically and makes it durable: file, name and directory.
func replaceFile(path string, content []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".writing-*")
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
