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

// Long reports whether the call moves data, so that its duration depends on the volume. All others take
// milliseconds.
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
	// Dat and Idx are sizes of files. The object counts of a server change their meaning after a restart of a
	// read-only volume, so they are not compared.
	Dat, Idx uint64
	Revision uint32
	// Sealed: its mark outlives a restart of the server. Only a look with Seal sets it.
	Sealed bool
	// Why is the error of an Unknown replica.
	Why string
	// Arriving: a copy onto the server is in progress, and the replica Unknown until it ends. The copy
	// continues without its caller. A server that was restarted in the middle of the .dat file shows the same.
	Arriving bool
	// Ghost: the server holds the volume open although its files are gone, and the replica is Unknown until a
	// restart removes it. A copy whose caller is gone ends like this: the server loads it, cannot answer, and
	// removes its files.
	Ghost bool
}

// covers reports whether r holds at least as much as other, by the sizes of its files. After a compaction the
// sizes prove nothing.
func (r Replica) covers(other Replica) bool { return r.Dat >= other.Dat && r.Idx >= other.Idx }

// equals compares all values that a server reports.
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
	// OfShards: the server has no replica of the volume, and this is the index of its shards. It has each
	// object once, regardless of its number of writes.
	OfShards bool
	// Head is the digest of the first bytes of the index, for a look with a Head.
	Head [32]byte
	Why  string
}

// Shards are the mounted shards of a volume on one server.
type Shards struct {
	Presence Presence
	Sizes    map[uint32]int64
	// Made is the size of the encoded .dat file, and Encoded identifies that encoding, both from the shards'
	// .vif file. Both are 0 after a mark of a replica on the same disk, which overwrites that file.
	Made    uint64
	Encoded int64
	// Entries and Bytes are sums over the shards' index: of its needles, and of their sizes. Deleted are the
	// needles deleted in the shards.
	Entries, Bytes, Deleted uint64
	Why                     string
}

// sameRun reports whether s and other come from one encoding. other has a .vif file with a size. If s has none,
// the sums of the index decide.
func (s Shards) sameRun(other Shards) bool {
	if s.Made == 0 && s.Encoded == 0 {
		return s.Entries == other.Entries && s.Bytes == other.Bytes
	}
	return s.Made == other.Made && s.Encoded == other.Encoded
}

func (s Shards) has(id uint32) bool { return s.Sizes[id] > 0 }

// fit reports whether every shard has the size of a shard of a volume of dat bytes.
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

// shardSize is the size of each shard of a volume of dat bytes.
func shardSize(dat uint64) int64 {
	rows := dat / (DataShards * largeBlock)
	rest := dat - rows*DataShards*largeBlock
	small := (rest + DataShards*smallBlock - 1) / (DataShards * smallBlock)
	return int64(rows*largeBlock + small*smallBlock) //nolint:gosec // sizes of disks
}

// Look reads the replica of a volume on Server, the shards there, or the index of the replica. An index takes a
// few bytes for each object.
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
