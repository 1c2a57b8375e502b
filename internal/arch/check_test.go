package arch

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sources is an invented repository: path of a file → its text.
type sources map[string]string

// repo returns the repository as Load would. A file without a package clause gets one, with a comment,
// so that a case shows only its subject.
func (s sources) repo(t *testing.T) Repo {
	t.Helper()
	packages := map[string]*Package{}
	for _, path := range slices.Sorted(maps.Keys(s)) {
		text := s[path]
		rel, name := ".", path
		if at := strings.LastIndex(path, "/"); at >= 0 {
			rel, name = path[:at], path[at+1:]
		}
		if !strings.Contains(text, "package ") {
			text = fmt.Sprintf("// Package x is invented.\npackage x\n\n%s\n", text)
		}
		file, err := parseFile(name, []byte(text))
		require.NoError(t, err)
		if packages[rel] == nil {
			packages[rel] = &Package{Rel: rel, Name: file.AST.Name.Name}
		}
		packages[rel].Files = append(packages[rel].Files, file)
	}
	var repo Repo
	for _, rel := range slices.Sorted(maps.Keys(packages)) {
		repo.Packages = append(repo.Packages, *packages[rel])
	}
	return repo
}

// imports is a file that imports paths; "~" stands for the module.
func imports(paths ...string) string {
	var text strings.Builder
	for _, path := range paths {
		fmt.Fprintf(&text, "import _ %q\n", strings.Replace(path, "~", Module, 1))
	}
	return text.String()
}

func fields(n int) string {
	return strings.TrimSuffix(strings.Repeat("_, ", n), ", ") + " int"
}

// methods declares n methods of a type.
func methods(of string, n int) string {
	var text strings.Builder
	for k := range n {
		fmt.Fprintf(&text, "func (b %s) m%d() {}\n", of, k)
	}
	return text.String()
}

func lines(n int, line string) string {
	return strings.Repeat(line+"\n", n)
}

