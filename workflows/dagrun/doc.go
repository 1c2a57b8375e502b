// Package dagrun is the workflow of one run of a DAG. It receives what happens, asks
// [graph.Graph] what to do, and carries it out with a [run.Runner]. No rule lives
// here.
package dagrun
