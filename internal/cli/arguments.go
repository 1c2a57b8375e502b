package cli

import (
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/lib/suggest"
)

// arranged is a command line in the parser's order. People write flags anywhere.
type arranged struct {
	command *cli.Command
	path    []string
	flags   []string
	args    []string
	help    bool
	// former is set if the line has a former name, dropped is one that stands for no line.
	former  *former
	dropped string
}

func (a *arranged) line(program string) []string {
	line := append([]string{program}, a.path...)
	line = append(line, a.flags...)
	if len(a.args) > 0 {
		line = append(append(line, "--"), a.args...)
	}
	return line
}

// arrange refuses unknown commands and flags with a suggestion.
func arrange(root *cli.Command, args []string) (*arranged, error) {
	known := valueFlags(root)
	found := &arranged{command: root}
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			found.args = append(found.args, args[i+1:]...)
			return found.checked()
		case arg == "-h" || arg == "--help":
			found.help = true
		case len(arg) > 1 && arg[0] == '-':
			found.flags = append(found.flags, arg)
			name, _, hasValue := strings.Cut(strings.TrimLeft(arg, "-"), "=")
			if takesValue(found.command, known, name) && !hasValue {
				if i+1 == len(args) {
					return found, ui.Usagef("flag %s needs a value: see roundsman %s", arg, strings.Join(append(found.path, "--help"), " "))
				}
				i++
				found.flags = append(found.flags, args[i])
			}
		case arg == "help" && len(found.args) == 0 && found.command.Subcommands != nil:
			found.help = true
		case len(found.command.Subcommands) == 0 && strings.HasPrefix(found.command.ArgsUsage, "PROGRAM"):
			found.args = append(found.args, args[i:]...)
			return found.checked()
		default:
			found.take(root, arg)
		}
	}
	return found.checked()
}

func (a *arranged) take(root *cli.Command, word string) {
	name := strings.Join(slices.Concat(a.path, a.args, []string{word}), " ")
	if noun, ls := strings.CutSuffix(name, " ls"); ls {
		name = noun + " list"
	}
	if former, ok := formerNames()[name]; ok && a.former == nil {
		a.former, a.path, a.args = &former, strings.Fields(former.verb), nil
		a.command, a.flags = found(root, a.path), append(a.flags, former.flags...)
		return
	}
	if elsewhere()[name] != "" && strings.Contains(name, " ") && a.dropped == "" {
		a.dropped = name
	}
	if len(a.args) == 0 {
		for _, sub := range a.command.Subcommands {
			if sub.HasName(word) {
				a.command = sub
				a.path = append(a.path, sub.Name)
				return
			}
		}
	}
	a.args = append(a.args, word)
}

func (a *arranged) checked() (*arranged, error) {
	if a.dropped != "" {
		text := elsewhere()[a.dropped]
		if at := strings.LastIndex(a.dropped, " "); a.command.ArgsUsage != "" {
			text += "; for the name " + a.dropped[at+1:] + ": `roundsman " + a.dropped[:at] + " --" + a.dropped[at:] + "`"
		}
		return a, ui.Usagef("unknown command %q: %s", a.dropped, text)
	}
	if a.former != nil && !a.help {
		args, err := a.former.args(a.args)
		if err != nil {
			return a, err
		}
		a.args = args
	}
	here := strings.TrimSpace("roundsman " + strings.Join(a.path, " "))
	if holdsOthers(a.command) && len(a.args) > 0 {
		if hint := foreign(here, a.args); hint != "" {
			return a, ui.Usagef("%s", hint)
		}
		return a, unknown("command", a.args[0], here, commandNames(a.command))
	}
	names := flagNames(a.command)
	for i := 0; i < len(a.flags); i++ {
		name, _, hasValue := strings.Cut(strings.TrimLeft(a.flags[i], "-"), "=")
		if !slices.Contains(names, name) && !(a.help && holdsOthers(a.command)) {
			return a, unknownFlag(name, here, names)
		}
		if !hasValue && takesValue(a.command, valueFlags(a.command), name) {
			i++
		}
	}
	return a, nil
}

func unknown(what, word, here string, candidates []string) error {
	if hint := elsewhere()[strings.TrimPrefix(here+" "+word, ui.ProgramName+" ")]; hint != "" {
		return ui.Usagef("unknown %s %q: %s", what, word, hint)
	}
	if guess := suggest.Word(word, candidates); guess != "" {
		return ui.Usagef("unknown %s %q: did you mean %q? (see %s --help)", what, word, guess, here)
	}
	return ui.Usagef("unknown %s %q: see %s --help", what, word, here)
}

func unknownFlag(name, here string, candidates []string) error {
	written := "--" + name
	if len(name) == 1 {
		written = "-" + name
	}
	if hint := elsewhere()[strings.TrimPrefix(here, ui.ProgramName+" ")+" "+written]; hint != "" {
		return ui.Usagef("unknown flag %s: %s", written, hint)
	}
	if name == ui.FlagJSON && slices.Contains(candidates, ui.FlagOutput) {
		return ui.Usagef("unknown flag --%s: write -o json", name)
	}
	// A single letter is similar to every other letter.
	guess := suggest.Word(name, slices.DeleteFunc(slices.Clone(candidates), func(c string) bool { return len(c) == 1 }))
	if len(name) > 1 && guess != "" {
		return ui.Usagef("unknown flag --%s: did you mean --%s? (see %s --help)", name, guess, here)
	}
	return ui.Usagef("unknown flag %s: see %s --help", written, here)
}

func holdsOthers(command *cli.Command) bool {
	return command.Action == nil && len(command.Subcommands) > 0
}

func commandNames(command *cli.Command) []string {
	var names []string
	for _, sub := range command.Subcommands {
		if !sub.Hidden || command.Hidden {
			names = append(names, sub.Names()...)
		}
	}
	return names
}

func flagNames(command *cli.Command) []string {
	var names []string
	for _, flag := range command.Flags {
		names = append(names, flag.Names()...)
	}
	return names
}

// The flag -f has two meanings, so takesValue looks in this command first.
func takesValue(command *cli.Command, known map[string]bool, name string) bool {
	for _, flag := range command.Flags {
		if slices.Contains(flag.Names(), name) {
			_, isBool := flag.(*cli.BoolFlag)
			return !isBool
		}
	}
	return known[name]
}

// A test ensures that a flag takes a value in every command or in none.
func valueFlags(command *cli.Command) map[string]bool {
	known := map[string]bool{}
	for _, flag := range command.Flags {
		_, isBool := flag.(*cli.BoolFlag)
		for _, name := range flag.Names() {
			known[name] = !isBool
		}
	}
	for _, sub := range command.Subcommands {
		maps.Copy(known, valueFlags(sub))
	}
	return known
}
