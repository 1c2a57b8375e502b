// Package plan decides the maintenance of a cluster from its topology. It is pure. Each choice of one call counts the
// choices before it.
package plan
