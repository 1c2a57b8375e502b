// Package gotemplate is the template language of job types and DAG specs: Go's text/template with bounded cost. [New]
// refuses definitions, calls and unknown names. [Template.Execute] bounds the steps of loops, the text produced by
// functions, and the output. So no template can exhaust a process, with any data.
package gotemplate
