// Package cli is the command line of Roundsman. A command parses, asks
// internal/app or the starter, and prints; nothing is decided here.
//
// Everything a command touches of its process comes in through [Env], so that
// every command is tested the way it is typed.
package cli
