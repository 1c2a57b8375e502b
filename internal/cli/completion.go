package cli

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/ui"
)

// completionWord is the hidden first argument: `roundsman __complete WORDS… LAST`, with the unfinished word last.
const completionWord = "__complete"

func completionRequest(args []string) ([]string, bool) {
	if len(args) > 0 && args[0] == completionWord {
		return args[1:], true
	}
	return nil, false
}

// complete lists commands, flags, their values, and names from the server within [liveWithin].
func (c *commands) complete(ctx context.Context, root *cli.Command, words []string) []string {
	command, last := root, ""
	typed := words
	if len(words) > 0 {
		last = words[len(words)-1]
		words = words[:len(words)-1]
	}
	known := valueFlags(root)
	for i := 0; i < len(words); i++ {
		word := words[i]
		if name, _, hasValue := strings.Cut(strings.TrimLeft(word, "-"), "="); word != name {
			if takesValue(command, known, name) && !hasValue {
				i++
			}
			continue
		}
		for _, sub := range command.Subcommands {
			if sub.HasName(word) {
				command = sub
				break
			}
		}
	}
	if len(words) > 0 && strings.HasPrefix(words[len(words)-1], "-") {
		flag := strings.TrimLeft(words[len(words)-1], "-")
		if flag == ui.FlagOutput || flag == "o" {
			return matching(ui.Formats(command), last)
		}
		if flag == ui.FlagSort {
			return matching(sortFields(command), last)
		}
		if values, ok := flagValues(command, flag); ok {
			return matching(values, last)
		}
		if kind := liveFlags[flag]; kind != "" {
			return matching(c.liveNames(ctx, kind, last, typed), last)
		}
	}
	if strings.HasPrefix(last, "-") {
		var flags []string
		for _, name := range append(flagNames(command), "help") {
			if len(name) > 1 {
				flags = append(flags, "--"+name)
			}
		}
		return matching(flags, last)
	}
	if command.Action != nil {
		names := c.liveNames(ctx, liveArguments[group(command)], last, typed)
		return matching(append(names, commandNames(command)...), last)
	}
	return matching(commandNames(command), last)
}

func flagValues(command *cli.Command, name string) ([]string, bool) {
	switch name {
	case ui.FlagState, "s":
		return ui.KnownStates(command), true
	case "kind":
		return []string{"pause", "budget", "done", "failure", "all"}, true
	case ui.FlagLogLevel:
		return []string{"debug", "info", "warn", "error"}, true
	case ui.FlagLogFormat:
		return []string{"text", "json"}, true
	}
	return nil, false
}

func sortFields(command *cli.Command) (fields []string) {
	for _, flag := range command.Flags {
		if sort, ok := flag.(*ui.SortFlag); ok {
			for _, field := range sort.Fields {
				fields = append(fields, field, "-"+field)
			}
		}
	}
	return fields
}

func matching(candidates []string, prefix string) []string {
	var matched []string
	for _, candidate := range candidates {
		if strings.HasPrefix(candidate, prefix) {
			matched = append(matched, candidate)
		}
	}
	slices.Sort(matched)
	return slices.Compact(matched)
}

const bashCompletion = `_roundsman() {
    # A reference has @ : and =, at which bash splits words: the words are those between blanks.
    local line="${COMP_LINE:0:COMP_POINT}" words last head i
    read -r -a words <<<"$line"
    last="${line##*[[:space:]]}"
    [ -n "$last" ] && unset "words[${#words[@]}-1]"
    head="${last%"${last##*[@:=]}"}"
    local IFS=$'\n'
    COMPREPLY=($("${COMP_WORDS[0]}" __complete "${words[@]:1}" "$last" 2>/dev/null))
    if [ ${#COMPREPLY[@]} -eq 0 ]; then
        COMPREPLY=($(compgen -f -- "$last"))
    fi
    for i in "${!COMPREPLY[@]}"; do
        COMPREPLY[i]="${COMPREPLY[i]#"$head"}"
    done
}
complete -F _roundsman roundsman
`

const zshCompletion = `#compdef roundsman
_roundsman() {
    local -a candidates
    candidates=("${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [ -n "${candidates[1]}" ]; then
        compadd -a candidates
    else
        _files
    fi
}
if [ "${funcstack[1]}" = _roundsman ]; then
    _roundsman "$@" # Autoloaded from fpath by the first TAB: this file is the function.
else
    compdef _roundsman roundsman
fi
`

const fishCompletion = `function __roundsman_complete
    set -l words (commandline -opc) (commandline -ct)
    roundsman __complete $words[2..-1] 2>/dev/null
end
complete -c roundsman -a '(__roundsman_complete)'
`

func (c *commands) completionCommand() *cli.Command {
	return &cli.Command{
		Name: "completion", ArgsUsage: "bash|zsh|fish",
		Usage: "print a completion script for a shell",
		Description: "Manual pages for packages: `roundsman man DIR` writes one page for each command.\n" + `
Examples:
  source <(roundsman completion bash)
  roundsman completion zsh > "${fpath[1]}/_roundsman"
  roundsman completion fish > ~/.config/fish/completions/roundsman.fish`,
		Action: func(ctx *cli.Context) error {
			scripts := map[string]string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}
			script, ok := scripts[ctx.Args().First()]
			if !ok {
				return ui.Usagef("no completion for %q: choose bash, zsh or fish", ctx.Args().First())
			}
			name := c.Env.Own.Name()
			function := regexp.MustCompile(`[^A-Za-z0-9_]`).ReplaceAllString(name, "_")
			script = strings.NewReplacer("_roundsman", "_"+function, "roundsman", name).Replace(script)
			_, err := c.Env.Stdout.Write([]byte(script))
			return err
		},
	}
}
