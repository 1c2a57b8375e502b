// Package verbs is the command tree that people see. A verb resolves its references and forwards to a hidden command.
package verbs
