// Package scrub is the handler that finds bit rot: files whose content changed without a write.
//
// Detection walks a directory tree and proposes one job per file: files that were never verified, have changed
// since, or were not verified for reverify_after. A job hashes its file with SHA-256 and compares the digest
// with the baseline. If size and modification time are equal and the digest is not, the file has rotted, and
// the job fails permanently. If size or time differ, the content is new and its digest becomes the baseline.
//
// The baseline belongs to the node. It is a database file in the worker's data directory, keyed by absolute
// path. Several handlers and processes of one node may share it. See docs/handlers.md for operators and
// docs/adr/0003-scrub-hash-and-store.md for the choice of hash and store.
//
// Repeat: another verification changes only the date. Cancel: the job ends within one read. Its next attempt
// continues from the last checkpoint if the file is unchanged. Failure: an unreadable file fails only its own
// job.
package scrub
