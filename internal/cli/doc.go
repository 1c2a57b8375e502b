// Package cli is the command line of Roundsman. It decides nothing. A command reaches its process only through
// [ui.Env], so tests type every command as a person does.
package cli
