package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/internal/cli/ui"
)

// TestCompletionOfLiveNames: the shell offers names from the server, and does not wait for a silent server.
func TestCompletionOfLiveNames(t *testing.T) {
	t.Parallel()
	h := alone(t)
	h.run("apply", "-c", h.write(threeTypes)).OK()
	h.eventually("unserved", "jobtypes", "-o", "name")
	offered := func(words ...string) []string {
		return strings.Fields(h.run(append([]string{completionWord}, words...)...).OK().Stdout)
	}
	assert.Equal(t, []string{"labelled", "served", "unserved"}, offered("start", ""))
	assert.Equal(t, []string{"unserved"}, offered("explain", "un"))
	assert.Equal(t, []string{"served"}, offered("runs", "se"))
	assert.Equal(t, []string{"failed"}, offered("jobs", "--state", "fai"))
	assert.Equal(t, []string{"failed"}, offered("jobs", "-s", "fai"))
	assert.Equal(t, []string{"partial"}, offered("runs", "-s", "par"))

	assert.Equal(t, []string{"-took", "took"}, append(offered("runs", "--sort", "-to"), offered("runs", "--sort", "to")...))

	h.run("jobtypes", "-s", "failed").Exits(ui.ExitFailed).Says("no job types match")
	assert.Equal(t, "labelled\nserved\nunserved\n", h.run("jobtypes", "-o", "name").OK().Stdout)
	assert.Equal(t, "served\n", h.run("show", "jobtype/served", "-o", "name").OK().Stdout)
	h.run("jobtypes", "-o", "yaml").Exits(ui.ExitFailed).Says("job_types:\n  - name: labelled\n")
	h.run("jobtypes", "-o", "wide").Exits(ui.ExitFailed).Says("LANE", "ABOUT")
	assert.NotContains(t, h.run("jobtypes").Exits(ui.ExitFailed).Stdout, "LANE")
	assert.NotContains(t, h.run("jobtypes", "--no-headers").Exits(ui.ExitFailed).Stdout, "HANDLER")
	assert.Empty(t, h.run("runs", "--no-headers").OK().Complains("no runs yet").Stdout)
	assert.Empty(t, h.run("runs", "-o", "name").OK().Stdout)

	away := offline(t)
	assert.Empty(t, away.run(completionWord, "start", "").OK().Stdout)
	assert.Empty(t, away.run(completionWord, "start", "--address", "192.0.2.1:7233", "").OK().Stdout)
}

// TestZshCompletesAtTheFirstTab: at the first TAB zsh runs the script from fpath as the function's body, so
// this call must complete too.
func TestZshCompletesAtTheFirstTab(t *testing.T) {
	t.Parallel()
	script := offline(t).run("completion", "zsh").OK().Stdout
	assert.True(t, strings.HasPrefix(script, "#compdef roundsman\n"))
	assert.Regexp(t, `(?s)if \[ "\$\{funcstack\[1\]\}" = _roundsman \]; then\s+_roundsman "\$@".*else\s+compdef _roundsman roundsman\s+fi\s*$`, script)
}

// TestCompletionOfStates: -s offers the states of the command and its groups of states.
func TestCompletionOfStates(t *testing.T) {
	t.Parallel()
	h := offline(t)
	for line, want := range map[string][]string{
		"runs -s ": {"bad", "canceled", "completed", "failed", "open", "partial", "skipped", "timeout"}, "workers -s O": {"OFFLINE", "ONLINE"},
		"jobs --state b": {"bad"}, "schedule -s s": {"skipped"}, "jobtypes -s b": {"bad"}, "resume x --kind ": {"all", "budget", "done", "failure", "pause"},
	} {
		words := strings.Split(line, " ")
		got := strings.Fields(h.run(append([]string{completionWord}, words...)...).OK().Stdout)
		assert.Equal(t, want, got, line)
	}
}