// brokenCases hold one or more violations of each rule, and no others.
func brokenCases() []struct {
	rule  string
	files sources
	want  []string
} {
	return []struct {
		rule  string
		files sources
		want  []string
	}{
		{"pure-packages", sources{"internal/engine/run/next.go": imports("os")}, []string{"internal/engine/run/next.go:4 imports os"}},
		{"pure-packages", sources{"dag/run.go": imports("context", "math/rand/v2")}, []string{"imports context", "imports math/rand/v2"}},
		{"pure-packages", sources{"internal/engine/run/next.go": imports("~/internal/lib/yamlread")}, []string{"imports github.com/roundsman/roundsman/internal/lib/yamlread"}},
		{"floors", sources{"internal/engine/run/next.go": imports("~/internal/lib/suggest"), "internal/lib/codec/zstd.go": imports("~/internal/engine/run")}, []string{"internal/lib/codec/zstd.go:4: lib imports internal/engine/run of engine"}},
		{"floors", sources{"config/load.go": imports("~/starter", "~/internal/app"), "workers/node.go": imports("~/config", "~/internal/doctor")}, []string{"starter of starter", "internal/app of app", "internal/doctor of doctor"}},
		{"no-room", sources{"internal/codec/zstd.go": "", "jobs/x.go": ""}, []string{"internal/codec is in no room", "jobs is in no room"}},
		{"pure-packages", sources{"internal/engine/fleet/sub/x.go": imports("golang.org/x/sync/errgroup")}, []string{"imports golang.org/x/sync/errgroup"}},
		{"pure-packages-tests", sources{"dag/run_test.go": imports("~/starter", "net/http")}, []string{"roundsman/starter", "net/http"}},
		{"dag-spec", sources{"dag/spec/parse.go": imports("os", "go.temporal.io/sdk/client")}, []string{"imports os", "sdk/client"}},
		{"seaweedfs-decisions", sources{"internal/seaweedfs/plan/vacuum.go": imports("context", "~/contract")}, []string{"imports context", "roundsman/contract"}},
		{"workflows", sources{"workflows/jobgroup.go": imports("context")}, []string{"imports context"}},
		{"workflows", sources{"workflows/jobgroup.go": imports("math/rand", "~/internal/temporal/rpc", "~/internal/lib/draw")}, []string{"math/rand", "temporal/rpc", "lib/draw"}},
		{"workflows", sources{"workflows/jobgroup.go": imports("go.temporal.io/sdk/client")}, []string{"sdk/client"}},
		{"contract", sources{"contract/names.go": imports("context", "go.temporal.io/sdk/workflow")}, []string{"imports context", "sdk/workflow"}},
		{"jobtype", sources{"jobtype/job.go": imports("go.temporal.io/sdk/temporal")}, []string{"sdk/temporal"}},
		{"jobtypetest", sources{"jobtype/jobtypetest/sink.go": imports("go.uber.org/goleak")}, []string{"goleak"}},
		{"activities", sources{"activities/jobs/run.go": imports("~/activities/scrub", "go.temporal.io/sdk/workflow")}, []string{"activities/scrub", "sdk/workflow"}},
		{"handler-packs", sources{"activities/command/run.go": imports("~/contract", "go.temporal.io/sdk/activity")}, []string{"roundsman/contract", "sdk/activity"}},
		{"gateway", sources{"internal/edge/gateway/poll.go": imports("~/workers", "~/config")}, []string{"roundsman/workers", "roundsman/config"}},
		{"starter", sources{"starter/apply.go": imports("~/workflows", "go.temporal.io/sdk/worker")}, []string{"roundsman/workflows", "sdk/worker"}},
		{"doctor", sources{"internal/doctor/doctor.go": imports("~/workflows", "go.temporal.io/sdk/worker")}, []string{"roundsman/workflows", "sdk/worker"}},
		{"config", sources{"config/load.go": imports("~/internal/temporal/rpc", "go.temporal.io/sdk/client")}, []string{"temporal/rpc", "sdk/client"}},
		{"api", sources{"internal/edge/api/runs.go": imports("~/workers", "go.temporal.io/sdk/client")}, []string{"roundsman/workers", "sdk/client"}},
		{"api", sources{"internal/edge/console/page.go": imports("~/workflows/dagrun", "go.temporal.io/sdk/client")}, []string{"roundsman/workflows/dagrun", "sdk/client"}},
		{"cli", sources{"internal/cli/run.go": imports("~/workers")}, []string{"roundsman/workers"}},
		{"kept-modules", sources{"config/load.go": imports("gopkg.in/yaml.v3"), "dag/run_test.go": imports("io/ioutil")}, []string{"gopkg.in/yaml.v3", "io/ioutil"}},
		{"public-door", sources{"roundsman.go": imports("~/workers", "go.temporal.io/sdk/client")}, []string{"roundsman/workers", "sdk/client"}},
		{"commands", sources{"cmd/roundsman/run.go": imports("~/internal/app", "github.com/urfave/cli/v2")}, []string{"internal/app", "urfave"}},
		{"fx-at-the-root", sources{"bench/fanout.go": imports("go.uber.org/fx"), "bench/x_test.go": imports("go.uber.org/fx/fxtest")}, []string{"go.uber.org/fx", "go.uber.org/fx/fxtest"}},
		{"no-embedded-server", sources{"testsuite/env.go": imports("go.temporal.io/server/temporal", "~/devserver")}, []string{"server/temporal", "roundsman/devserver"}},
		{"testsuite-in-tests", sources{"internal/app/run.go": imports("~/testsuite", "github.com/stretchr/testify/assert")}, []string{"roundsman/testsuite", "testify"}},
		{"nobody-imports-programs", sources{"testsuite/e2e/x_test.go": imports("~/bench")}, []string{"roundsman/bench"}},
		{"nobody-imports-examples", sources{"internal/app/dev.go": imports("~/examples/quickstart")}, []string{"examples/quickstart"}},
		{"arch-stands-apart", sources{"testsuite/e2e/x_test.go": imports("~/internal/arch")}, []string{"internal/arch"}},
		{"package-doc", sources{"dag/a.go": "package dag", "dag/a_test.go": "// Package dag hides here.\npackage dag"}, []string{"dag: package dag has no package comment"}},
		{"package-doc", sources{"testsuite/e2e/a_test.go": "package e2e"}, []string{"testsuite/e2e: package e2e"}},
		{"vague-names", sources{"dag/helpers.go": "", "dag/utils_test.go": ""}, []string{"dag/helpers.go", "dag/utils_test.go"}},
		{"vague-names", sources{"internal/lib/common/doc.go": "// Package common has everything.\npackage common"}, []string{"internal/lib/common: a package named common"}},
		{"file-size", sources{"dag/run.go": lines(maxFileLines, "// why"), "dag/run_test.go": lines(maxTestFileLines, "// why")}, []string{"dag/run.go", "dag/run_test.go"}},
		{"package-size", sources{
			"dag/a.go": lines(580, "var _ = 1"), "dag/b.go": lines(580, "var _ = 1"), "dag/c.go": lines(580, "var _ = 1"),
			"dag/d.go": lines(580, "var _ = 1"), "dag/e.go": lines(580, "var _ = 1"), "dag/f.go": lines(595, "var _ = 1"),
		}, []string{"dag: 3501 lines of code"}},
		{"main-size", sources{"cmd/roundsman/main.go": "// Command roundsman.\npackage main\n" + lines(24, "")}, []string{"cmd/roundsman/main.go: 26 lines"}},
		{"large-type", sources{"dag/big.go": "type big[T any] struct{ " + fields(maxFields+1) + " }\n" + methods("*big[T]", maxMethods+1)}, []string{"dag.big: 21 fields", "dag.big: 61 methods"}},
		{"interface-size", sources{"dag/port.go": "type Port interface { A(); B(); C(); D() }"}, []string{"dag/port.go:4: interface Port has 4 methods"}},
		{"typed-calls", sources{"workflows/jobgroup.go": `import "go.temporal.io/sdk/workflow"` + "\nvar _ = workflow.ExecuteActivity(nil, \"x\")"}, []string{"workflows/jobgroup.go:5 uses workflow.ExecuteActivity"}},
		{"pure-goroutines", sources{"internal/engine/run/next.go": "func f() { go f() }"}, []string{"internal/engine/run/next.go:4 starts a goroutine"}},
		{"no-sleep-in-tests", sources{
			"testsuite/env.go": "func f() { time.Sleep(1) }", "dag/run_test.go": "func f() { time.Sleep(1) }",
		}, []string{"dag/run_test.go:4 uses time.Sleep", "testsuite/env.go:4 uses time.Sleep"}},
		{"sorted-keys", sources{"internal/engine/fleet/ids.go": "func f(m M) { for k := range maps.Keys(m) { g(slices.Collect(maps.Values(m)), k) } }"}, []string{"through maps.Keys", "through maps.Values"}},
		{"words", sources{
			"dag/run.go":      "// f begins Anew.\nfunc f() {}\n\n// Two\n// are sent\n// ahead.\nvar anew, goodbyes = 1, \"anew\"",
			"dag/run_test.go": "/* that bounced */",
		}, []string{`dag/run.go:4 writes "Anew"`, `dag/run.go:7 writes "sent ahead"`, `dag/run_test.go:4 writes "bounced"`}},
		{"sentence-subject", sources{
			"dag/run.go":      "// f ends it. What\n// runs continues.\nfunc f() {}\n\n// What says what is there. Whatever is left stays.\nvar What = 1\n" + lines(200, "// f does it."),
			"dag/run_test.go": "// Nobody waits.",
			"dag/wait.go":     "// Nobody waits.",
		}, []string{`dag/run.go:4 begins a sentence with "What r"`, `dag/wait.go:4 begins a sentence with "Nobody w"`}},
		{"plain-english", sources{"dag/run.go": lines(96, "// f does it.") + lines(2, "// f says what it does."), "config/x.go": "// f says what it does."}, []string{
			"dag: 2 clauses in 99 comment lines; at most 1 are allowed", "dag: 2 verbs of speech in 99 comment lines; at most 1 are allowed",
		}},
		{"plain-english", sources{"config/x_test.go": lines(5, "/* nobody\nasked */") + lines(10, "var _ = 1 // f does it.")}, []string{
			"config: 5 clauses in 21 comment lines;", "config: 5 verbs of speech in 21 comment lines;",
		}},
		{"no-sentences", sources{"internal/engine/run/group/spans/y.go": "func f() string { return \"its window is closed\" }", "internal/engine/fleet/x.go": "func f(n int) string { if n > 1 { return fmt.Sprintf(\"gone for %s\", n) }\nreturn \"it is \" + g(\"OFFLINE\") }"}, []string{`x.go:4 says "gone for %s"`, `x.go:5 says "it is "`, `y.go:4 says "its window is closed"`}},
		{"no-timed-assertion", sources{
			"config/load_test.go": `
func f(t T) { assert.Less(t, time.Since(b), 3); took := time.Since(b).Seconds(); require.LessOrEqualf(t, took, 3, "") }
func g(t T) { if per := time.Since(b) / 2; per > max { t.Errorf("slow") } }
func h(t T) { assert.InDelta(t, 3, time.Since(b).Seconds(), 1); assert.Greater(t, limit, time.Since(b)) }
func i(t T) { assert.WithinDuration(t, b, time.Now().Add(hour), 1); assert.WithinRange(t, got, b, time.Now()) }`,
		}, []string{"load_test.go:5 asserts", "load_test.go:5 asserts", "load_test.go:6 fails for", "load_test.go:7 asserts", "load_test.go:7 asserts", "load_test.go:8 asserts"}},
		{"named-workflows", sources{"workers/group.go": "func f(w R) { w.RegisterWorkflowWithOptions(func() {}, 1); w.RegisterWorkflow(make()) }"}, []string{"without a name", "without a name"}},
	}
}

