// Package plan decides from a picture of the cluster what maintenance it needs:
// which volumes to vacuum, which moves balance it, which volumes to encode and where
// their shards go, which shards to move.
//
// The package is pure: a topology, settings and the time go in, work comes out, the
// same for the same input. Work that one call returns is planned together: each
// choice counts what was chosen before it.
package plan
