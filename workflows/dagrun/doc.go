// Package dagrun is the workflow of one run of a DAG. It passes events to [dagrun.Graph], and
// carries out its decisions with a [run.Runner]. It has no rules.
package dagrun