func TestEachRuleFindsItsViolation(t *testing.T) {
	t.Parallel()
	for _, tt := range brokenCases() {
		violations := Check(tt.files.repo(t), Rules())
		require.Lenf(t, violations, len(tt.want), "%s: %s", tt.rule, Report(violations))
		for i, want := range tt.want {
			assert.Contains(t, violations[i].Found, want)
			assert.Equal(t, tt.rule, violations[i].Rule.Name)
		}
	}
}

func TestDependencyRules(t *testing.T) {
	t.Parallel()
	repo := Repo{
		Modules: []GoMod{
			{Rel: ".", Requires: []string{"go.temporal.io/server", "example.com/a", "example.com/a/v2"}, Direct: []string{"example.com/a", "example.com/a/v2"}},
			{Rel: "devserver", Requires: []string{"go.temporal.io/server"}, Direct: []string{"go.temporal.io/server", Module}},
			{Rel: "examples/quickstart", Direct: []string{"example.com/anything"}},
		},
		RootDeps:  []string{"fmt", "go.temporal.io/server/common/log", "go.temporal.io/serverless"},
		Decisions: "| `example.com/a/v2` | for good reasons |",
	}
	violations := Check(repo, Rules())
	found := make([]string, len(violations))
	for i, v := range violations {
		found[i] = v.Rule.Name + ": " + v.Found
	}
	assert.Equal(t, []string{
		"root-without-server: go.mod requires go.temporal.io/server",
		"root-without-server: go list -deps -test ./... reaches go.temporal.io/server/common/log",
		"dependency-decisions: devserver/go.mod requires go.temporal.io/server",
		"dependency-decisions: go.mod requires example.com/a",
	}, found)
}

