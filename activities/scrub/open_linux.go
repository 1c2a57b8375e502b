package scrub

import "golang.org/x/sys/unix"

// searchFlags open a directory to go through it, which needs no permission to list it.
const searchFlags = unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC
