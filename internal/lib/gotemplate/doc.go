// Package gotemplate is the template language of job types and DAG specs: Go's
// text/template without what its data does not bound. [New] refuses definitions,
// calls and names that do not exist; [Template.Execute] bounds the steps of loops,
// the text that functions make, and the output, so that no template can exhaust
// a process whatever its author writes and its data holds.
package gotemplate
