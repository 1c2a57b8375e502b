package scrub

import "golang.org/x/sys/unix"

// Going through a directory needs no permission to list it.
const searchFlags = unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC
