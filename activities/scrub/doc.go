// Package scrub is the handler that finds bit rot: files whose content changed
// while nobody wrote to them.
//
// Detection walks a directory tree and proposes, one job per file, what was
// never verified, what changed since, and what was not verified for
// reverify_after. A job reads its file through SHA-256 and compares with the
// baseline: same size and modification time but another digest is rot and
// fails the job for good; another size or time is a new content, whose digest
// becomes the baseline.
//
// The baseline belongs to the node: it is a database file in the worker's data
// directory, keyed by absolute path. Several handlers and processes of one node
// may share it. See docs/handlers.md for operators and
// docs/adr/0003-scrub-hash-and-store.md for the choice of hash and store.
//
// Repeat: verifying again changes nothing but the date. Cancel: the job ends
// within one read, and its next attempt continues from the last checkpoint if
// the file is still the same. Failure: a file that cannot be read fails its
// job and nothing else.
package scrub
