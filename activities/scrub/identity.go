package scrub

import (
	"os"
	"time"
)

// identity is what must stay the same for a file to be taken for unwritten.
// Inode tells a replaced file in the middle of a job; it is no part of the
// baseline, since a file restored from a copy has another one.
type identity struct {
	Size    int64  `json:"size"`
	MtimeNS int64  `json:"mtime_ns"`
	Inode   uint64 `json:"inode,omitempty"`
}

func identityOf(info os.FileInfo) identity {
	return identity{Size: info.Size(), MtimeNS: info.ModTime().UnixNano(), Inode: inodeOf(info)}
}

func (i identity) mtime() time.Time { return time.Unix(0, i.MtimeNS) }
