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
	"sync"
	"time"
)

// mostAgain bounds the tests that run again. More failures at once are not flaky tests.
const mostAgain = 8

// options are the command line.
type options struct {
	goCommand, report string
	modules           []string
	packages          []string
	race              bool
	withoutRace       []string
	ends, slowest     string
	apart             string
	overlap           int
	endsFlags         []string
	unitFlags         []string
	flags             []string
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	set := flag.NewFlagSet("testrun", flag.ContinueOnError)
	set.SetOutput(stderr)
	set.StringVar(&o.goCommand, "go", "go", "the go command")
	set.StringVar(&o.report, "report", "", "file to append the times and the flaky tests to")
	set.BoolVar(&o.race, "race", false, "run the packages that can race with the race detector")
	withoutRace := set.String("without-race", "", "modules, and ends of package paths, that are tested without it, separated by spaces")
	set.StringVar(&o.ends, "ends", "", "expression for the end-to-end packages: they run last, and a failed test of them once more")
	set.StringVar(&o.apart, "apart", "", "expression for tests with independent subtests: only a failed subtest runs once more")
	set.StringVar(&o.slowest, "slowest", "", "ends of package paths, separated by spaces: these begin first, in this order")
	set.IntVar(&o.overlap, "overlap", 0, "a step begins when so many packages of the steps before are left")
	modules := set.String("modules", ".", "directories of modules, separated by spaces")
	packages := set.String("packages", "", "packages to test, separated by spaces")
	endsFlags := set.String("ends-flags", "", "flags of go test for end-to-end packages")
	unitFlags := set.String("unit-flags", "", "flags of go test for the others")
	if err := set.Parse(args); err != nil {
		return options{}, err
	}
	o.modules, o.packages, o.withoutRace = strings.Fields(*modules), strings.Fields(*packages), strings.Fields(*withoutRace)
	o.endsFlags, o.unitFlags, o.flags = strings.Fields(*endsFlags), strings.Fields(*unitFlags), set.Args()
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
	jobs, err := plan(ctx, o)
	if err != nil {
		fmt.Fprintln(stderr, "testrun:", err)
		return 2
	}
	runners, err := together(ctx, o, jobs, &shared{to: stdout}, stderr)
	passed := true
	var flaky []string
	for _, r := range runners {
		if err == nil && r.again && !r.passed {
			err = r.repeat(ctx)
		}
		passed = passed && r.passed
		flaky = append(flaky, r.flaky...)
	}
	if err == nil {
		err = write(o.report, runners)
	}
	if err != nil {
		fmt.Fprintln(stderr, "testrun:", err)
		return 2
	}
	for _, name := range flaky {
		fmt.Fprintf(stdout, "FLAKY: %s\n", name)
	}
	if !passed {
		return 1
	}
	return 0
}

// together runs the jobs in their order. A job begins when few packages of those before it are left: they wait more than
// they work. An error of go itself ends the others.
func together(ctx context.Context, o options, jobs []job, out, errs io.Writer) ([]*runner, error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var runners []*runner
	most := len(jobs)
	for _, j := range jobs {
		runners = append(runners, &runner{job: j, goCommand: o.goCommand, out: out, errs: errs})
		most += len(j.packages)
	}
	left, ended := 0, make(chan int, most)
	var running sync.WaitGroup
	for _, r := range runners {
		for left > o.overlap {
			left -= <-ended
		}
		if ctx.Err() != nil {
			break
		}
		left += len(r.packages)
		running.Go(func() {
			ends := 0
			if err := r.run(ctx, func() { ends++; ended <- 1 }); err != nil {
				fail(err)
			}
			ended <- len(r.packages) - ends
		})
	}
	running.Wait()
	return runners, context.Cause(ctx)
}

// shared is an output of several jobs.
type shared struct {
	mu sync.Mutex
	to io.Writer
}

// Write implements io.Writer.
func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.to.Write(p)
}

// runner runs one job and remembers the report.
type runner struct {
	job
	goCommand string
	out, errs io.Writer
	took      time.Duration
	used      time.Duration
	passed    bool
	done      []*packageRun
	flaky     []string
}

