package steps

import "strconv"

// Op is a call of a volume server.
type Op string

// The calls. All except Check change something.
const (
	Check        Op = "vacuum-check"
	Compact      Op = "vacuum-compact"
	Commit       Op = "vacuum-commit"
	Cleanup      Op = "vacuum-cleanup"
	MarkReadOnly Op = "mark-readonly"
	MarkWritable Op = "mark-writable"
	Copy         Op = "copy"
	Tail         Op = "tail"
	Delete       Op = "delete"
	EcGenerate   Op = "ec-generate"
	EcCopy       Op = "ec-copy"
	EcMount      Op = "ec-mount"
	EcUnmount    Op = "ec-unmount"
	EcDelete     Op = "ec-delete"
)

// Call is one call to Server about Volume.
type Call struct {
	Op         Op       `json:"op"`
	Server     string   `json:"server"`
	Volume     uint32   `json:"volume"`
	Collection string   `json:"collection,omitempty"`
	Source     string   `json:"source,omitempty"`
	Shards     []uint32 `json:"shards,omitempty"`
	Disk       uint32   `json:"disk,omitempty"`
	DiskType   string   `json:"disk_type,omitempty"`
	// Persist keeps a read-only mark across a restart of the server.
	Persist bool `json:"persist,omitempty"`
	// SinceNS is the start of a tail: the last append of the copy.
	SinceNS uint64 `json:"since_ns,omitempty"`
	// IOLimit bounds a copy, in bytes per second. 0 is no limit.
	IOLimit int64 `json:"io_limit,omitempty"`
}

// Long reports whether the duration of the call depends on the volume. All others take milliseconds.
func (c Call) Long() bool {
	switch c.Op {
	case Compact, Commit, Copy, Tail, EcGenerate, EcCopy:
		return true
	case Check, Cleanup, MarkReadOnly, MarkWritable, Delete, EcMount, EcUnmount, EcDelete:
	}
	return false
}

// String is for errors and logs: "delete of volume 7 on a:8080".
func (c Call) String() string {
	return string(c.Op) + " of volume " + strconv.FormatUint(uint64(c.Volume), 10) + " on " + c.Server
}

// Answer is the result of a call. After an error the effect of the call is unknown.
type Answer struct {
	Err string
	// A copy sets SinceNS, a check Garbage, a commit ReadOnly.
	SinceNS  uint64
	Garbage  float64
	ReadOnly bool
}

// Presence is whether a server has the replica or the shards.
type Presence uint8

// Unknown is a server without an answer.
const (
	Unknown Presence = iota
	Absent
	Present
)

// Replica is a volume on one server.
type Replica struct {
	Presence Presence
	ReadOnly bool
	// Sizes of files. The object counts of a server change their meaning after a restart of a read-only volume.
	Dat, Idx uint64
	Revision uint32
	// Sealed: its mark outlives a restart of the server. Only a look with Seal sets it.
	Sealed bool
	// Why is the error of an Unknown replica.
	Why string
	// A copy onto the server is in progress, also without its caller. A server restarted in the middle of the .dat
	// file shows the same.
	Arriving bool
	// The server holds the volume open although its files are gone. A copy whose caller is gone ends like this: the
	// server loads it, cannot answer, and removes its files.
	Ghost bool
}

// covers compares the sizes of files. After a compaction sizes prove nothing.
func (r Replica) covers(other Replica) bool { return r.Dat >= other.Dat && r.Idx >= other.Idx }

func (r Replica) equals(other Replica) bool {
	return r.Revision == other.Revision && r.Dat == other.Dat && r.Idx == other.Idx
}

// Sizes are the file sizes of a replica.
type Sizes struct {
	Dat      uint64 `json:"dat"`
	Idx      uint64 `json:"idx"`
	Revision uint32 `json:"revision,omitempty"`
}

func (r Replica) sizes() Sizes { return Sizes{r.Dat, r.Idx, r.Revision} }

// Index summarizes the objects of a replica.
type Index struct {
	Presence Presence
	// Live is the number of objects. Digest covers their keys and their numbers of writes.
	Live   uint64
	Digest [2]uint64
	// The index of the shards, without a replica. It has each object once, regardless of its number of writes.
	OfShards bool
	// Head is the digest of the first bytes of the index, for a look with a Head.
	Head [32]byte
	Why  string
}

// Shards are the mounted shards of a volume on one server.
type Shards struct {
	Presence Presence
	Sizes    map[uint32]int64
	// From the shards' .vif file: size and identity of the encoding. Both are 0 after a mark of a replica on the same disk.
	Made    uint64
	Encoded int64
	// Sums over the shards' index: needles, sizes, deleted needles.
	Entries, Bytes, Deleted uint64
	Why                     string
}

// If s has no .vif file with a size, the sums of the index decide.
func (s Shards) sameRun(other Shards) bool {
	if s.Made == 0 && s.Encoded == 0 {
		return s.Entries == other.Entries && s.Bytes == other.Bytes
	}
	return s.Made == other.Made && s.Encoded == other.Encoded
}

func (s Shards) has(id uint32) bool { return s.Sizes[id] > 0 }

func (s Shards) fit(dat uint64) bool {
	for _, size := range s.Sizes {
		if size != shardSize(dat) {
			return false
		}
	}
	return true
}

// Blocks of an encoding: large ones while ten of them can be filled, then small ones.
const (
	largeBlock = 1 << 30
	smallBlock = 1 << 20
)

func shardSize(dat uint64) int64 {
	rows := dat / (DataShards * largeBlock)
	rest := dat - rows*DataShards*largeBlock
	small := (rest + DataShards*smallBlock - 1) / (DataShards * smallBlock)
	return int64(rows*largeBlock + small*smallBlock) //nolint:gosec // sizes of disks
}

// Look reads a replica, shards, or the index of the replica, which takes a few bytes for each object.
type Look struct {
	Server string
	Shards bool
	Index  bool
	// Hidden reads the index of a replica that is not loaded, or of the shards if there is none.
	Hidden bool
	// Head limits an index to its first bytes. 0 reads all of it.
	Head uint64
	// Arrival also detects a copy in progress onto a server without the volume, which is in Collection.
	Arrival    bool
	Collection string
	// Seal also reads whether the mark of a read-only replica outlives a restart.
	Seal bool
}

// View holds the results of looks, by server.
type View struct {
	Replicas map[string]Replica
	Shards   map[string]Shards
	Indexes  map[string]Index
}
