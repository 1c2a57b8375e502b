// Package folder reads the files that a configuration names, at or below its folder.
package folder

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrTooLong means that a file has more bytes than its reader accepts.
var ErrTooLong = errors.New("over the limit")

// Folder holds the files that a configuration names.
type Folder interface {
	// Read returns a file by its path below the folder, or [ErrTooLong].
	Read(name string, limit int) ([]byte, error)
	// Place returns the name of a file in faults.
	Place(name string) string
	// String names the folder in faults.
	String() string
}

// On returns a folder of this machine. A link cannot lead out of it.
func On(path string) Folder { return disk(path) }

// Sent returns the folder of files that came with the configuration.
func Sent(files map[string]string) Folder { return sent(files) }

type disk string

func (d disk) Read(name string, limit int) ([]byte, error) {
	root, err := os.OpenRoot(string(d))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	file, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, int64(limit)+1))
	if len(data) > limit {
		return nil, ErrTooLong
	}
	return data, err
}

// Place implements [Folder].
func (d disk) Place(name string) string { return filepath.Join(string(d), filepath.FromSlash(name)) }

// String implements [Folder].
func (d disk) String() string { return string(d) }

type sent map[string]string

func (s sent) Read(name string, limit int) ([]byte, error) {
	text, known := s[name]
	if !known {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	if len(text) > limit {
		return nil, ErrTooLong
	}
	return []byte(text), nil
}

// Place implements [Folder].
func (s sent) Place(name string) string { return name }

// String implements [Folder].
func (s sent) String() string {
	return fmt.Sprintf("the folder of the configuration (%d files came with it)", len(s))
}
