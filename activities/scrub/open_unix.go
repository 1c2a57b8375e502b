//go:build unix

package scrub

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// openBelow opens the file with this path below root. Unless links are followed, it opens each directory in turn and
// refuses symbolic links, because a link may have replaced a directory since the walk.
//
// O_NONBLOCK: a named pipe in place of a file must not block the open forever.
func openBelow(root, relative string, followSymlinks bool) (*os.File, error) {
	full := filepath.Join(root, relative)
	if followSymlinks || relative == "" {
		return os.OpenFile(full, os.O_RDONLY|unix.O_NONBLOCK, 0)
	}
	at, err := unix.Open(root, searchFlags, 0)
	names := strings.Split(filepath.Clean(relative), string(filepath.Separator))
	for i := 0; err == nil && i < len(names)-1; i++ {
		var next int
		next, err = unix.Openat(at, names[i], searchFlags|unix.O_NOFOLLOW, 0)
		_ = unix.Close(at)
		at = next
	}
	if err == nil {
		var file int
		file, err = unix.Openat(at, names[len(names)-1], unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		_ = unix.Close(at)
		at = file
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: full, Err: err}
	}
	return os.NewFile(uintptr(at), full), nil
}
