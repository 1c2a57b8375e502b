package scrub

import (
	"os"

	"golang.org/x/sys/unix"
)

// dropCache drops the clean pages of a part of the file (length 0: the rest), so that the next read comes from the disk.
func dropCache(file *os.File, offset, length int64) {
	_ = unix.Fadvise(int(file.Fd()), offset, length, unix.FADV_DONTNEED)
}
