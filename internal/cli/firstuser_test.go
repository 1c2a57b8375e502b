package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/internal/cli/ui"
)

// TestWordsThatNothingHas: a wrong word is refused, and a name that nothing has is reported, in place of an empty answer.
func TestWordsThatNothingHas(t *testing.T) {
	t.Parallel()
	h, _, _ := startCluster(t)
	for _, tt := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"workers", "-s", "NOPE"}, ui.ExitUsage, "--state NOPE: must be one of ONLINE, UNREACHABLE, OFFLINE, DRAINING, CORDONED, DELETED"},
		{[]string{"runs", "-s", "weird"}, ui.ExitUsage, "--state weird: must be one of open, bad, completed, partial, failed, timeout, canceled, skipped"},
		{[]string{"jobs", "-s", "nope"}, ui.ExitUsage, "--state nope: must be one of bad, pending, "},
		{[]string{"jobtypes", "-s", "nope"}, ui.ExitUsage, "--state nope: must be one of bad, completed, "},
		{[]string{"holds", "nope"}, ui.ExitFailed, "job type nope does not exist"},
		{[]string{"resources", "pool/nope"}, ui.ExitFailed, "pool nope does not exist"},
		{[]string{"resources", "lane/nope"}, ui.ExitFailed, "lane nope does not exist"},
		{[]string{"show", "pool/nope", "-o", "json"}, ui.ExitFailed, "pool nope does not exist"},
	} {
		h.run(tt.args...).Exits(tt.code).Complains(tt.says)
	}
	file := h.writeSpec(gatedDAG)
	for _, tt := range []struct {
		args []string
		says string
	}{
		{[]string{"show", file, "nope"}, "nope is not: show files without other references"},
		{[]string{"start", h.write(minimalConfig)}, "this is a configuration, not a DAG"},
		{[]string{"show", "quick", file}, "is a file, quick is not: show files without other references"},
		{[]string{"start", "quick", "-p", "dir"}, `for -p: write KEY=VALUE`},
		{[]string{"runs", "--json"}, "unknown flag --json: write -o json"},
		{[]string{"set", "quick", "evry=1h"}, "did you mean every?"},
	} {
		h.run(tt.args...).Exits(ui.ExitUsage).Complains(tt.says)
	}
	lines := h.run("show", "quick", "broken", "-o", "json").OK().Stdout
	assert.Equal(t, 2, strings.Count(lines, "\n"), "a line for each")
	assert.Equal(t, 2, strings.Count(h.run("show", "quick", "broken", "-o", "yaml").OK().Stdout, "---\n"))
	tryParams(t, h)

	h.run("set", "quick", "timeout=5m").OK().Says("execution_timeout")
	restored := h.run("set", "quick", "--restore", "last").OK().Says("restored quick", "execution_timeout")
	assert.NotContains(t, restored.Stdout, "by hand")
	h.run("workers", "-s", "online").OK().Says("node-a")
	h.run("runs", "-s", "Bad").OK()
	h.run("holds", "quick").OK().Says("nothing is held back")
	h.run("resources", "lane/default").OK()
	h.run("resources", "object/any").OK()
}

func tryParams(t *testing.T, h *harness) {
	t.Helper()
	h.run("apply", "-c", h.write(greeting)).OK()
	h.run("start", "greet", "--dry-run").OK().Says("applied")
	h.run("start", "greet", "--dry-run", "-p", "word=tried").OK().Says("tried")
	h.run("start", "greet", "--dry-run", "-p", "word=tried", "--ignore-window").Exits(ui.ExitUsage).Complains("--ignore-window has no effect on greet: leave it out")
	h.run("start", "greet", "--dry-run").OK().Says("applied")
	h.run("apply", "quick", "-c", h.write("owner: other\n"+minimalConfig)).Exits(ui.ExitUsage).Complains("the configuration has no job type quick, and has not applied one")
}
