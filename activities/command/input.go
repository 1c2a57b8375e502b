package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/roundsman/roundsman/internal/lib/launch"
)

// maxEnvFile bounds a file of variables. A program's environment has 2 MiB at most.
const maxEnvFile = 1 << 20

func readEnvFiles(paths []string) ([]string, error) {
	var variables []string
	for _, path := range paths {
		path, optional := strings.CutPrefix(path, "-")
		text, err := readBounded(path, maxEnvFile)
		if optional && errors.Is(err, os.ErrNotExist) {
			continue
		}
		var read []string
		if err == nil {
			read, err = launch.ParseEnvFile(text)
		}
		if err != nil {
			return nil, &startError{err: fmt.Errorf("ENV_FILE: %s: %w", path, err)}
		}
		variables = append(variables, read...)
	}
	return variables, nil
}

// The path is absolute: a worker may start anywhere.
func readBounded(path string, limit int64) (string, error) {
	if !strings.HasPrefix(path, "/") {
		return "", errors.New("the path is not absolute")
	}
	file, err := openReady(path)
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

// A named pipe without a writer would block the job; a program of another user would become the owner of the file.
func openReady(path string) (*os.File, error) {
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

// A file takes the place of the pipe.
func (p program) input(pipes *pipes) ([]byte, error) {
	kind, value, err := p.launch.Input()
	if err != nil {
		return nil, &startError{err: err, permanent: true}
	}
	switch kind {
	case launch.StdinParams:
		return p.stdin, nil
	case launch.StdinData:
		return []byte(value), nil
	case launch.StdinFile:
		file, err := openReady(value)
		if err != nil {
			return nil, &startError{err: fmt.Errorf("stdin: %w", err)}
		}
		_ = pipes.stdinRead.Close()
		pipes.stdinRead = file
	}
	return nil, nil
}