func TestGovernedPackages(t *testing.T) {
	t.Parallel()
	repo := sources{
		"cmd/roundsman/main.go": "", "dag/run.go": "", "dag/spec/parse.go": "", "internal/lib/codec/zstd.go": "",
		"internal/lib/draw/x_test.go": "// Package draw is invented.\npackage draw", "workflows/group/group.go": "",
	}.repo(t)
	repo.Decisions = "| record |\n| [0007](0007-x.md) | with `internal/lib/codec` | `dag`, go.mod |\n"
	found := make([]string, 0, 2)
	for _, v := range Check(repo, Rules()) {
		found = append(found, v.Rule.Name+": "+v.Found)
	}
	assert.Equal(t, []string{
		"governed-packages: internal/lib/codec: no record governs it",
		"governed-packages: workflows/group: no record governs it",
	}, found)
}

func TestReportNamesRuleSourceAndRemedyOnce(t *testing.T) {
	t.Parallel()
	repo := sources{"workflows/a.go": imports("context", "os")}.repo(t)
	assert.Equal(t, `
rule workflows (docs/architecture.md, "Floors")
  what to do: get the decision from internal/engine, call activities by their contract name, take time from workflow.Now
    workflows/a.go:4 imports context
    workflows/a.go:5 imports os
`, Report(Check(repo, Rules())))
}

// A rule that no case breaks might be unable to fail.
func TestEveryRuleIsProvenToFail(t *testing.T) {
	t.Parallel()
	proven := map[string]bool{"root-without-server": true, "dependency-decisions": true, "governed-packages": true}
	for _, tt := range brokenCases() {
		proven[tt.rule] = true
	}
	for _, rule := range Rules() {
		assert.Truef(t, proven[rule.Name], "rule %s: add a violation to brokenCases", rule.Name)
		assert.NotEmpty(t, rule.Source)
		assert.NotEmpty(t, rule.Fix)
	}
}

