package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/ui"
)

func sampleTree() *cli.Command {
	common := []cli.Flag{&cli.StringFlag{Name: "output", Aliases: []string{"o"}}, &cli.BoolFlag{Name: "wait"}}
	return &cli.Command{Name: "roundsman", Subcommands: []*cli.Command{
		{Name: "runs", Subcommands: []*cli.Command{{Name: "list", Flags: common}, {Name: "show", Flags: common}}},
		{Name: "dev", Flags: []cli.Flag{&cli.BoolFlag{Name: "json"}}},
	}}
}

func TestArrangePutsFlagsBeforeArguments(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ in, want []string }{
		"flags last":            {[]string{"runs", "show", "x", "--output", "json"}, []string{"r", "runs", "show", "--output", "json", "--", "x"}},
		"flags first":           {[]string{"--output", "json", "runs", "show", "x"}, []string{"r", "runs", "show", "--output", "json", "--", "x"}},
		"flag with equals":      {[]string{"runs", "show", "x", "-o=json", "--wait"}, []string{"r", "runs", "show", "-o=json", "--wait", "--", "x"}},
		"dashes end the flags":  {[]string{"runs", "show", "--", "--wait"}, []string{"r", "runs", "show", "--", "--wait"}},
		"value like a command":  {[]string{"runs", "--output", "list", "show", "x"}, []string{"r", "runs", "show", "--output", "list", "--", "x"}},
		"argument like command": {[]string{"runs", "show", "list"}, []string{"r", "runs", "show", "--", "list"}},
		"help first":            {[]string{"help", "runs", "show"}, []string{"r", "runs", "show"}},
		"help last":             {[]string{"runs", "show", "x", "-h"}, []string{"r", "runs", "show", "--", "x"}},
		"nothing":               {nil, []string{"r"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := arrange(sampleTree(), tt.in)
			require.NoError(t, err)
			assert.Equal(t, tt.want, got.line("r"))
			assert.Equal(t, strings.HasPrefix(name, "help"), got.help)
		})
	}
}

// TestCommandsOfOtherPrograms: a word that other programs use names the command that does it.
func TestCommandsOfOtherPrograms(t *testing.T) {
	t.Parallel()
	h := offline(t)
	h.run("apply", "--dry-run").Exits(ui.ExitUsage).Complains("unknown flag --dry-run: `roundsman plan` shows the changes")
	h.run("plan", "--prune").Exits(ui.ExitUsage).Complains("`roundsman apply --prune` makes them")
}

func TestArrangeSuggests(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   []string
		want string
	}{
		{[]string{"rusn", "list"}, `unknown command "rusn": did you mean "runs"?`},
		{[]string{"runs", "lst"}, `unknown command "lst": did you mean "list"? (see roundsman runs --help)`},
		{[]string{"runs", "list", "--ouput", "json"}, `unknown flag --ouput: did you mean --output?`},
		{[]string{"runs", "list", "--completely-else"}, `unknown flag --completely-else: see roundsman runs list --help`},
		{[]string{"dev", "--wait"}, `unknown flag --wait`},
		{[]string{"runs", "list", "-y"}, `unknown flag -y: see`},
		{[]string{"runs", "list", "--output"}, `flag --output needs a value`},
	}
	for _, tt := range tests {
		_, err := arrange(sampleTree(), tt.in)
		require.ErrorContains(t, err, tt.want)
		var exit *ui.ExitError
		require.ErrorAs(t, err, &exit)
		assert.Equal(t, ui.ExitUsage, exit.Code)
	}
}
