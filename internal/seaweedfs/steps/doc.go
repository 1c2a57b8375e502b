// Package steps decides which call to a volume server follows: a move, a vacuum,
// an encoding or a shard move is a value that sees what is on the servers and
// answers with one call or with its end.
//
// Decisions are made from what is seen now, and never from what an earlier call
// should have left: a job looks again before every call. Continuing after a crash
// is therefore the usual case, and a checkpoint that is older than the cluster, or
// none, costs a repeated step and never an object. The rules:
//
//	S1  No call changes anything while a server that matters cannot be read.
//	S2  A replica is deleted only while another one, or all shards, were seen since
//	    the last call, and hold at least as much.
//	S3  A target is never deleted to undo a move: a copy that was made is completed. Only
//	    a ghost is, whose files are gone, while its source holds as much.
//	S4  Shards are removed only while a replica that holds as much is readable.
//	S5  The end of a job names what it leaves behind: a read-only volume, a surplus
//	    copy, shards.
//	S6  A move never leaves two writable copies where one is a surplus.
//	S7  A vacuum compacts no replica that may be out of date.
//
// The package is pure: no clock, no I/O. [Runner] walks a job through its looks and
// calls; internal/seaweedfs/weed carries them out, and the model test of this
// package does so against a cluster in memory.
package steps
