package scrub

import (
	"os"

	"golang.org/x/sys/unix"
)

// dropCache advises the kernel to drop the clean pages of a part of the file, or of the rest of it for length
// 0. After a failure the next read may not come from the disk.
func dropCache(file *os.File, offset, length int64) {
	_ = unix.Fadvise(int(file.Fd()), offset, length, unix.FADV_DONTNEED)
}
