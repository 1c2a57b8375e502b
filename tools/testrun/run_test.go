package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	if code, is := wrapped(os.Args[1:]); is {
		os.Exit(code) //nolint:forbidigo // as main does
	}
	links, err := os.MkdirTemp("", "testrun-links-")
	if err != nil {
		panic(err)
	}
	_ = os.Setenv(linksVariable, links)
	code := m.Run()
	_ = os.RemoveAll(links)
	os.Exit(code) //nolint:forbidigo // TestMain must exit.
}

// once fails in the first run of a module and passes in the second.
const once = `
func once(t *testing.T) {
	if _, err := os.Stat("again"); err != nil {
		os.WriteFile("again", nil, 0o600)
		t.Error("only the first time")
	}
}
`

// outcome is the output, the report and the exit code of run.
type outcome struct {
	code           int
	stdout, report string
}

// play runs the tests of an invented module with one package.
func play(t *testing.T, tests string, flags ...string) outcome {
	t.Helper()
	dir := t.TempDir()
	report := filepath.Join(dir, "report")
	text := "package p\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nvar _ = os.Exit\n" + tests
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/p\n\ngo 1.24\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "p_test.go"), []byte(text), 0o600))
	var stdout, stderr strings.Builder
	args := append([]string{"-modules", dir, "-report", report, "-packages", "./..."}, flags...)
	code := run(t.Context(), args, &stdout, &stderr)
	written, _ := os.ReadFile(report)
	t.Logf("%s%s", stdout.String(), stderr.String())
	return outcome{code, stdout.String(), string(written)}
}

func TestATestThatPassesAloneIsFlaky(t *testing.T) {
	t.Parallel()
	got := play(t, once+"func TestOnce(t *testing.T) { once(t) }\nfunc TestGood(t *testing.T) {}\n", "-ends", ".", "--", "-shuffle=on")
	assert.Zero(t, got.code)
	assert.True(t, strings.HasSuffix(got.stdout, "\nFLAKY: example.com/p TestOnce\n"), "the list is the end")
	assert.Contains(t, got.stdout, "only the first time")
	assert.Contains(t, got.stdout, "\nFAIL\texample.com/p\t")
	assert.Contains(t, got.stdout, "\nok  \texample.com/p\t")
	assert.Regexp(t, `^step \d+ \d+ test: end to end of \S+\npackage \d+\.\d \d+\.\d example.com/p\nflaky example.com/p TestOnce\n$`, got.report)
}

func TestASubtestRunsAgainWithItsTest(t *testing.T) {
	t.Parallel()
	got := play(t, once+"func TestOnce(t *testing.T) { t.Run(\"a b\", once) }\n", "-ends", ".")
	assert.Zero(t, got.code)
	assert.Contains(t, got.stdout, "FLAKY: example.com/p TestOnce\n")
}

// parts has a part that fails in the first run, and one that fails in the second.
const parts = once + `
func TestParts(t *testing.T) {
	t.Run("a b", once)
	t.Run("good", func(t *testing.T) {
		if err := os.Mkdir("good", 0o700); err != nil {
			t.Error("it ran before")
		}
	})
}
`

func TestOnlyAFailedPartRunsAgain(t *testing.T) {
	t.Parallel()
	got := play(t, parts, "-ends", ".", "-apart", "^TestParts$")
	assert.Zero(t, got.code)
	assert.True(t, strings.HasSuffix(got.stdout, "\nFLAKY: example.com/p TestParts/a_b\n"))
	assert.Contains(t, got.report, "\nflaky example.com/p TestParts/a_b\n")
}

// A failed part does not explain a failure that the test itself logs.
func TestATestWithPartsAndAFaultOfItsOwnRunsAgain(t *testing.T) {
	t.Parallel()
	got := play(t, once+"func TestParts(t *testing.T) { t.Run(\"a\", once); if t.Failed() { t.Error(\"of its own\") } }\n", "-ends", ".", "-apart", "^TestParts$")
	assert.Zero(t, got.code)
	assert.Contains(t, got.stdout, "FLAKY: example.com/p TestParts\n")
	got = play(t, once+"func TestParts(t *testing.T) { t.Run(\"a\", func(t *testing.T) {}); once(t) }\n", "-ends", ".", "-apart", "^TestParts$")
	assert.Zero(t, got.code)
	assert.Contains(t, got.stdout, "FLAKY: example.com/p TestParts\n")
	got = play(t, parts+"func TestMore(t *testing.T) { t.Run(\"a\", func(t *testing.T) { t.Error(\"each time\") }) }\n", "-ends", ".", "-apart", "^Test(Parts|More)$")
	assert.Equal(t, 1, got.code)
	assert.Contains(t, got.stdout, "FLAKY: example.com/p TestParts/a_b\n")
}

func TestUnitTestsNeverRunAgain(t *testing.T) {
	t.Parallel()
	got := play(t, once+"func TestOnce(t *testing.T) { once(t) }\n")
	assert.Equal(t, 1, got.code)
	assert.NotContains(t, got.stdout, "FLAKY")
	assert.NotContains(t, got.stdout, "once more")
}

