//go:build unix && !linux

package scrub

import "golang.org/x/sys/unix"

// searchFlags open a directory to go through it.
const searchFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC
