package devserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Store kinds as they appear in Ready.Store.
const (
	StoreMemory   = "memory"
	StoreSQLite   = "sqlite"
	StorePostgres = "postgres"
)

// Ready is the ready line on stdout and the content of the ready file. Both appear only when clients can use the server.
type Ready struct {
	// Address of the frontend, host:port.
	Address string `json:"address"`
	// UIURL of the Web UI; empty without one.
	UIURL string `json:"ui_url"`
	// Namespace that was created and checked.
	Namespace string `json:"namespace"`
	// PID of the server process.
	PID int `json:"pid"`
	// Store is memory, sqlite or postgres.
	Store string `json:"store"`
}

func (r Ready) writeLine(w io.Writer) error {
	if err := json.NewEncoder(w).Encode(r); err != nil {
		return fmt.Errorf("write ready line: %w", err)
	}
	return nil
}

// writeFile replaces path in one step: a reader never sees half of it.
func (r Ready) writeFile(path string) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return fmt.Errorf("write ready file: %w", err)
	}
	err = errors.Join(r.writeLine(tmp), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write ready file: %w", errors.Join(err, os.Remove(tmp.Name())))
	}
	return nil
}

func removeReadyFile(path string) error {
	if path == "" {
		return nil
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove ready file: %w", err)
	}
	return nil
}
