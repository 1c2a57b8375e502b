// Package gotemplate is what the templates of configurations have in common:
// few functions, errors for what does not exist, numbers as they were written.
// A template is Go's text/template; what it renders to never passes a shell.
package gotemplate
