// Package verbs is the command tree that people see: one verb for one act on every kind of thing. A verb
// resolves its references and forwards to the command of that kind, which is hidden.
package verbs