func TestAPassPrintsTheLineOfThePackage(t *testing.T) {
	t.Parallel()
	got := play(t, "func TestGood(t *testing.T) { t.Log(\"a detail\") }\n", "-ends", ".")
	assert.Zero(t, got.code)
	assert.Regexp(t, `^== test: end to end .*\nok  \texample.com/p\t\S+\n$`, got.stdout)
	got = play(t, "func TestGood(t *testing.T) { t.Log(\"a detail\") }\n", "--", "-v")
	assert.Zero(t, got.code)
	assert.Contains(t, got.stdout, "a detail")
}

// Each of these may hide tests that never ran, or is not the fault of a test.
func TestFinalFailures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ tests, want string }{
		"it fails again":    {"func TestBad(t *testing.T) { t.Error(\"each time\") }\n", "each time"},
		"one fails again":   {once + "func TestBad(t *testing.T) { t.Error(\"each time\") }\nfunc TestOnce(t *testing.T) { once(t) }\n", "FLAKY: example.com/p TestOnce\n"},
		"it is skipped now": {once + "func TestOnce(t *testing.T) { once(t); if !t.Failed() { t.Skip() } }\n", "once more"},
		"TestMain":          {"func TestGood(t *testing.T) {}\nfunc TestMain(m *testing.M) { m.Run(); if _, err := os.Stat(\"again\"); err != nil { os.WriteFile(\"again\", nil, 0o600); println(\"a leak\"); os.Exit(1) } }\n", "a leak"},
		"TestMain again":    {once + "func TestOnce(t *testing.T) { once(t) }\nfunc TestMain(m *testing.M) { m.Run(); println(\"a leak\"); os.Exit(1) }\n", "a leak"},
		"panic":             {once + "func TestOnce(t *testing.T) { once(t); if t.Failed() { panic(\"no map\") } }\nfunc TestZ(t *testing.T) {}\n", "no map"},
		"exit":              {"func TestExit(t *testing.T) { if _, err := os.Stat(\"again\"); err != nil { os.WriteFile(\"again\", nil, 0o600); os.Exit(1) } }\n", "FAIL\texample.com/p\t"},
		"build":             {"func TestBad(t *testing.T) { nothing() }\n", "undefined: nothing"},
		"many":              {once + manyFailures(), "9 tests failed, more than 8"},
		"timeout":           {"func TestSlow(t *testing.T) { if _, err := os.Stat(\"again\"); err != nil { os.WriteFile(\"again\", nil, 0o600); select {} } }\n", "panic: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := play(t, c.tests, "-ends", ".", "--", "-timeout=5s")
			assert.Equal(t, 1, got.code)
			assert.Contains(t, got.stdout, c.want)
			if name != "one fails again" {
				assert.NotContains(t, got.stdout, "FLAKY")
			}
		})
	}
}

func manyFailures() string {
	var text strings.Builder
	for _, letter := range "ABCDEFGHI" {
		text.WriteString("func Test" + string(letter) + "(t *testing.T) { once(t); t.Fail() }\n")
	}
	return text.String()
}

// Tests that wait for each other need two packages that run at the same time.
const (
	waits  = "import (\"os\"; \"testing\"; \"time\")\nfunc TestWaits(t *testing.T) { for { if _, err := os.Stat(os.Getenv(\"WRITTEN\")); err == nil { return }; time.Sleep(time.Millisecond) } }\n"
	writes = "import (\"os\"; \"testing\")\nfunc TestWrites(t *testing.T) { if err := os.WriteFile(os.Getenv(\"WRITTEN\"), nil, 0o600); err != nil { t.Fatal(err) } }\n"
)

// TestStepsOverlap: the first step has a test that waits for a test of the second step.
func TestStepsOverlap(t *testing.T) {
	first := module(t, map[string]string{"waits/w_test.go": "package waits\n" + waits})
	second := module(t, map[string]string{"writes/w_test.go": "package writes\n" + writes})
	t.Setenv("WRITTEN", filepath.Join(first, "written"))
	var stdout, stderr strings.Builder
	code := run(t.Context(), []string{"-modules", first + " " + second, "-packages", "./...", "-overlap", "1", "--", "-timeout=2m"}, &stdout, &stderr)
	assert.Zero(t, code, stdout.String())
	assert.Contains(t, stdout.String(), "ok  \texample.com/m/waits\t")
}

func TestCPUTimeOfAPackage(t *testing.T) {
	t.Parallel()
	got := play(t, "func TestBusy(t *testing.T) { for i := range 1 << 30 { sum += i } }\nvar sum int\n")
	assert.Zero(t, got.code)
	assert.Regexp(t, `package \d+\.\d (0\.[1-9]|[1-9]\d*\.\d) example.com/p\n$`, got.report)
	assert.NotContains(t, got.stdout, usedMark)
}

func TestBadArguments(t *testing.T) {
	t.Parallel()
	var stdout, stderr strings.Builder
	assert.Equal(t, 2, run(t.Context(), []string{"-ends", "."}, &stdout, &stderr))
	assert.Contains(t, stderr.String(), "-packages is empty: name what to test")
	assert.Equal(t, 2, run(t.Context(), []string{"-packages", "./...", "-go", "/no/go"}, &stdout, &stderr))
	assert.Contains(t, stderr.String(), "/no/go")
	assert.Equal(t, 2, run(t.Context(), []string{"-packages", "./...", "-apart", "("}, &stdout, &stderr))
	assert.Contains(t, stderr.String(), "missing closing )")
}
