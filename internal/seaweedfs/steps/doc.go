// Package steps decides the next call to a volume server. A move, a vacuum, an encoding or a shard move is a
// value that reads the state of the servers and returns one call or its end.
//
// Decisions use only the current state, never the expected result of an earlier call: a job looks again before
// every call. So continuing after a crash is the usual case. An old or missing checkpoint costs a repeated step
// and never an object. The rules:
//
//	S1  No call changes anything while a relevant server cannot be read.
//	S2  A replica is deleted only if another replica, or all shards, were seen since the
//	    last call and hold at least as much.
//	S3  A target is never deleted to undo a move: an existing copy is completed. Only a
//	    ghost, whose files are gone, is deleted, while its source holds as much.
//	S4  Shards are removed only while a replica that holds as much is readable.
//	S5  The end of a job lists its leftovers: a read-only volume, a surplus copy, shards.
//	S6  A move never leaves two writable copies if one is a surplus.
//	S7  A vacuum compacts no replica that may be out of date.
//
// The package is pure: no clock, no I/O. [Runner] takes a job through its looks and calls.
// internal/seaweedfs/weed carries them out on a cluster, the model test of this package in memory.
package steps
