package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"
)

// mostAgain bounds the tests that run again. More failures at once are not flaky tests.
const mostAgain = 8

// options are the command line.
type options struct {
	goCommand, dir, report, step string
	again                        bool
	packages, flags              []string
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	set := flag.NewFlagSet("testrun", flag.ContinueOnError)
	set.SetOutput(stderr)
	set.StringVar(&o.goCommand, "go", "go", "the go command")
	set.StringVar(&o.dir, "dir", ".", "directory of the module")
	set.StringVar(&o.report, "report", "", "file to append the times and the flaky tests to")
	set.StringVar(&o.step, "step", "test", "name of this run in the report")
	set.BoolVar(&o.again, "again", false, "run a failed test once more, alone")
	packages := set.String("packages", "", "packages to test, separated by spaces")
	if err := set.Parse(args); err != nil {
		return options{}, err
	}
	o.packages, o.flags = strings.Fields(*packages), set.Args()
	if len(o.packages) == 0 {
		return options{}, errors.New("-packages is empty: name what to test")
	}
	return o, nil
}

// run is main with its environment as arguments. It returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if err != nil {
		fmt.Fprintln(stderr, "testrun:", err)
		return 2
	}
	r := runner{options: o, out: stdout, errs: stderr, begun: time.Now()}
	passed, err := r.all(ctx)
	if err == nil {
		err = r.write()
	}
	if err != nil {
		fmt.Fprintln(stderr, "testrun:", err)
		return 2
	}
	for _, name := range r.flaky {
		fmt.Fprintf(stdout, "FLAKY: %s\n", name)
	}
	if !passed {
		return 1
	}
	return 0
}

// runner runs go test and remembers the report.
type runner struct {
	options
	out, errs io.Writer
	begun     time.Time
	done      []*packageRun
	flaky     []string
}

// all runs the packages, and then the failed tests once more.
func (r *runner) all(ctx context.Context) (bool, error) {
	done, passed, err := r.test(ctx, r.flags, r.packages)
	if err != nil || passed || !r.again {
		r.done = done
		return passed, err
	}
	r.done = done
	type failed struct{ path, test string }
	var repeat []failed
	final := false
	for _, p := range done {
		tests := p.repeatable()
		final = final || p.failed && len(tests) == 0
		for _, test := range tests {
			repeat = append(repeat, failed{p.path, test})
		}
	}
	if len(repeat) > mostAgain {
		fmt.Fprintf(r.out, "\n== %d tests failed, more than %d: none runs again\n", len(repeat), mostAgain)
		return false, nil
	}
	// Without a failed test in any package, the go command itself failed.
	passed = !final && len(repeat) > 0
	for _, f := range repeat {
		fmt.Fprintf(r.out, "\n== once more, alone: %s %s\n", f.path, f.test)
		ok, err := r.alone(ctx, f.path, f.test)
		if err != nil {
			return false, err
		}
		if ok {
			r.flaky = append(r.flaky, f.path+" "+f.test)
		}
		passed = passed && ok
	}
	return passed, nil
}

// alone runs one test, which must run and pass: a skipped test has not passed.
func (r *runner) alone(ctx context.Context, path, test string) (bool, error) {
	flags := append(slices.Clone(r.flags), "-count=1", "-run=^"+regexp.QuoteMeta(test)+"$")
	done, passed, err := r.test(ctx, flags, []string{path})
	if err != nil || !passed || len(done) != 1 {
		return false, err
	}
	t := done[0].tests[test]
	return t != nil && t.end == "pass", nil
}

// test runs go test once and returns the packages that ended.
func (r *runner) test(ctx context.Context, flags, packages []string) ([]*packageRun, bool, error) {
	cmd := exec.CommandContext(ctx, r.goCommand, slices.Concat([]string{"test", "-json"}, flags, packages)...)
	cmd.Dir, cmd.Stderr = r.dir, r.errs
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	events, err := cmd.StdoutPipe()
	if err != nil {
		return nil, false, err
	}
	if err := cmd.Start(); err != nil {
		return nil, false, err
	}
	p := printer{out: r.out, verbose: slices.Contains(flags, "-v"), running: map[string]*packageRun{}}
	if err := p.read(events); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil, false, err
	}
	var status *exec.ExitError
	if err := cmd.Wait(); errors.As(err, &status) {
		return p.done, false, ctx.Err()
	} else if err != nil {
		return nil, false, err
	}
	return p.done, true, nil
}

// write appends the report: "step SECONDS NAME", "package SECONDS PATH" and "flaky PATH TEST" lines.
func (r *runner) write() error {
	if r.report == "" {
		return nil
	}
	file, err := os.OpenFile(r.report, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	fmt.Fprintf(file, "step %.0f %s\n", time.Since(r.begun).Seconds(), r.step)
	for _, p := range r.done {
		fmt.Fprintf(file, "package %.1f %s\n", p.seconds, p.path)
	}
	for _, name := range r.flaky {
		fmt.Fprintf(file, "flaky %s\n", name)
	}
	return file.Close()
}
