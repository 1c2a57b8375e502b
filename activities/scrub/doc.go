// Package scrub is the handler that finds bit rot: files whose content changed without a write.
//
// A job hashes its file with SHA-256 and compares the digest with the baseline. If size and modification time are
// equal and the digest is not, the file has rotted, and the job fails permanently. If size or time differ, the new
// digest becomes the baseline.
//
// The baseline is a database file in the worker's data directory, keyed by absolute path. Several handlers and
// processes of one node may share it. See docs/handlers.md and docs/adr/0003-scrub-hash-and-store.md.
//
// Cancel: the job ends within one read. Its next attempt continues from the last checkpoint if the file is unchanged.
package scrub
