// Package draw draws the tasks of a DAG as an SVG with its own layout, as text for Graphviz (dot), or as
// a Mermaid flowchart.
//
// A [Picture] holds tasks with their dependencies and, for a run, their states. [Picture.Around] reduces
// it to the neighborhood of one task. [Picture.Draw] writes it. A fan-out can be drawn as one box with
// the counts of its tasks, which keeps a graph of 10,000 tasks legible. A graph that is still too large
// for the layout is refused at once ([*TooLargeError]).
//
// The same tasks give the same bytes. Color is never the only sign: every box has its state as text, and
// an SVG has a title and a description for screen readers.
package draw
