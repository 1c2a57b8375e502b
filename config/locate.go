package config

import (
	"errors"
	"io/fs"
	"os"
	"strings"
)

const (
	// DefaultFile is the configuration of a command for which none is named.
	DefaultFile = "roundsman.yaml"
	// FilesVariable lists configuration files, separated as PATH is.
	FilesVariable = "ROUNDSMAN_CONFIG"
)

// Locate returns the configuration files of a command: those that --config
// names, else those of [FilesVariable], else [DefaultFile] if the working
// directory holds it, else none. Every command uses it, whether it needs the
// connection, the job types or both: they always come from the same files.
func Locate(named, environ []string) []string {
	if len(named) > 0 {
		return named
	}
	if listed := environment(environ)[FilesVariable]; listed != "" {
		return strings.Split(listed, string(os.PathListSeparator))
	}
	if _, err := os.Stat(DefaultFile); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	// A file that cannot be looked at is a fault of [Load], never another server.
	return []string{DefaultFile}
}
