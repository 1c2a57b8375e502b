package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// event is one line of go test -json. See `go doc test2json`.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
	FailedBuild                   string
}

// testRun is one test or subtest of a package.
type testRun struct {
	// end is pass, skip or fail; empty while the test runs.
	end    string
	output []string
}

// packageRun is one package of one go test.
type packageRun struct {
	path    string
	seconds float64
	// used are the CPU seconds of the test binary and its processes.
	used   float64
	failed bool
	// built is false if the test binary did not compile.
	built bool
	tests map[string]*testRun
	// order lists the tests as they started.
	order []string
	// Output lines without a test.
	output []string
}

// printer prints the events of one go test as go test does without -json.
type printer struct {
	out     io.Writer
	verbose bool
	running map[string]*packageRun
	// done lists the packages that have ended; ended is called for each.
	done  []*packageRun
	ended func()
}

// read reads the output of go test -json to its end. It prints other lines, for example of a crashing go command, unchanged.
func (p *printer) read(from io.Reader) error {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil || e.Action == "" {
				_, _ = p.out.Write(line)
			} else {
				p.take(e)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (p *printer) take(e event) {
	if e.Package == "" {
		// Output of the build.
		_, _ = io.WriteString(p.out, e.Output)
		return
	}
	run := p.running[e.Package]
	if run == nil {
		run = &packageRun{path: e.Package, built: true, tests: map[string]*testRun{}}
		p.running[e.Package] = run
	}
	switch e.Action {
	case "output":
		if used, is := strings.CutPrefix(e.Output, usedMark); is {
			run.used, _ = strconv.ParseFloat(strings.TrimSpace(used), 64)
			return
		}
		run.add(e)
		if p.verbose {
			_, _ = io.WriteString(p.out, e.Output)
		}
	case "run":
		run.test(e.Test)
	case "pass", "skip", "fail":
		if e.Test != "" {
			run.test(e.Test).end = e.Action
			return
		}
		run.seconds, run.failed, run.built = e.Elapsed, e.Action == "fail", e.FailedBuild == ""
		if !p.verbose {
			run.print(p.out)
		}
		delete(p.running, e.Package)
		p.done = append(p.done, run)
		p.ended()
	}
}

func (r *packageRun) test(name string) *testRun {
	t := r.tests[name]
	if t == nil {
		t = &testRun{}
		r.tests[name] = t
		r.order = append(r.order, name)
	}
	return t
}

func (r *packageRun) add(e event) {
	if e.Test == "" {
		r.output = append(r.output, e.Output)
		return
	}
	t := r.test(e.Test)
	t.output = append(t.output, e.Output)
}

// print writes a failed package in full and the closing line of any other, at once: another go test prints to the same
// output.
func (r *packageRun) print(to io.Writer) {
	out := &bytes.Buffer{}
	defer func() { _, _ = out.WriteTo(to) }()
	for _, name := range r.order {
		if t := r.tests[name]; t.end != "pass" && t.end != "skip" {
			t.print(out)
		}
	}
	for _, line := range r.output {
		if r.failed || strings.HasPrefix(line, "ok  \t") || strings.HasPrefix(line, "?   \t") {
			_, _ = io.WriteString(out, line)
		}
	}
}

// print writes the verdict of the test and then its log, as go test does.
func (t *testRun) print(out io.Writer) {
	for _, verdict := range []bool{true, false} {
		for _, line := range t.output {
			is := strings.HasPrefix(strings.TrimLeft(line, " "), "--- ")
			if is == verdict && !strings.HasPrefix(line, "=== ") {
				_, _ = io.WriteString(out, line)
			}
		}
	}
}

// repeatable returns the failed tests: top-level ones, or their independent subtests. It returns none unless they alone explain the failure of the package: every test
// has ended, and the test binary has printed its verdict without an exit status of
// another kind.
func (r *packageRun) repeatable(apart *regexp.Regexp) []string {
	var failed []string
	for _, name := range r.order {
		t := r.tests[name]
		if t.end == "" || slices.ContainsFunc(t.output, panics) {
			return nil
		}
		if t.end == "fail" && !strings.Contains(name, "/") {
			failed = append(failed, r.parts(name, apart)...)
		}
	}
	if !r.built || !slices.Contains(r.output, "FAIL\n") || slices.ContainsFunc(r.output, panics) {
		return nil
	}
	return failed
}

// parts returns the failed subtests of a test with independent subtests, and otherwise the
// test itself: also after a fault of its own.
func (r *packageRun) parts(test string, apart *regexp.Regexp) []string {
	if apart == nil || !apart.MatchString(test) || slices.ContainsFunc(r.tests[test].output, says) {
		return []string{test}
	}
	var parts []string
	for _, name := range r.order {
		if path.Dir(name) == test && r.tests[name].end == "fail" {
			parts = append(parts, name)
		}
	}
	if len(parts) == 0 {
		return []string{test}
	}
	return parts
}

// says recognizes the test's own log among the lines of go test.
func says(line string) bool {
	line = strings.TrimLeft(line, " ")
	return !strings.HasPrefix(line, "=== ") && !strings.HasPrefix(line, "--- ")
}

// panics recognizes the end of a test binary that did not reach its verdict.
func panics(line string) bool {
	for _, start := range []string{"panic: ", "fatal error: ", "signal: ", "exit status "} {
		if strings.HasPrefix(line, start) && line != "exit status 1\n" {
			return true
		}
	}
	return false
}
