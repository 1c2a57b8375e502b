package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/ui"
)

// TestOldNamesAreUnderstood: a former name stands for the line of a visible command.
func TestOldNamesAreUnderstood(t *testing.T) {
	t.Parallel()
	root := (&commands{&ui.Program{}}).root()
	for written, want := range map[string]string{
		"workers ls": "workers", "dag skip nightly load report": "skip -- nightly/load nightly/report", "runs show scrub": "show -- scrub@",
		"jobtypes show scrub": "show -- jobtype/scrub", "dag list": "runs", "jobs cancel scrub/12": "cancel -- scrub/12",
		"jobtypes re-enable scrub": "resume --kind=budget -- jobtype/scrub",
	} {
		line, err := arrange(root, strings.Fields(written))
		require.NoError(t, err, written)
		assert.Equal(t, "roundsman "+want, strings.Join(line.line(ui.ProgramName), " "))
	}
	for _, written := range []string{"jobs forgive scrub", "dag skip x"} {
		_, err := arrange(root, strings.Fields(written))
		require.ErrorContains(t, err, "an argument is missing: see roundsman ", written)
	}
	for name := range formerNames() {
		line, err := arrange(root, append(strings.Fields(name), "--help"))
		require.NoError(t, err, name)
		assert.False(t, line.command.Hidden, name)
		assert.NotNil(t, line.command.Action, name)
	}
}

// TestADroppedNameIsRefusedWithItsReplacement: no line stands for these names.
func TestADroppedNameIsRefusedWithItsReplacement(t *testing.T) {
	t.Parallel()
	h := offline(t)
	for line, want := range map[string]string{
		"dag set nightly concurrency=3":                   "roundsman set RUN concurrency=N",
		"dag add-tasks nightly extra.yaml":                "roundsman set RUN -f FILE",
		"dag":                                             "roundsman runs",
		"jobtypes backfill scrub --from 7d":               "roundsman start NAME --backfill FROM..TO",
		"jobs submit --type scrub --params {}":            "roundsman submit TYPE:KEY",
		"jobs submit --help":                              "roundsman submit TYPE:KEY",
		"workers resize node-a --max-execute 8":           "roundsman set WORKER max_execute=N",
		"pools resize db --size 3":                        "roundsman set pool/NAME size=N",
		"pools":                                           "roundsman resources",
		"notifications test ops":                          "roundsman receivers --test NAME",
		"drain node-a --no-wait":                          "roundsman pause WORKER",
		"workers drain node-a --no-wait":                  "roundsman pause WORKER",
		"audit --kind operator":                           "jq '.[] | select(.kind == \"operator\")'",
		"runs list --outcome failed --job-type scrub":     "roundsman runs -s OUTCOME",
		"runs -t scrub":                                   "unknown flag -t: `roundsman runs NAME`",
		"jobs list --node node-a":                         "roundsman jobs WORKER",
		"dag retry nightly -f nightly.yaml --accept-diff": "-f FILE alone",
		"jobtypes run scrub --detach":                     "-w waits",
		"ledger --days 7":                                 "roundsman schedule --since 7d --until now",
		"runs show nightly --task load":                   "roundsman show RUN/TASK",
		"jobtypes re-enable scrub --key /srv/a.bin":       "roundsman resume TYPE:KEY --kind budget",
	} {
		o := h.run(strings.Fields(line)...).Exits(ui.ExitUsage).Complains("unknown ", want)
		assert.Empty(t, o.Stdout, line)
	}
	h.run("jobs", "submit").Exits(ui.ExitUsage).Complains("; for the name submit: `roundsman jobs -- submit`")
	h.run("jobs", "--", "submit").Exits(ui.ExitFailed).Complains("no Temporal server answers")
	h.run("dag", "set").Exits(ui.ExitUsage).Complains("roundsman set RUN concurrency=N`\n")
	h.run("runs", "x", "--detach").Exits(ui.ExitUsage).Complains("unknown flag --detach: see roundsman runs --help")
}

// TestElsewhereIsElsewhere: no command has a word or a flag of the table, and each flag stands behind a command.
func TestElsewhereIsElsewhere(t *testing.T) {
	t.Parallel()
	root := (&commands{&ui.Program{}}).root()
	for name, text := range elsewhere() {
		words := strings.Fields(name)
		last := words[len(words)-1]
		if flag, is := strings.CutPrefix(last, "-"); is {
			command := found(root, words[:len(words)-1])
			if assert.NotNil(t, command, name) {
				assert.NotContains(t, flagNames(command), strings.TrimPrefix(flag, "-"), name)
			}
		} else {
			assert.Nil(t, found(root, words), name)
			assert.NotContains(t, formerNames(), name)
		}
		assert.LessOrEqual(t, len(text), 100, name)
	}
}

// TestAHiddenCommandIsNamed: an operator finds it in the help of a visible command.
func TestAHiddenCommandIsNamed(t *testing.T) {
	t.Parallel()
	h := offline(t)
	var help strings.Builder
	root := (&commands{&ui.Program{}}).root()
	walk(ui.ProgramName, root, func(path string, _ *cli.Command) {
		help.WriteString(h.run(append(strings.Fields(path)[1:], "--help")...).OK().Stdout)
	})
	var hidden func(path string, command *cli.Command, within bool) []string
	hidden = func(path string, command *cli.Command, within bool) (names []string) {
		if within = within || command.Hidden; within && command.Action != nil {
			names = append(names, path)
		}
		for _, sub := range command.Subcommands {
			names = append(names, hidden(path+" "+sub.Name, sub, within)...)
		}
		return names
	}
	names := hidden(ui.ProgramName, root, false)
	slices.Sort(names)
	assert.Equal(t, []string{
		"roundsman api openapi", "roundsman gateway http", "roundsman jobtypes import", "roundsman keys end-sessions", "roundsman man",
		"roundsman refs", "roundsman version", "roundsman workers cleanup",
	}, names)
	for _, name := range names {
		switch name {
		case "roundsman version":
			assert.Contains(t, help.String(), "--version", "the word is what other programs have")
		case "roundsman refs":
			assert.Contains(t, h.run("--help").OK().Stdout, "roundsman help refs")
		default:
			assert.Contains(t, help.String(), name)
		}
	}
}
