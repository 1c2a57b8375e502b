// Package plainfile reads files of the node that a configuration names, without waiting for a writer.
package plainfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// Read returns a file of at most limit bytes. The path must be absolute: a worker may start anywhere.
func Read(path string, limit int64) (string, error) {
	if !strings.HasPrefix(path, "/") {
		return "", errors.New("the path is not absolute")
	}
	file, err := Open(path)
	if err != nil {
		return "", withoutPath(err)
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	switch {
	case err != nil:
		return "", withoutPath(err)
	case int64(len(data)) > limit:
		return "", fmt.Errorf("the file has more than %d bytes", limit)
	}
	return string(data), nil
}

// Open opens a file to read. A named pipe without a writer would block the job; a program of another user would become the
// owner of the file.
func Open(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && info.Mode()&(os.ModeNamedPipe|os.ModeSocket|os.ModeDir) != 0 {
		err = &os.PathError{Op: "open", Path: path, Err: errors.New("it is no file")}
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

func withoutPath(err error) error {
	if inner, ok := errors.AsType[*os.PathError](err); ok {
		return inner.Err
	}
	return err
}
