//go:build linux || darwin

package workers

import "syscall"

// spaceOf reads the space left for a process without privileges.
func spaceOf(dir string) (space, error) {
	var found syscall.Statfs_t
	if err := syscall.Statfs(dir, &found); err != nil {
		return space{}, err
	}
	block := uint64(found.Bsize) //nolint:gosec // a size, signed on Linux only
	return space{bytes: found.Blocks * block, bytesLeft: found.Bavail * block, files: found.Files, filesLeft: found.Ffree}, nil
}
