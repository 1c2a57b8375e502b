package cli

import (
	"fmt"
	"strings"
	"testing"
	"time"

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
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"t@last"}, "write TYPE or TYPE:KEY"},
		{[]string{"t:k", "--file", lines}, "t:k is for a single job"},
		{[]string{"t", "--file", lines, "-p", "a=1"}, "--param is for a single job"},
		{[]string{"t", "--file", lines, "-l", "rack=1"}, "--label is for a single job"},
		{[]string{"t", "--as", ""}, "--as is empty"},
		{[]string{"t", "--label", "rack"}, "write KEY=VALUE"},
		{[]string{"t", "-l", "rack=1", "-l", "rack=2"}, "--label rack: given twice"},
		{[]string{"t", "-f", "/does/not/exist"}, "no such file"},
		{[]string{"t", "-f", h.write(`{"priority": "urgent"}`)}, "none of low, normal, high, critical"},
		{[]string{"t", "--file", lines}, `line 3: not a proposal: json: unknown field "dedupe_kye"`},
		{[]string{"t", "--file", list}, "proposal 2: not a proposal: duration"},
		{[]string{"t", "--file", one}, "or a list of proposals"},
		{[]string{"t", "--file", h.write("")}, "has no proposal: write one as JSON"},
	} {
		h.run(append([]string{"submit"}, c.args...)...).Exits(ui.ExitUsage).Complains(c.want)
	}
	h.run("submit", "t", "-p", "a=1").Exits(ui.ExitFailed).Complains("no Temporal server answers")
}

// submitAdHoc is part of TestOperatingACluster.
func submitAdHoc(t *testing.T, h *harness) {
	o := h.run("submit", "quick:by hand", "-p", "item=by hand", "--as", "hand-1", "--wait").OK()
	o.Says("quick: completed in", "1 found, 1 completed (node-a 1)")
	again := h.run("submit", "quick:by hand", "-p", "item=by hand", "--as", "hand-1").OK()
	again.Says("already submitted, nothing was started: group/quick-adhoc-hand-1")
	h.run("submit", "quick", "-p", "item=another", "--as", "hand-1").Exits(ui.ExitUsage).Complains("choose another id")
	h.run("show", "group/quick-adhoc-hand-1").OK().Says("completed", "ad hoc", "hand-1, by tester")
	h.eventually("group/quick-adhoc-hand-1", "runs", "quick")
	h.run("jobs", "group/quick-adhoc-hand-1").OK().Says("job-00001", "by hand")
	h.run("show", "group/quick-adhoc-hand-1/job-00001").OK().Says("by hand", "completed")

	h.run("show", "quick@hand-1:by hand").OK().Says("group/quick-adhoc-hand-1/job-00001")
	h.run("show", "quick@hand-1:other").Exits(ui.ExitFailed).Complains("job with key other does not exist")
	h.run("cancel", "quick@hand-1:by hand").Exits(ui.ExitFailed).Complains("already ended")

	h.env.Stdin = strings.NewReader(`{"dedupe_key": "x", "params": {"item": "x"}}` + "\n" + `{"dedupe_key": "x", "params": {"item": "x"}}`)
	result := clitest.Decode[contract.JobGroupResult](h.run("submit", "broken", "-f", "-", "--wait", "-o", "json").OK())
	assert.Equal(t, contract.GroupCounts{Detected: 2, Accepted: 1, Duplicates: 1, Completed: 1}, result.Counts)
	assert.Zero(t, result.Record)
	h.run("submit", "broken", "-p", "item=bad", "--watch").Exits(ui.ExitFailed).Says("broken: failed", "no such disk")
	// A result lists its first 50 failures; the last line of a watched run counts all of them.
	var bad strings.Builder
	for i := range 60 {
		fmt.Fprintf(&bad, `{"dedupe_key": "disk-%d", "params": {"item": "bad"}}`+"\n", i)
	}
	h.env.Stdin = strings.NewReader(bad.String())
	wrecked := h.run("submit", "broken", "-f", "-", "--watch").Exits(ui.ExitFailed)
	wrecked.Says("60 failed", "60 × sh exited with status 3: no such disk (such as disk-")
	assert.NotContains(t, wrecked.Stdout, "more failed")
	h.run("submit", "nothing", "-p", "a=1").Exits(ui.ExitFailed).Complains("job type nothing does not exist")
	h.env.Stdin = strings.NewReader(`{"params": {"item": "late"}, "not_before": "` + time.Now().Add(2*time.Hour).Format(time.RFC3339) + `"}`)
	h.run("submit", "broken", "-f", "-", "--as", "late").OK()
	h.eventually("NOT_BEFORE", "explain", "broken-adhoc-late").Says("waiting")
	h.run("cancel", "broken-adhoc-late", "--wait").OK()
	h.run("show", "group/broken-adhoc-late").OK().Says("canceled", "1 found, 1 canceled")
}
