package ui

import (
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"
)

// Env is the process as the commands see it.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Terminal enables live bars and colors: Stdout is a terminal.
	Terminal bool
	// Interactive enables questions: Stdin and Stdout are terminals.
	Interactive bool
	// Width is the terminal's width in columns; 0 if unknown.
	Width int
	// Now is the clock.
	Now func() time.Time
	// Environ are the environment variables, as os.Environ gives them.
	Environ []string
	// Executable is the path of the running binary, or "" if unknown.
	Executable string
	// Name is the name of the binary; empty: roundsman.
	Name string
	// Own renames the program in texts, by Name. It is nil for roundsman.
	Own *Renaming
	// AskWithin is how long a command waits for a control plane that does not answer. Default: [AskWithin].
	AskWithin time.Duration
	// Shim is the command line of the running binary as a shim, empty if it has none.
	Shim []string
}

// SystemEnv is the process's own.
func SystemEnv() Env {
	env := Env{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Now: time.Now, Environ: os.Environ(),
	}
	if fd := int(os.Stdout.Fd()); term.IsTerminal(fd) {
		env.Terminal, env.Interactive = true, term.IsTerminal(int(os.Stdin.Fd()))
		if width, _, err := term.GetSize(fd); err == nil {
			env.Width = width
		}
	}
	if path, err := os.Executable(); err == nil {
		env.Executable = path
	}
	return env
}

// getenv reads a variable of e.Environ; the last one wins, as in a shell.
func (e Env) getenv(name string) string {
	for _, entry := range slices.Backward(e.Environ) {
		if key, value, found := strings.Cut(entry, "="); found && key == name {
			return value
		}
	}
	return ""
}

// Colors reports whether Stdout takes escape sequences: a terminal without NO_COLOR and TERM=dumb.
func (e Env) Colors() bool {
	return e.Terminal && e.getenv("NO_COLOR") == "" && e.getenv("TERM") != "dumb"
}
