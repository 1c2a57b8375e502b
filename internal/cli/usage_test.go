package cli

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/testsuite/clitest"
)

func TestWrongUsageExitsWithThree(t *testing.T) {
	t.Parallel()
	h := offline(t)
	tests := []struct {
		args []string
		says string
	}{
		{[]string{"rnus"}, `unknown command "rnus": did you mean "runs"?`},
		{[]string{"runs", "--addres", "x"}, "did you mean --address?"},
		{[]string{"runs", "x", "extra"}, `unexpected argument "extra"`},
		{[]string{"runs", "--limit", "many"}, `invalid value "many" for --limit: write a whole number: see roundsman runs --help`},
		{[]string{"dev", "--port", "abc"}, `invalid value "abc" for --port: write a whole number: see roundsman dev --help`},
		{[]string{"dev", "--once=maybe"}, `for --once: write true or false: see roundsman dev --help`},
		{[]string{"worker", "--drain-timeout", "5"}, `invalid value "5" for --drain-timeout: write it like 45s, 30m or 2h: see roundsman worker --help`},
		{[]string{"dev", "--port", "5000", "--ui-port", "5000"}, "--port and --ui-port are both 5000"},
		{[]string{"runs", "--address", "here"}, `--address: "here" is not host:port`},
		{[]string{"doctor", "--address", "http://127.0.0.1:7233"}, `is not host:port, for instance 127.0.0.1:7233`},
		{[]string{"runs", "--limit", "-1"}, "--limit -1"},
		{[]string{"runs", "--sort", "tok"}, "--sort tok: did you mean took? It must be one of started, ended"},
		{[]string{"jobtypes", "-s", "good"}, "--state good: must be one of bad, completed, partial"},
		{[]string{"gateway", "http", "--listen", "0.0.0.0:8235"}, "serve HTTP at 0.0.0.0:8235: on another address than loopback callers must log in"},
		{[]string{"server", "--http", "0.0.0.0:8234"}, "serve HTTP at 0.0.0.0:8234: on another address than loopback callers must log in"},
		{[]string{"gateway", "seaweedfs", "--listen", "0.0.0.0:23646"}, "any host that connects could act as a worker"},
		{[]string{"gateway", "seaweedfs", "--listen", "23646", "--grpc-listen", "10.0.0.5:33646"}, "any host that connects could act as a worker"},
		{[]string{"gateway", "seaweedfs", "--listen", "10.0.0.5:23646", "--grpc-listen", "127.0.0.1:33646"}, "any host that connects could act as a worker"},
		{[]string{"gateway", "seaweedfs", "--listen", "60000"}, "the gRPC port would be 70000"},
		{[]string{"gateway", "seaweedfs", "--tls-cert", "admin.crt"}, "--tls-cert and --tls-key belong together"},
		{[]string{"show"}, "REF... is missing"},
		{[]string{"set", "scrub"}, "KEY=VALUE is missing: see roundsman set --help"},
		{[]string{"explain"}, "THING is missing: see roundsman explain --help"},
		{[]string{"explain", "run", "job", "more"}, `unexpected argument "more": see roundsman explain --help`},
		{[]string{"jobs", "x", "--state", "finished"}, "must be one of bad, pending"},
		{[]string{"cancel"}, "REF... is missing"},
		{[]string{"version", "--output", "xml"}, "must be table, json or yaml"},
		{[]string{"runs", "--output", "xml"}, "must be table, wide, json, yaml or name"},
		{[]string{"pause", "x", "--output", "name"}, "--output name: must be table, json or yaml"},
		{[]string{"completion", "tcsh"}, "choose bash, zsh or fish"},
		{[]string{"dev", "--workers", ""}, `--workers: name ""`},
		{[]string{"dev", "--workers", "a,,b"}, `--workers: name ""`},
		{[]string{"dev", "--workers", "Node A"}, "must start with a-z"},
		{[]string{"dev", "--port", "70000"}, "between 0 and 65535"},
		{[]string{"dev", "now"}, `unexpected argument "now"`},
		{[]string{"worker", "--labels", "rack"}, "write key=value"},
		{[]string{"worker", "--id", "Node A"}, "--id:"},
		{[]string{"worker", "--id", "a", "--drain-timeout", "-1s"}, "must not be negative"},
		{[]string{"worker", "--id", "a", "--log-level", "loud"}, "debug, info, warn or error"},
		{[]string{"server", "--log-format", "xml"}, "must be text or json"},
	}
	for _, tt := range tests {
		o := h.run(tt.args...).Exits(ui.ExitUsage).Complains("roundsman: ", tt.says)
		assert.Empty(t, o.Stdout, "%v", tt.args)
	}
}

// TestWithoutAServer: commands fail at once. `server` and `worker` wait for the server, see
// TestASlowServerIsWaitedFor.
func TestWithoutAServer(t *testing.T) {
	t.Parallel()
	h := offline(t)
	config := h.write(minimalConfig)
	for _, args := range [][]string{
		{"runs"},
		{"show", "scrub@"},
		{"jobs", "scrub"},
		{"workers"},
		{"jobtypes"},
		{"plan", "--config", config},
		{"apply", "--config", config},
		{"dev", "--address", "127.0.0.1:1", "--config", config, "--data-dir", t.TempDir()},
	} {
		h.run(args...).Exits(ui.ExitFailed).Complains("no Temporal server answers at 127.0.0.1:1", "roundsman dev", "--address")
	}
	h.run("doctor").Exits(ui.ExitFailed).Says("no Temporal server answers", "connection refused", "roundsman dev")
	checks := clitest.Decode[struct {
		OK bool `json:"ok"`
	}](h.run("doctor", "--output", "json").Exits(ui.ExitFailed))
	assert.False(t, checks.OK)
}

