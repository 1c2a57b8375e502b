package chunks

import (
	"github.com/roundsman/roundsman/contract"
)

// ClaimBacklog claims the right to work on the backlog of the job type. The answer is [BacklogClaimed] or [Refused].
// Claim counts these claims of the turn, so that a late answer to an earlier one does not count.
type ClaimBacklog struct{ Turn, Claim int }

// LeaveBacklog gives it back.
type LeaveBacklog struct{ Turn, Claim int }

// ReadKeys reads the keys of a chunk. The answer is [KeysRead].
type ReadKeys struct {
	Seq  int
	Refs []contract.ProposalRun
}

// ClaimChunk claims the keys of a chunk. The answer is [Claimed] or [Refused].
type ClaimChunk struct {
	Turn, Seq int
	Hashes    []uint64
}

// LeaveChunk gives back the rest of a chunk, granted or not.
type LeaveChunk struct{ Turn, Seq int }

// BacklogClaimed answers [ClaimBacklog]. By is another group that has the backlog.
type BacklogClaimed struct{ By string }

// KeysRead answers [ReadKeys]; without hashes they could not be read, for that reason.
type KeysRead struct {
	Seq    int
	Hashes []uint64
	Reason string
}

// Claimed answers [ClaimChunk]. Taken has the group that holds a key, or the hold on it, by the index of the key.
type Claimed struct {
	Seq           int
	Fence, Fences int64
	Taken         map[int]string
	HeldBack      map[int]Hold
}

// Hold is why the job of a key may not start.
type Hold struct{ Code, Detail string }

// Refused means that nothing of a chunk, or of the backlog, can be claimed now.
type Refused struct {
	Seq    int
	Code   contract.Code
	Reason string
}
