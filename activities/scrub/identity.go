package scrub

import (
	"os"
	"time"
)

// identity is equal for files without a write in between. The baseline omits Inode: a restored file has another one.
type identity struct {
	Size    int64  `json:"size"`
	MtimeNS int64  `json:"mtime_ns"`
	Inode   uint64 `json:"inode,omitempty"`
}

func identityOf(info os.FileInfo) identity {
	return identity{Size: info.Size(), MtimeNS: info.ModTime().UnixNano(), Inode: inodeOf(info)}
}

func (i identity) mtime() time.Time { return time.Unix(0, i.MtimeNS) }
