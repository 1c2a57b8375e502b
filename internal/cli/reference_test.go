package cli

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/testsuite"
)

var update = flag.Bool("update", false, "write docs/cli.md again")

// walk visits every command, groups included.
func walk(path string, command *cli.Command, visit func(path string, command *cli.Command)) {
	visit(path, command)
	for _, sub := range command.Subcommands {
		if !sub.Hidden {
			walk(path+" "+sub.Name, sub, visit)
		}
	}
}

// reference renders docs/cli.md.
func reference(root *cli.Command) string {
	var text bytes.Buffer
	fmt.Fprint(&text, "# Command line\n\nGenerated from the commands themselves: `go test ./internal/cli -run TestReference -update`.\n\n"+
		"Every command takes `--help`. Flags may stand anywhere on the line. Exit codes, in every command:\n"+
		"0 done, 1 failed, 2 a difference (`plan` would change something, `apply` left deletions), 3 wrong usage or a\n"+
		"faulty file, 4 the run that was waited for completed with warnings. Errors go to standard error and say what to do next. \n"+
		"`--output json` prints one JSON value on standard output, exact times in RFC 3339; yaml is the same as YAML.\n"+
		"Of several references each has its own line of JSON, or YAML document.\n"+
		"In a pipe nothing is cut; on a terminal the last column gives way. `NO_COLOR` switches colors off.\n"+
		"Connection settings are looked for in this order: flags, `TEMPORAL_*` variables, the\n"+
		"configuration, a profile of the Temporal CLI (`TEMPORAL_CONFIG_FILE`, `TEMPORAL_PROFILE`), defaults.\n"+
		"\nThese flags are common to all commands that talk to a server; `wide`, `name` and `--no-headers` are of those that list or show:\n\n```\n")
	_, common := documentedFlags(&cli.Command{Flags: ui.ListFlags()})
	for _, flag := range common {
		fmt.Fprintf(&text, "%-24s %s\n", flag.names, flag.about)
	}
	fmt.Fprint(&text, "```\n\n## References\n\n```\n"+(&commands{&ui.Program{}}).refsHelp().Description+"\n```\n\n"+
		"Most names of the former command tree (jobtypes run, runs show, dag approve and others) are accepted, with the flags of the\n"+
		"command that they stand for, and not shown.\n")
	walk(ui.ProgramName, root, func(path string, command *cli.Command) {
		if command == root || command.Action == nil {
			return
		}
		fmt.Fprintf(&text, "\n## %s\n\n", path)
		fmt.Fprint(&text, "```\n")
		printHelp(&text, path, withoutCommon(command))
		fmt.Fprint(&text, "```\n")
	})
	return text.String()
}

// withoutCommon drops the flags that the page shows once, at its top.
func withoutCommon(command *cli.Command) *cli.Command {
	short := *command
	short.Flags = nil
	for _, flag := range command.Flags {
		if categorized, ok := flag.(cli.CategorizableFlag); !ok || categorized.GetCategory() != ui.CategoryCommon {
			short.Flags = append(short.Flags, flag)
		}
	}
	return &short
}

func TestReferenceIsCurrent(t *testing.T) {
	t.Parallel()
	dir, err := testsuite.ModuleRoot()
	require.NoError(t, err)
	path := filepath.Join(dir, "docs", "cli.md")
	want := reference((&commands{&ui.Program{}}).root())
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o644)) //nolint:gosec // documentation
	}
	have, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.True(t, want == string(have), "docs/cli.md is not current: go test ./internal/cli -run TestReference -update") //nolint:testifylint // The difference would fill pages.
}

func TestEveryCommandIsDocumented(t *testing.T) {
	t.Parallel()
	kinds := map[string]bool{}
	walk(ui.ProgramName, (&commands{&ui.Program{}}).root(), func(path string, command *cli.Command) {
		assert.NotEmpty(t, command.Usage, path)
		if command.Action != nil {
			assert.Contains(t, command.Description, "Examples:\n  ", path)
			assert.NotNil(t, command.Action, path)
		}
		for _, documented := range command.Flags {
			flag, ok := documented.(cli.DocGenerationFlag)
			require.True(t, ok, path)
			assert.NotEmpty(t, flag.GetUsage(), path+" "+documented.Names()[0])
			for _, name := range documented.Names() {
				takes, known := kinds[name]
				assert.True(t, !known || name == "f" || takes == flag.TakesValue(), "flag --%s means different things in different commands", name)
				kinds[name] = flag.TakesValue()
			}
		}
	})
	assert.NotEmpty(t, kinds)
}

func TestEveryExampleParses(t *testing.T) {
	t.Parallel()
	root := (&commands{&ui.Program{}}).root()
	examples := 0
	walk(ui.ProgramName, root, func(path string, command *cli.Command) {
		_, list, _ := strings.Cut(command.Description, "Examples:\n")
		for line := range strings.SplitSeq(list, "\n") {
			line = strings.TrimSpace(line)
			if !strings.HasPrefix(line, ui.ProgramName+" ") {
				continue
			}
			line, _, _ = strings.Cut(line, "|")
			line, _, _ = strings.Cut(line, "&&")
			line, _, _ = strings.Cut(line, ">")
			_, err := arrange(root, shellWords(line)[1:])
			assert.NoError(t, err, "%s: %s", path, line)
			examples++
		}
	})
	assert.Greater(t, examples, 40)
}

// shellWords splits a line at blanks outside of double quotes.
func shellWords(line string) []string {
	var words []string
	for i, part := range strings.Split(line, `"`) {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}

func TestHelpOfEveryCommand(t *testing.T) {
	t.Parallel()
	h := offline(t)
	walk(ui.ProgramName, (&commands{&ui.Program{}}).root(), func(path string, command *cli.Command) {
		words := strings.Fields(path)[1:]
		o := h.run(append(words, "--help")...).OK().Says(path+" - "+command.Usage, "Usage: "+path)
		assert.Empty(t, o.Stderr)
		for line := range strings.SplitSeq(o.Stdout, "\n") {
			assert.Equal(t, strings.TrimRight(line, " \t"), line, path)
		}
	})
}
