package config

import (
	"errors"
	"io/fs"
	"os"
	"strings"
)

const (
	// DefaultFile is the default configuration of a command.
	DefaultFile = "roundsman.yaml"
	// FilesVariable lists configuration files, separated as in PATH.
	FilesVariable = "ROUNDSMAN_CONFIG"
)

// Locate returns the configuration files of every command: those of --config, else of [FilesVariable], else
// [DefaultFile] if the working directory contains it.
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
	// An unreadable file is a fault of [Load], never another server.
	return []string{DefaultFile}
}
