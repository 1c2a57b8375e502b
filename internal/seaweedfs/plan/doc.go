// Package plan decides the maintenance of a cluster from its topology: the volumes to vacuum, the moves that
// balance it, the volumes to encode with the targets of their shards, and the shards to move.
//
// The package is pure: the same topology, settings and time give the same work. Work that one call returns is
// planned together, and each choice counts the choices before it.
package plan
