package testsuite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ServerEnv is the environment variable with the path of a server binary.
const ServerEnv = "ROUNDSMAN_DEVSERVER"

const (
	serverBinary = "roundsman-devserver"
	moduleName   = "module github.com/roundsman/roundsman\n"
)

// FindServer returns the path of the development server: $ROUNDSMAN_DEVSERVER,
// or bin/roundsman-devserver of this repository.
func FindServer() (string, error) {
	if path := os.Getenv(ServerEnv); path != "" {
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("%s: %w: point it at a built roundsman-devserver or unset it", ServerEnv, err)
		}
		return path, nil
	}
	root, err := ModuleRoot()
	if err != nil {
		return "", err
	}
	path := filepath.Join(root, "bin", serverBinary)
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%w: run `make build` first, or set %s", err, ServerEnv)
	}
	return path, nil
}

// ModuleRoot returns the directory of Roundsman's go.mod. It walks up from the working directory, which is the
// package's own in a test.
func ModuleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && len(content) >= len(moduleName) && string(content[:len(moduleName)]) == moduleName {
			return dir, nil
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("no go.mod of Roundsman above the working directory: run the tests inside the repository or set %s", ServerEnv)
		}
		dir = parent
	}
}
