package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// TestSubmitIsJudgedWithoutAServer: exit code 2 and what to write instead.
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
		{[]string{"--type", "t", "--file", h.write("")}, "there is no proposal in it"},
	} {
		h.run(append([]string{"jobs", "submit"}, c.args...)...).exits(ExitUsage).complains(c.want)
	}
	h.run("jobs", "submit").exits(ExitUsage).complains("--type NAME is missing")
	h.run("jobs", "submit", "--type", "t", "--params", "{}").exits(ExitFailed).complains("no Temporal server answers")
}

func TestProposalsAreReadAlikeFromAllForms(t *testing.T) {
	t.Parallel()
	want := []jobtype.Proposal{
		{DedupeKey: "a", Params: []byte(`{"n":1}`), EstimatedRuntime: jobtype.Duration(5 * time.Minute)},
		{Exclusive: []string{"volume/1"}, NotBefore: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)},
	}
	first, second := `{"dedupe_key":"a","params":{"n":1},"estimated_runtime":"5m"}`, `{"exclusive":["volume/1"],"not_before":"2026-11-20T09:00:00Z"}`
	for name, text := range map[string]string{
		"lines": first + "\n" + second + "\n", "list": "[" + first + "," + second + "]",
		"yaml": "- dedupe_key: a\n  params: {n: 1}\n  estimated_runtime: 5m\n- exclusive: [volume/1]\n  not_before: 2026-11-20T09:00:00Z\n",
	} {
		c := &commands{env: Env{Stdin: strings.NewReader(text)}}
		got, err := c.readProposals(stdinName)
		require.NoError(t, err, name)
		assert.Equal(t, want, got, name)
	}
}

// submitAdHoc is part of TestOperatingACluster.
func submitAdHoc(t *testing.T, h *harness) {
	o := h.run("jobs", "submit", "--type", "quick", "--params", `{"item": "by hand"}`, "--key", "by hand", "--summary", "one by hand", "--id", "hand-1", "--wait").ok()
	o.says("quick: completed in", "1 found, 1 completed (node-a 1)")
	again := h.run("jobs", "submit", "-t", "quick", "--params", `{"item": "by hand"}`, "--key", "by hand", "--summary", "one by hand", "--id", "hand-1").ok()
	again.says("already submitted, nothing was started: group/quick-adhoc-hand-1")
	h.run("jobs", "submit", "-t", "quick", "--params", `{"item": "another"}`, "--id", "hand-1").exits(ExitUsage).complains("choose another id")
	h.run("runs", "show", "quick-adhoc-hand-1").ok().says("completed", "ad hoc", "hand-1, by tester")
	h.eventually("group/quick-adhoc-hand-1", "runs", "list", "--job-type", "quick")
	h.run("jobs", "list", "group/quick-adhoc-hand-1").ok().says("job-00001", "one by hand")
	h.run("jobs", "show", "group/quick-adhoc-hand-1/job-00001").ok().says("by hand", "completed")

	h.run("jobs", "show", "quick-adhoc-hand-1", "--key", "by hand").ok().says("group/quick-adhoc-hand-1/job-00001")
	h.run("jobs", "show", "quick-adhoc-hand-1", "--key", "other").exits(ExitFailed).complains("job with key other does not exist")
	h.run("jobs", "cancel", "--run", "quick-adhoc-hand-1", "--key", "by hand").exits(ExitFailed).complains("already ended")

	h.env.Stdin = strings.NewReader(`{"dedupe_key": "x", "params": {"item": "x"}}` + "\n" + `{"dedupe_key": "x", "params": {"item": "x"}}`)
	result := decode[contract.JobGroupResult](h.run("jobs", "submit", "--type", "broken", "--file", "-", "--wait", "-o", "json").ok())
	assert.Equal(t, contract.GroupCounts{Detected: 2, Accepted: 1, Duplicates: 1, Completed: 1}, result.Counts)
	assert.Zero(t, result.Record)
	h.run("jobs", "submit", "--type", "broken", "--params", `{"item": "bad"}`, "--watch").exits(ExitFailed).says("broken: failed", "no such disk")
	h.run("jobs", "submit", "--type", "nothing", "--params", `{}`).exits(ExitFailed).complains("job type nothing does not exist")
	h.run("jobs", "submit", "--type", "broken", "--params", `{"item": "late"}`, "--not-before", "2h", "--id", "late").ok()
	h.eventually("NOT_BEFORE", "explain", "broken-adhoc-late").says("waiting")
	h.run("runs", "cancel", "broken-adhoc-late", "--wait").ok()
	h.run("runs", "show", "broken-adhoc-late").ok().says("canceled", "1 found, 1 canceled")
}
