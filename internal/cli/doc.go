// Package cli is the command line of Roundsman. A command parses arguments, calls internal/app or the starter,
// and prints. It decides nothing.
//
// A command reaches its process only through [Env], so tests type every command as a person does.
package cli
