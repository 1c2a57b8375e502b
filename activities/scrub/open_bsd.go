//go:build unix && !linux

package scrub

import "golang.org/x/sys/unix"

const searchFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC
