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
	// Terminal says that a person looks at Stdout: live bars, colors.
	Terminal bool
	// Interactive says that a person can be asked: Stdin and Stdout are terminals.
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
	// Own follows from Name: it renames the program in texts; nil: the binary is roundsman.
	Own *Renaming
	// Shim is the command line of the running binary as a shim; empty: it cannot be one.
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

// Colors reports whether escape sequences may be written: to a terminal, unless
// NO_COLOR (any value, see no-color.org) or TERM=dumb says otherwise.
func (e Env) Colors() bool {
	return e.Terminal && e.getenv("NO_COLOR") == "" && e.getenv("TERM") != "dumb"
}