func TestAllowed(t *testing.T) {
	t.Parallel()
	files := sources{
		"roundsman.go":                      imports("~/internal/cli", "~/jobtype"),
		"cmd/roundsman/main.go":             imports("~"),
		"workers/gate_test.go":              "func f(t T) { synctest.Test(t, func(t T) { assert.Less(t, time.Since(b), 3) }) }\nfunc g(t T) { assert.GreaterOrEqual(t, time.Since(b), 3); assert.LessOrEqual(t, n, int(time.Since(b))) }",
		"testsuite/wait_test.go":            "func f(t T) { if time.Since(b) > 3 { return }; wait(func() bool { return time.Since(b) > 3 }) }",
		"dag/run.go":                        imports("errors", "slices", "sync", "time"),
		"dag/run_test.go":                   imports("os", "sync", "pgregory.net/rapid", "github.com/stretchr/testify/require", "~/dag"),
		"internal/engine/fleet/ids.go":      "func f(m M) { g(slices.Sorted(maps.Keys(m)), slices.SortedFunc(maps.Values(m), cmp)) }",
		"internal/engine/fleet/codes.go":    "type t struct { F int `a:\"b c\"` }\nvar a, b, c = \"2006-01-02 15:04\", \"%d on %s\", fmt.Errorf(\"it is not there\")",
		"starter/list.go":                   "func f(m M) { g(slices.Collect(maps.Keys(m))) }",
		"dag/spec/parse.go":                 imports("go.yaml.in/yaml/v3", "~/dag"),
		"internal/engine/run/next.go":       imports("sort", "time", "~/jobtype"),
		"workflows/group/group.go":          imports("time", "go.temporal.io/sdk/workflow", "~/contract", "~/internal/engine/run/group", "~/workflows/run"),
		"activities/jobs/run.go":            imports("~/contract", "go.temporal.io/sdk/activity"),
		"workflows/jobgroup_test.go":        imports("context", "go.temporal.io/sdk/testsuite", "~/testsuite"),
		"workflows/calls.go":                `import "go.temporal.io/sdk/workflow"` + "\nvar _ = workflow.ExecuteActivity(nil, \"x\")",
		"contract/names.go":                 imports("time", "~/jobtype", "go.temporal.io/sdk/temporal"),
		"activities/command/run.go":         imports("os/exec", "~/activities/command/tail", "~/jobtype"),
		"activities/command/tail/tail.go":   imports("~/activities/command", "~/internal/lib/buildinfo"),
		"workers/node.go":                   imports("go.temporal.io/sdk/worker", "~/workflows", "~/activities/scrub"),
		"workers/group.go":                  "func f(w R) { w.RegisterWorkflowWithOptions(workflows.JobGroup, 1) }",
		"starter/apply.go":                  imports("context", "go.temporal.io/sdk/client", "~/contract", "github.com/robfig/cron/v3"),
		"config/load.go":                    imports("os", "go.yaml.in/yaml/v3", "~/contract", "~/jobtype", "~/internal/lib/crontab"),
		"internal/cli/run.go":               imports("~/internal/app", "~/starter", "~/internal/lib/buildinfo"),
		"internal/app/app.go":               imports("go.uber.org/fx", "~/workers", "~/starter", "~/config"),
		"internal/lib/codec/zstd.go":        imports("github.com/klauspost/compress/zstd", "~/contract"),
		"testsuite/env.go":                  imports("github.com/stretchr/testify/require", "~/internal/app"),
		"starter/retry.go":                  "func f() { time.Sleep(1) }",
		"starter/retry_test.go":             `import "testing/synctest"` + "\nfunc f() { time.Sleep(1) }",
		"bench/fanout.go":                   imports("~/testsuite", "~/internal/app"),
		"devserver/server.go":               imports("go.temporal.io/server/temporal"),
		"devserver/port.go":                 "type Port interface { A(); B(); C() }",
		"jobtype/jobtypetest/sink.go":       imports("testing", "~/jobtype"),
		"examples/quickstart/cmd/x/main.go": imports("~"),
		"internal/cli/quickstart.go":        imports("~/examples/quickstart"),
	}
	assert.Empty(t, Report(Check(files.repo(t), Rules())))
}

func TestCodeLines(t *testing.T) {
	t.Parallel()
	src := "// Package x.\npackage x // 1\n\n/* a\nb */\nvar a = `2\n3\n4` // c\nfunc f() {\n\n} // 6\n"
	assert.Equal(t, 6, codeLines([]byte(src)))
}
