// Package cookbooke2e runs the recipes of docs/cookbook.md and docs/dag.md as written. It reads each block from
// its document and passes it to a real server, control plane and workers. The programs of recipes append to a
// journal, whose order the tests check.
package cookbooke2e
