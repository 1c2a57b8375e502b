package ui

import (
	"cmp"
	"regexp"
	"strings"
)

// Renaming replaces the name of the program in texts: the binary of an author has a name of its own.
type Renaming struct {
	name           string
	commands, data *regexp.Regexp
}

// NewRenaming returns the renaming for a binary and the names of its commands. It is nil for roundsman itself.
func NewRenaming(name string, commands []string) *Renaming {
	if name == "" || name == ProgramName {
		return nil
	}
	words := make([]string, len(commands))
	for i, command := range commands {
		words[i] = regexp.QuoteMeta(command)
	}
	line := ProgramName + "( (?:--?[a-z]|(?:COMMAND|help|man|" + strings.Join(words, "|") + ")\\b))"
	return &Renaming{name: name, commands: regexp.MustCompile(`(?m)(^|[^\w/.-])` + line), data: regexp.MustCompile("(\"?command\"?: ?\"?|`)" + line)}
}

// Name is the name of the binary.
func (r *Renaming) Name() string {
	if r == nil {
		return ProgramName
	}
	return cmp.Or(r.name, ProgramName)
}

// Text renames the command lines in a text for people.
func (r *Renaming) Text(text string) string {
	if r == nil {
		return text
	}
	return r.commands.ReplaceAllString(text, "${1}"+r.name+"$2")
}

// Data renames the command lines of remedies in an answer for programs. All other values stay as they are.
func (r *Renaming) Data(text []byte) []byte {
	if r == nil {
		return text
	}
	return r.data.ReplaceAll(text, []byte("${1}"+r.name+"$2"))
}