func TestVersion(t *testing.T) {
	t.Parallel()
	h := offline(t)
	h.run("version").OK().Says("roundsman ")
	h.run("--version").OK().Says("roundsman ")
	assert.NotEmpty(t, clitest.Decode[map[string]string](h.run("version", "-o", "json").OK())["version"])
	h.run("version", "-o", "yaml").OK().Says("version: ")
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	h := offline(t)
	for _, shell := range []string{"bash", "zsh", "fish"} {
		h.run("completion", shell).OK().Says("__complete", "roundsman")
	}
	assert.Equal(t, "jobs\njobtypes\n", h.run("__complete", "job").OK().Stdout)
	assert.Equal(t, "show\n", h.run("__complete", "--output", "json", "sh").OK().Stdout)
	assert.Equal(t, "--output\n", h.run("__complete", "runs", "--out").OK().Stdout)
	assert.Equal(t, "json\nname\ntable\nwide\nyaml\n", h.run("__complete", "runs", "--output", "").OK().Stdout)
	assert.Equal(t, "json\ntable\nyaml\n", h.run("__complete", "version", "-o", "").OK().Stdout)
	assert.Empty(t, h.run("__complete", "runs", "zzz").OK().Stdout)
}

func TestInterruptedIsNotAStackOfErrors(t *testing.T) {
	t.Parallel()
	h := offline(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("a signal"))
	o := h.runContext(ctx, "runs").Exits(ui.ExitFailed)
	assert.NotContains(t, o.Stderr, "no Temporal server answers", "the operator gave up, not the server")
}

func TestColorsAndWidths(t *testing.T) {
	t.Parallel()
	env := ui.Env{Terminal: true}
	require.True(t, env.Colors())
	env.Environ = []string{"NO_COLOR=1"}
	assert.False(t, env.Colors())
	env.Environ = []string{"TERM=dumb"}
	assert.False(t, env.Colors())
	assert.False(t, ui.Env{}.Colors())

	assert.Equal(t, "a b", ui.OneLine("a\n\x1b b"))
	assert.Equal(t, "x\uFFFD", ui.OneLine("x\xff"))
	assert.Equal(t, "日…", ui.Shorten("日本語", 4))
}

func TestTimesForPeople(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	for want, at := range map[string]time.Time{
		"-": {}, "now": now.Add(-200 * time.Millisecond), "4.0s ago": now.Add(-4 * time.Second), "in 2h30m": now.Add(150 * time.Minute),
		"3d1h ago": now.Add(-73 * time.Hour), "in 12s": now.Add(12 * time.Second), "59m59s ago": now.Add(-time.Hour + time.Second),
	} {
		assert.Equal(t, want, ui.Ago(at, now))
	}
	for _, written := range []string{"2026-11-20T09:00:00Z", "0s"} {
		at, err := ui.ParseTime("--from", written, now)
		require.NoError(t, err)
		assert.True(t, at.Equal(now))
	}
	at, err := ui.ParseTime("--from", "7d", now)
	require.NoError(t, err)
	assert.Equal(t, now.Add(-7*24*time.Hour), at)
	_, err = ui.ParseTime("--from", "someday", now)
	require.ErrorContains(t, err, "--from \"someday\"")
}

// TestExitCodesAreTheSameInEveryCommand: a script can distinguish a difference from a mistake.
func TestExitCodesAreTheSameInEveryCommand(t *testing.T) {
	t.Parallel()
	h := offline(t)
	faulty := h.write("version: 1\njob_types: {a: {handler: command, nonsense: 1}}\n")
	spec := h.write("name: x\ntasks: [{id: a, needs: [b]}]\n")
	for _, args := range [][]string{
		{"validate", "-c", faulty},
		{"plan", "-c", faulty},
		{"apply", "-c", faulty},
		{"validate", spec},
		{"start", spec},
		{"runs", "--limit", "-1"},
		{"show"},
		{"jobtypes", "lst"},
		{"runs", "--nonsense"},
	} {
		h.run(args...).Exits(3)
	}
	h.run("runs").Exits(1)
	assert.NotContains(t, h.run("runs", "--f").Exits(3).Stderr, "did you mean")
}

// TestHelpOfTheRootIsInGroups: each group is there, and has only commands that exist.
func TestHelpOfTheRootIsInGroups(t *testing.T) {
	t.Parallel()
	root := (&commands{&ui.Program{}}).root()
	o := offline(t).run("--help").OK()
	for _, group := range helpGroups() {
		o.Says("\n" + group[0] + ":\n")
		for _, name := range group[1:] {
			assert.True(t, slices.Contains(commandNames(root), name) || name == "exec" || name == "import", name)
		}
	}
	for _, name := range commandNames(root) {
		assert.LessOrEqual(t, strings.Count(o.Stdout, "\n  "+name+"  "), 1, name)
	}
}
