package app

import (
	"errors"
	"fmt"
	"os"
)

// maxLog is the size above which the next start renames a log file. One older file is kept.
const maxLog = 10 << 20

// OpenLog opens a log file for appending.
func OpenLog(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > maxLog {
		if err := os.Rename(path, path+".1"); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("set the old log aside: %w", err)
		}
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("log file: %w", err)
	}
	return file, nil
}
