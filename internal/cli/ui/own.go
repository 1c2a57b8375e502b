package ui

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/roundsman/roundsman/internal/lib/lists"
)

// Renaming replaces the name of the program in its own texts, never in texts of users.
type Renaming struct {
	name     string
	commands *regexp.Regexp
}

// NewRenaming returns the renaming for a binary and the names of its commands. It is nil for roundsman itself.
func NewRenaming(name string, commands []string) *Renaming {
	if name == "" || name == ProgramName {
		return nil
	}
	line := ProgramName + "( (?:--?[a-z]|(?:COMMAND|help|man|" + strings.Join(lists.Map(commands, regexp.QuoteMeta), "|") + ")\\b))"
	return &Renaming{name: name, commands: regexp.MustCompile(`(?m)(^|[^\w/.-])` + line)}
}

// Name is the name of the binary.
func (r *Renaming) Name() string {
	if r == nil {
		return ProgramName
	}
	return cmp.Or(r.name, ProgramName)
}

// Code renames the command lines in backquotes, for lines that may contain the text of a user. Indented lines are values of
// users.
func (r *Renaming) Code(text string) string {
	lines := strings.Split(text, "\n")
	for at, line := range lines {
		if strings.HasPrefix(line, "    ") {
			continue
		}
		parts := strings.Split(line, "`")
		for i := 1; i < len(parts); i += 2 {
			parts[i] = r.Text(parts[i])
		}
		lines[at] = strings.Join(parts, "`")
	}
	return strings.Join(lines, "\n")
}

// Text renames the command lines in a text for people.
func (r *Renaming) Text(text string) string {
	if r == nil {
		return text
	}
	return r.commands.ReplaceAllString(text, "${1}"+r.name+"$2")
}
