package scrub

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// found is a regular file of the tree; path is below root, with slashes.
type found struct {
	path string
	identity
}

// tree walks in a fixed order: a directory's files before its sub-directories, names in byte order.
type tree struct {
	root          string
	exclude       exclusion
	follow        bool
	oneFilesystem bool
	maxSize       int64

	device uint64
	seen   map[[2]uint64]bool // directories, where links are followed

	// An error of visit or refuse ends the walk.
	visit  func(directory string, files []found) error
	refuse func(path string, err error) error
}

var errEnd = errors.New("the walk has come round")

// walk starts at the directory from ("" for root) and continues at the root until it is back there.
func (t *tree) walk(ctx context.Context, from string) error {
	info, err := os.Stat(t.root)
	if err != nil {
		return err
	}
	t.device = deviceOf(info)
	t.forget(info)
	if err := t.descend(ctx, "", segments(from), nil); err != nil || from == "" {
		return err
	}
	t.forget(info)
	err = t.descend(ctx, "", nil, segments(from))
	if errors.Is(err, errEnd) {
		return nil
	}
	return err
}

func (t *tree) forget(root os.FileInfo) {
	t.seen = map[[2]uint64]bool{{deviceOf(root), inodeOf(root)}: true}
}

func segments(directory string) []string {
	if directory == "" {
		return nil
	}
	return strings.Split(directory, "/")
}

// start is the rest of the path to the first directory to visit. end is the directory before which the walk ends.
func (t *tree) descend(ctx context.Context, directory string, start, end []string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if end != nil && slices.Compare(segments(directory), end) >= 0 {
		return errEnd
	}
	entries, err := t.readDir(directory)
	if err != nil {
		if refused := t.refuse(directory, err); refused != nil {
			return refused
		}
	}
	files, directories, err := t.sort(directory, entries)
	if err != nil {
		return err
	}
	if len(start) == 0 {
		if err := t.visit(directory, files); err != nil {
			return err
		}
	}
	for _, name := range directories {
		var rest []string
		if len(start) > 0 {
			if name < start[0] {
				continue
			}
			if name == start[0] {
				rest = start[1:]
			}
		}
		if err := t.descend(ctx, path.Join(directory, name), rest, end); err != nil {
			return err
		}
	}
	return nil
}

func (t *tree) readDir(directory string) ([]os.DirEntry, error) {
	opened, err := openBelow(t.root, filepath.FromSlash(directory), t.follow)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	entries, err := opened.ReadDir(-1)
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

// sort leaves out excluded entries, devices, sockets, pipes, and links unless they are followed.
func (t *tree) sort(directory string, entries []os.DirEntry) (files []found, directories []string, err error) {
	for _, entry := range entries {
		relative := path.Join(directory, entry.Name())
		if t.exclude.matches(relative) {
			continue
		}
		info, err := t.inspect(relative, entry)
		switch {
		case errors.Is(err, os.ErrNotExist): // gone since the directory was read, or a dangling link
		case err != nil:
			if err := t.refuse(relative, err); err != nil {
				return nil, nil, err
			}
		case info == nil:
		case info.IsDir():
			if t.enters(info) {
				directories = append(directories, entry.Name())
			}
		case info.Mode().IsRegular() && (t.maxSize == 0 || info.Size() <= t.maxSize):
			files = append(files, found{relative, identityOf(info)})
		}
	}
	return files, directories, nil
}

// inspect returns nil for entries to leave out.
func (t *tree) inspect(relative string, entry os.DirEntry) (os.FileInfo, error) {
	switch {
	case entry.Type()&os.ModeSymlink != 0:
		if !t.follow {
			return nil, nil //nolint:nilnil // left out, and no fault
		}
		return os.Stat(filepath.Join(t.root, filepath.FromSlash(relative)))
	case entry.IsDir(), entry.Type().IsRegular():
		return entry.Info()
	}
	return nil, nil //nolint:nilnil // left out, and no fault
}

// enters refuses another file system if one_filesystem is set, and a second visit: links can form cycles.
func (t *tree) enters(info os.FileInfo) bool {
	if t.oneFilesystem && deviceOf(info) != t.device {
		return false
	}
	if !t.follow {
		return true
	}
	id := [2]uint64{deviceOf(info), inodeOf(info)}
	if t.seen[id] {
		return false
	}
	t.seen[id] = true
	return true
}
