// Package cookbooke2e runs the recipes of docs/cookbook.md and docs/dag.md as they are written:
// it takes each block out of its document, and gives it to a real server, control plane and
// workers. The programs that recipes name append to a journal; tests judge by its order.
package cookbooke2e
