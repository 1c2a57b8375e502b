package scrub

import (
	"os"

	"golang.org/x/sys/unix"
)

// dropCache asks the kernel to forget the clean pages of a part of the file;
// length 0 means to its end. It is advice: a failure costs nothing but the
// certainty that the disk was read.
func dropCache(file *os.File, offset, length int64) {
	_ = unix.Fadvise(int(file.Fd()), offset, length, unix.FADV_DONTNEED)
}
