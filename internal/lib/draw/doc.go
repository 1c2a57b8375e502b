// Package draw draws the tasks of a DAG: as an SVG that is laid out here, as
// text for Graphviz (dot), or as a Mermaid flowchart.
//
// A [Picture] is made of tasks that know their dependencies and, for a picture of
// a run, their states. [Picture.Around] keeps what one task has to do with;
// [Picture.Draw] writes it. A fan-out can be drawn as one box with the counts of
// its tasks, which is what makes a graph of 10,000 tasks legible; what remains too
// large to be laid out or looked at is refused ([*TooLargeError]) instead of
// being tried for minutes.
//
// The same tasks always give the same bytes. Nothing relies on colors alone:
// every box says its state in words, and an SVG carries a title and a description
// for those who cannot see it.
package draw
