// Package draw draws the tasks of a DAG as an SVG with its own layout, as text for Graphviz (dot), or as a Mermaid flowchart.
//
// A fan-out can be one box with the counts of its tasks. A graph that is too large for the layout is refused at once
// ([*TooLargeError]). The same tasks give the same bytes. Every box has its state as text, and an SVG has a title and
// a description for screen readers.
package draw
