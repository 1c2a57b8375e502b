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
		{Name: "boxes", Subcommands: []*cli.Command{{Name: "list", Flags: common}, {Name: "show", Flags: common}}},
		{Name: "dev", Flags: []cli.Flag{&cli.BoolFlag{Name: "json"}}},
	}}
}

func TestArrangePutsFlagsBeforeArguments(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ in, want []string }{
		"flags last":            {[]string{"boxes", "show", "x", "--output", "json"}, []string{"r", "boxes", "show", "--output", "json", "--", "x"}},
		"flags first":           {[]string{"--output", "json", "boxes", "show", "x"}, []string{"r", "boxes", "show", "--output", "json", "--", "x"}},
		"flag with equals":      {[]string{"boxes", "show", "x", "-o=json", "--wait"}, []string{"r", "boxes", "show", "-o=json", "--wait", "--", "x"}},
		"dashes end the flags":  {[]string{"boxes", "show", "--", "--wait"}, []string{"r", "boxes", "show", "--", "--wait"}},
		"value like a command":  {[]string{"boxes", "--output", "list", "show", "x"}, []string{"r", "boxes", "show", "--output", "list", "--", "x"}},
		"argument like command": {[]string{"boxes", "show", "list"}, []string{"r", "boxes", "show", "--", "list"}},
		"help first":            {[]string{"help", "boxes", "show"}, []string{"r", "boxes", "show"}},
		"help last":             {[]string{"boxes", "show", "x", "-h"}, []string{"r", "boxes", "show", "--", "x"}},
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
		{[]string{"boxse", "list"}, `unknown command "boxse": did you mean "boxes"?`},
		{[]string{"boxes", "lst"}, `unknown command "lst": did you mean "list"? (see roundsman boxes --help)`},
		{[]string{"boxes", "list", "--ouput", "json"}, `unknown flag --ouput: did you mean --output?`},
		{[]string{"boxes", "list", "--completely-else"}, `unknown flag --completely-else: see roundsman boxes list --help`},
		{[]string{"dev", "--wait"}, `unknown flag --wait`},
		{[]string{"boxes", "list", "-y"}, `unknown flag -y: see`},
		{[]string{"boxes", "list", "--output"}, `flag --output needs a value`},
	}
	for _, tt := range tests {
		_, err := arrange(sampleTree(), tt.in)
		require.ErrorContains(t, err, tt.want)
		var exit *ui.ExitError
		require.ErrorAs(t, err, &exit)
		assert.Equal(t, ui.ExitUsage, exit.Code)
	}
}
