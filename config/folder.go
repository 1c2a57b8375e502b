package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// errTooLong means that a file has more bytes than its reader accepts.
var errTooLong = errors.New("over the limit")

// noFiles is the fault of a setting that names a file in a source without files.
const noFiles = "files cannot be read here: validate and apply the configuration where the file is, or send the file with it"

// folder holds the files that a configuration names.
type folder interface {
	// read returns a file by its path below the folder, or errTooLong.
	read(name string, limit int) ([]byte, error)
	// place returns the name of a file in faults.
	place(name string) string
	// String names the folder in faults.
	String() string
}

// folderOf returns the folder of a source; nil if it may name no files.
func folderOf(source Source) folder {
	switch {
	case source.Files != nil:
		return sent(source.Files)
	case source.Dir != "":
		return disk(source.Dir)
	}
	return nil
}

// disk is a folder of this machine. A link cannot lead out of it.
type disk string

func (d disk) read(name string, limit int) ([]byte, error) {
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
		return nil, errTooLong
	}
	return data, err
}

func (d disk) place(name string) string { return filepath.Join(string(d), filepath.FromSlash(name)) }

// String implements folder.
func (d disk) String() string { return string(d) }

// sent are files that came with the configuration.
type sent map[string]string

func (s sent) read(name string, limit int) ([]byte, error) {
	text, known := s[name]
	if !known {
		return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	if len(text) > limit {
		return nil, errTooLong
	}
	return []byte(text), nil
}

func (s sent) place(name string) string { return name }

// String implements folder.
func (s sent) String() string {
	return fmt.Sprintf("the folder of the configuration (%d files came with it)", len(s))
}