func (r *runner) run(ctx context.Context, ended func()) (err error) {
	begun := time.Now()
	fmt.Fprintf(r.out, "== %s: go test %s (%d packages)\n", r.step, strings.Join(r.flags, " "), len(r.packages))
	r.done, r.passed, err = r.test(ctx, r.flags, r.packages, ended)
	r.took = time.Since(begun)
	return err
}

// repeat runs the failed tests once more.
func (r *runner) repeat(ctx context.Context) error {
	begun := time.Now()
	defer func() { r.took += time.Since(begun) }()
	type failed struct{ path, test string }
	var repeat []failed
	final := len(r.done) < len(r.packages) // The go command died.
	for _, p := range r.done {
		tests := p.repeatable(r.apart)
		final = final || p.failed && len(tests) == 0
		for _, test := range tests {
			repeat = append(repeat, failed{p.path, test})
		}
	}
	if len(repeat) > mostAgain {
		fmt.Fprintf(r.out, "\n== %d tests failed, more than %d: none runs again\n", len(repeat), mostAgain)
		return nil
	}
	// Without a failed test in any package, the go command itself failed.
	passed := !final && len(repeat) > 0
	for _, f := range repeat {
		fmt.Fprintf(r.out, "\n== once more, alone: %s %s\n", f.path, f.test)
		ok, err := r.alone(ctx, f.path, f.test)
		if err != nil {
			return err
		}
		if ok {
			r.flaky = append(r.flaky, f.path+" "+f.test)
		}
		passed = passed && ok
	}
	r.passed = passed
	return nil
}

// alone runs one test, which must run and pass: a skipped test has not passed.
func (r *runner) alone(ctx context.Context, path, test string) (bool, error) {
	only := "^" + strings.ReplaceAll(regexp.QuoteMeta(test), "/", "$/^") + "$"
	flags := append(slices.Clone(r.flags), "-count=1", "-run="+only)
	done, passed, err := r.test(ctx, flags, []string{path}, func() {})
	if err != nil || !passed || len(done) != 1 {
		return false, err
	}
	t := done[0].tests[test]
	return t != nil && t.end == "pass", nil
}

// test runs go test once and returns the packages that ended. It calls ended at the end of each.
func (r *runner) test(ctx context.Context, flags, packages []string, ended func()) ([]*packageRun, bool, error) {
	own, environ, err := wrap()
	if err != nil {
		return nil, false, err
	}
	line := slices.Concat([]string{r.goCommand, "test", "-json"}, own, flags, packages)
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Dir, cmd.Stderr, cmd.Env = r.dir, r.errs, environ
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	events, err := cmd.StdoutPipe()
	if err != nil {
		return nil, false, err
	}
	if err := cmd.Start(); err != nil {
		return nil, false, err
	}
	p := printer{out: r.out, verbose: slices.Contains(flags, "-v"), running: map[string]*packageRun{}, ended: ended}
	if err := p.read(events); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil, false, err
	}
	err = cmd.Wait()
	if cmd.ProcessState != nil {
		r.used += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	if _, status := errors.AsType[*exec.ExitError](err); status {
		return p.done, false, ctx.Err()
	} else if err != nil {
		return nil, false, err
	}
	return p.done, true, nil
}

// write appends the report: "step SECONDS CPU-SECONDS NAME", "package SECONDS CPU-SECONDS PATH" and "flaky PATH TEST" lines. The CPU
// time of a step includes compilers and linkers.
func write(report string, runners []*runner) error {
	if report == "" {
		return nil
	}
	file, err := os.OpenFile(report, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	for _, r := range runners {
		fmt.Fprintf(file, "step %.0f %.0f %s\n", r.took.Seconds(), r.used.Seconds(), r.step)
		for _, p := range r.done {
			fmt.Fprintf(file, "package %.1f %.1f %s\n", p.seconds, p.used, p.path)
		}
		for _, name := range r.flaky {
			fmt.Fprintf(file, "flaky %s\n", name)
		}
	}
	return file.Close()
}
