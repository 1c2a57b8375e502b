package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/testsuite/clitest"
)

// TestSubmitIsJudgedWithoutAServer: a faulty submission ends with exit code 3 and the correct form.
func TestSubmitIsJudgedWithoutAServer(t *testing.T) {
	t.Parallel()
	h := offline(t)
	lines := h.write("{\"dedupe_key\": \"a\"}\n\n{\"dedupe_kye\": \"b\"}\n{\"priority\": \"urgent\"}\n")
	list := h.write("- {dedupe_key: a, priority: urgent}\n- {estimated_runtime: soon}\n")
	one := h.write("dedupe_key: a\n")
	graph := h.write("version: 1\nname: g\ntasks: {a: {needs: [b]}}\n")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--type", "Not A Name"}, "--type"},
		{[]string{"--type", "t", "--wait", "--watch"}, "exclude each other"},
		{[]string{"--type", "t", "--file", lines, "--key", "k"}, "--key is for a single job"},
		{[]string{"--type", "t", "--id", ""}, "--id is empty"},
		{[]string{"--type", "t", "--params", "[1]"}, "write an object"},
		{[]string{"--type", "t", "--params", "{a"}, "neither JSON nor YAML"},
		{[]string{"--type", "t", "--params", "@/does/not/exist"}, "no such file"},
		{[]string{"--type", "t", "--resource", "db=0"}, "at least 1"},
		{[]string{"--type", "t", "--label", "rack"}, "write KEY=VALUE"},
		{[]string{"--type", "t", "--not-before", "yesterday"}, "--not-before \"yesterday\": write it like"},
		{[]string{"--type", "t", "--estimated-runtime", "soon"}, "duration \"soon\""},
		{[]string{"--type", "t", "--priority", "urgent"}, "none of low, normal, high, critical"},
		{[]string{"--type", "t", "--dag", graph}, "--dag: "},
		{[]string{"--type", "t", "--file", lines}, `line 3: not a proposal: json: unknown field "dedupe_kye"`},
		{[]string{"--type", "t", "--file", list}, "proposal 2: not a proposal: duration"},
		{[]string{"--type", "t", "--file", one}, "or a list of proposals"},
		{[]string{"--type", "t", "--file", h.write("")}, "has no proposal: write one as JSON"},
	} {
		h.run(append([]string{"jobs", "submit"}, c.args...)...).Exits(ui.ExitUsage).Complains(c.want)
	}
	h.run("jobs", "submit").Exits(ui.ExitUsage).Complains("--type NAME is missing")
	h.run("jobs", "submit", "--type", "t", "--params", "{}").Exits(ui.ExitFailed).Complains("no Temporal server answers")
}

// submitAdHoc is part of TestOperatingACluster.
func submitAdHoc(t *testing.T, h *harness) {
	o := h.run("jobs", "submit", "--type", "quick", "--params", `{"item": "by hand"}`, "--key", "by hand", "--summary", "one by hand", "--id", "hand-1", "--wait").OK()
	o.Says("quick: completed in", "1 found, 1 completed (node-a 1)")
	again := h.run("jobs", "submit", "-t", "quick", "--params", `{"item": "by hand"}`, "--key", "by hand", "--summary", "one by hand", "--id", "hand-1").OK()
	again.Says("already submitted, nothing was started: group/quick-adhoc-hand-1")
	h.run("jobs", "submit", "-t", "quick", "--params", `{"item": "another"}`, "--id", "hand-1").Exits(ui.ExitUsage).Complains("choose another id")
	h.run("runs", "show", "quick-adhoc-hand-1").OK().Says("completed", "ad hoc", "hand-1, by tester")
	h.eventually("group/quick-adhoc-hand-1", "runs", "list", "--job-type", "quick")
	h.run("jobs", "list", "group/quick-adhoc-hand-1").OK().Says("job-00001", "one by hand")
	h.run("jobs", "show", "group/quick-adhoc-hand-1/job-00001").OK().Says("by hand", "completed")

	h.run("jobs", "show", "quick-adhoc-hand-1", "--key", "by hand").OK().Says("group/quick-adhoc-hand-1/job-00001")
	h.run("jobs", "show", "quick-adhoc-hand-1", "--key", "other").Exits(ui.ExitFailed).Complains("job with key other does not exist")
	h.run("jobs", "cancel", "--run", "quick-adhoc-hand-1", "--key", "by hand").Exits(ui.ExitFailed).Complains("already ended")

	h.env.Stdin = strings.NewReader(`{"dedupe_key": "x", "params": {"item": "x"}}` + "\n" + `{"dedupe_key": "x", "params": {"item": "x"}}`)
	result := clitest.Decode[contract.JobGroupResult](h.run("jobs", "submit", "--type", "broken", "--file", "-", "--wait", "-o", "json").OK())
	assert.Equal(t, contract.GroupCounts{Detected: 2, Accepted: 1, Duplicates: 1, Completed: 1}, result.Counts)
	assert.Zero(t, result.Record)
	h.run("jobs", "submit", "--type", "broken", "--params", `{"item": "bad"}`, "--watch").Exits(ui.ExitFailed).Says("broken: failed", "no such disk")
	// A result lists its first 50 failures; the last line of a watched run counts all of them.
	var bad strings.Builder
	for i := range 60 {
		fmt.Fprintf(&bad, `{"dedupe_key": "disk-%d", "params": {"item": "bad"}}`+"\n", i)
	}
	h.env.Stdin = strings.NewReader(bad.String())
	wrecked := h.run("jobs", "submit", "--type", "broken", "--file", "-", "--watch").Exits(ui.ExitFailed)
	wrecked.Says("60 failed", "60 × sh exited with status 3: no such disk (such as disk-")
	assert.NotContains(t, wrecked.Stdout, "more failed")
	h.run("jobs", "submit", "--type", "nothing", "--params", `{}`).Exits(ui.ExitFailed).Complains("job type nothing does not exist")
	h.run("jobs", "submit", "--type", "broken", "--params", `{"item": "late"}`, "--not-before", "2h", "--id", "late").OK()
	h.eventually("NOT_BEFORE", "explain", "broken-adhoc-late").Says("waiting")
	h.run("runs", "cancel", "broken-adhoc-late", "--wait").OK()
	h.run("runs", "show", "broken-adhoc-late").OK().Says("canceled", "1 found, 1 canceled")
}
