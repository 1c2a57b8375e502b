package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/ui"
)

// The bounds of the tree that a person learns.
const (
	maxCommands = 40
	maxFlags    = 120
	maxText     = 60
)

// TestTheTree holds the visible commands and flags, their letters and the length of their texts.
func TestTheTree(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	count, flags, letters := 0, 0, map[string]string{}
	walk(ui.ProgramName, (&commands{&ui.Program{}}).root(), func(path string, command *cli.Command) {
		if path == ui.ProgramName || command.Action == nil {
			return
		}
		count++
		fmt.Fprintf(&text, "%s %s\n", path, command.ArgsUsage)
		assert.LessOrEqual(t, len([]rune(command.Usage)), maxText, "%s: %s", path, command.Usage)
		own, _ := documentedFlags(command)
		for _, flag := range own {
			flags++
			fmt.Fprintf(&text, "    %s\n", flag.names)
		}
		for _, flag := range command.Flags {
			hidden, ok := flag.(cli.VisibleFlag)
			for _, name := range flag.Names() {
				if len(name) == 1 && (!ok || hidden.IsVisible()) {
					letters[name] += " " + flag.Names()[0]
				}
			}
		}
	})
	assert.LessOrEqual(t, count, maxCommands)
	assert.LessOrEqual(t, flags, maxFlags)
	t.Logf("%d commands, %d flags", count, flags)
	for letter, names := range letters {
		all := strings.Fields(names)
		slices.Sort(all)
		all = slices.Compact(all)
		assert.True(t, len(all) == 1 || letter == "f" && slices.Equal(all, []string{"file", "follow"}), "-%s stands for %v", letter, all)
	}
	const golden = "testdata/tree.golden"
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))                     //nolint:gosec // test data
		require.NoError(t, os.WriteFile(golden, []byte(text.String()), 0o644)) //nolint:gosec // test data
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), text.String(), "go test ./internal/cli -run TestTheTree -update")
}

// TestForeignWordsNeverAct: no request is sent, and the line that does it is shown.
func TestForeignWordsNeverAct(t *testing.T) {
	t.Parallel()
	h := offline(t)
	for word, line := range map[string]string{
		"run": "roundsman start scrub", "get": "roundsman show scrub", "describe": "roundsman show scrub", "why": "roundsman explain scrub",
		"trigger": "roundsman start scrub", "stop": "roundsman cancel scrub", "kill": "roundsman cancel scrub", "tail": "roundsman logs -f scrub",
		"rerun": "roundsman retry scrub", "ps": "roundsman jobs -s running",
	} {
		h.run(word, "scrub").Exits(ui.ExitUsage).Complains(line)
	}
	h.env.Interactive = true
	h.run("worker").Exits(ui.ExitUsage).Complains("roundsman workers")
}

// TestFlagsWithoutEffectAreRefused: a verb has the flags of all its kinds.
func TestFlagsWithoutEffectAreRefused(t *testing.T) {
	t.Parallel()
	h := offline(t)
	h.run("start", "x.yaml", "--ignore-window").Exits(ui.ExitUsage).Complains("--ignore-window has no effect on x.yaml")
	h.run("submit", "scrub@last").Exits(ui.ExitUsage).Complains("write TYPE or TYPE:KEY")
	h.run("resume", "scrub", "--kind", "every").Exits(ui.ExitUsage).Complains("must be pause, budget, done, failure or all")
	h.run("resources", "db").Exits(ui.ExitUsage).Complains("write lane/NAME, pool/NAME or object/NAME")
}
