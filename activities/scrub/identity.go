package scrub

import (
	"os"
	"time"
)

// identity is equal for files without a write in between. Inode detects a file replaced in the middle of a job.
// It is not part of the baseline, because a restored file has another inode.
type identity struct {
	Size    int64  `json:"size"`
	MtimeNS int64  `json:"mtime_ns"`
	Inode   uint64 `json:"inode,omitempty"`
}

func identityOf(info os.FileInfo) identity {
	return identity{Size: info.Size(), MtimeNS: info.ModTime().UnixNano(), Inode: inodeOf(info)}
}

func (i identity) mtime() time.Time { return time.Unix(0, i.MtimeNS) }
