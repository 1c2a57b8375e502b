// Package gotemplate is the language of templates: Go's text/template with bounded cost. [New] refuses definitions,
// calls and unknown names. [Template.Execute] bounds loops, texts and the output.
package gotemplate
