package command

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/roundsman/roundsman/internal/lib/launch"
	"github.com/roundsman/roundsman/internal/lib/plainfile"
)

// maxEnvFile bounds a file of variables. A program's environment has 2 MiB at most.
const maxEnvFile = 1 << 20

func readEnvFiles(paths []string) ([]string, error) {
	var variables []string
	for _, path := range paths {
		path, optional := strings.CutPrefix(path, "-")
		text, err := plainfile.Read(path, maxEnvFile)
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
		file, err := plainfile.Open(value)
		if err != nil {
			return nil, &startError{err: fmt.Errorf("stdin: %w", err)}
		}
		_ = pipes.stdinRead.Close()
		pipes.stdinRead = file
	}
	return nil, nil
}
