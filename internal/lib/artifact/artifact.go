// Package artifact finds the files that a program has left in its directory, by patterns.
package artifact

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
)

// Max is the number of artifacts of one attempt.
const Max = 100

// Search selects the files of an attempt.
type Search struct {
	// Start of the patterns; empty: the working directory of the process. No pattern and no link leads out of it.
	Dir      string
	Patterns []string
	// User whose files are taken; negative: any. A program of another user may have linked a file that the user cannot read.
	Owner int
}

// Keep takes one file; an error stands for a pattern or a file that cannot be taken.
type Keep func(name string, content io.Reader, err error)

// Collect passes each file that matches to keep, once.
func (s Search) Collect(ctx context.Context, keep Keep) {
	root, err := os.OpenRoot(cmp.Or(s.Dir, "."))
	if err != nil {
		keep(s.Patterns[0], nil, withoutPath(err))
		return
	}
	defer func() { _ = root.Close() }()
	var taken []string
	for _, pattern := range s.Patterns {
		names, err := matches(root, pattern)
		if err != nil {
			keep(pattern, nil, err)
			continue
		}
		for _, name := range names {
			if slices.Contains(taken, name) {
				continue
			}
			if err := ctx.Err(); err != nil || len(taken) == Max {
				keep(pattern, nil, cmp.Or(err, fmt.Errorf("more than %d files: the others are not kept", Max)))
				return
			}
			taken = append(taken, name)
			file, err := s.open(root, name)
			if err != nil {
				keep(name, nil, err)
				continue
			}
			keep(name, file, nil)
			_ = file.Close()
		}
	}
}

// Fault returns the reason for which a pattern is refused.
func Fault(pattern string) error {
	if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
		return fmt.Errorf("%.40q is no pattern of files: write it like reports/*.json", pattern)
	}
	if !fs.ValidPath(pattern) {
		return fmt.Errorf("%.40q leads out of dir, or is not in its shortest form: write it like reports/*.json, and set dir", pattern)
	}
	return nil
}

func matches(root *os.Root, pattern string) ([]string, error) {
	if err := Fault(pattern); err != nil {
		return nil, err
	}
	names, err := fs.Glob(root.FS(), pattern)
	if err != nil || len(names) > 0 {
		return names, err
	}
	// The glob is silent about a folder that cannot be read.
	if _, err := root.Stat(path.Dir(pattern)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, withoutPath(err)
	}
	return nil, errors.New("no file matches")
}

var errForeign = errors.New("it is no plain file of the program's user")

func (s Search) open(root *os.Root, name string) (*os.File, error) {
	file, err := root.OpenFile(name, os.O_RDONLY|dontBlock, 0)
	if err != nil {
		return nil, withoutPath(err)
	}
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() || s.Owner >= 0 && ownerOf(info) != s.Owner {
		_ = file.Close()
		return nil, errForeign
	}
	return file, nil
}

func withoutPath(err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return failed.Err
	}
	return err
}
