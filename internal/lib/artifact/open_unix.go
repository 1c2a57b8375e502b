//go:build unix

package artifact

import (
	"io/fs"
	"syscall"
)

// dontBlock is for named pipes.
const dontBlock = syscall.O_NONBLOCK

func ownerOf(info fs.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return -1
}
