package consolee2e

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/edge/console"
)

// longest are the files that take longest. They begin first, in this order.
var longest = []string{"whole", "timeline", "why", "journeys", "live", "handover", "pages", "sizes", "small", "forms", "tables", "fewclicks", "graph", "typed", "cancel"}

// waits are files that wait for most of their time. They run next to the others, each with a stage of its own.
var waits = []string{"still"}

// atOnce files run at once, besides waits, and up to fillers more while the CPUs are idle. Each stage is a control plane, a
// server, two workers and a browser. The files of the shared stage run one after another.
const (
	atOnce  = 2
	fillers = 3
)

const (
	// calmFor is as long as a stage needs to start, so that its load is in the next measurement.
	calmFor = 10 * time.Second
	// calmShare of the time of all CPUs is about what one more file uses.
	calmShare = 0.3
)

// cpuTimes are the idle and the whole time of all CPUs in ticks.
type cpuTimes struct{ idle, all int64 }

func readCPUTimes() (times cpuTimes) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return times
	}
	line, _, _ := strings.Cut(string(text), "\n")
	for i, field := range strings.Fields(line) { // cpu user nice system idle iowait ...
		ticks, _ := strconv.ParseInt(field, 10, 64)
		if times.all += ticks; i == 4 || i == 5 {
			times.idle += ticks
		}
	}
	return times
}

// awaitCalm returns when the CPUs were idle for calmShare of the last calmFor, or if done holds.
func awaitCalm(t *testing.T, done func() bool) {
	t.Helper()
	var last []cpuTimes // one a second
	assert.Eventually(t, func() bool {
		now := readCPUTimes()
		last = append(last, now)
		if len(last) <= int(calmFor/time.Second) {
			return done()
		}
		before := last[0]
		last = last[1:]
		return done() || float64(now.idle-before.idle) > calmShare*float64(now.all-before.all)
	}, time.Hour, time.Second)
}

// TestInBrowser runs web/test: every page by axe-core and under its policy in both
// themes, journeys by keyboard compared through the audit log with the lines for a
// shell, and a control plane and a server that are killed. Each file is a subtest that
// needs no other: `go test ./testsuite/consolee2e -run /live`.
func TestInBrowser(t *testing.T) {
	t.Parallel()
	web, err := filepath.Abs(filepath.Join("..", "..", "web"))
	require.NoError(t, err)
	node, err := exec.LookPath("node")
	if err != nil || !console.Built() {
		t.Skip("skipped: the console is not built (no Node.js 20 or newer, or no make web)")
	}
	if _, err := os.Stat(filepath.Join(web, "node_modules", "puppeteer-core")); err != nil {
		t.Skip("skipped: web/node_modules has no driver for the browser: run make web")
	}
	_, full := exec.LookPath("chromium")
	_, headless := exec.LookPath("chromium-headless-shell")
	if full != nil && headless != nil && os.Getenv("CHROMIUM") == "" {
		t.Skip("skipped: no Chromium: install Debian's chromium-headless-shell, or name one with CHROMIUM")
	}
	d := driver{node: node, web: web}
	sharing, alone := files(t, web)
	queue := make(chan []string, 1+len(alone))
	queue <- sharing
	for _, name := range alone {
		queue <- []string{name}
	}
	close(queue)
	var workers sync.WaitGroup
	for range atOnce {
		workers.Go(func() {
			for names := range queue {
				d.files(t, names)
			}
		})
	}
	for _, name := range waits {
		workers.Go(func() { d.files(t, []string{name}) })
	}
	begun := make(chan struct{}, fillers)
	for {
		begun <- struct{}{}
		awaitCalm(t, func() bool { return len(queue) == 0 })
		names, more := <-queue
		if !more {
			break
		}
		workers.Go(func() {
			defer func() { <-begun }()
			d.files(t, names)
		})
	}
	workers.Wait()
}

// driver runs files of web/test.
type driver struct{ node, web string }

// files runs files one after another. Several share a stage, up to the first that fails in it: the next one begins with a new stage.
func (d driver) files(t *testing.T, names []string) {
	t.Helper()
	shared := &stage{}
	defer func() { shared.end() }()
	for _, name := range names {
		ok := t.Run(name, func(t *testing.T) {
			run := exec.CommandContext(t.Context(), d.node, "--test-reporter=spec", filepath.Join("test", name+suffix))
			run.Dir = d.web
			if len(names) > 1 {
				require.NoError(t, shared.begin(d))
				run.Env = append(os.Environ(), "ROUNDSMAN_STAGE="+shared.given)
			}
			output, err := run.CombinedOutput()
			t.Logf("%s", output)
			require.NoError(t, err)
		})
		if !ok {
			shared.end()
		}
	}
}

// stage is a control plane, a server, two workers and a browser for several files.
type stage struct {
	// given is for Stage.shared of web/test; empty before it has begun.
	given string
	cmd   *exec.Cmd
	stdin io.Closer
}

func (s *stage) begin(d driver) error {
	if s.given != "" {
		return nil
	}
	s.cmd = exec.CommandContext(context.Background(), d.node, filepath.Join("test", "shared.mjs"))
	s.cmd.Dir, s.cmd.Stderr = d.web, os.Stderr
	stdin, err := s.cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	s.stdin = stdin
	line, err := bufio.NewReader(stdout).ReadString('\n')
	s.given = strings.TrimSpace(line)
	return err
}

// end ends the processes of a stage, if it has any.
func (s *stage) end() {
	if s.stdin != nil {
		_ = s.stdin.Close()
		_ = s.cmd.Wait()
	}
	*s = stage{}
}

const (
	suffix = ".test.mjs"
	// shares is in each file that leaves a stage as it was.
	shares = "Stage.shared()"
)

// files lists the files of tests without their suffix and without waits: first the files with a shared stage, then the longest.
func files(t *testing.T, web string) (sharing, alone []string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(web, "test", "*"+suffix))
	require.NoError(t, err)
	for _, file := range found {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		name := strings.TrimSuffix(filepath.Base(file), suffix)
		switch {
		case slices.Contains(waits, name):
		case strings.Contains(string(text), shares):
			sharing = append(sharing, name)
		default:
			alone = append(alone, name)
		}
	}
	slices.SortStableFunc(alone, func(a, b string) int { return rank(a) - rank(b) })
	for _, name := range longest {
		require.Contains(t, alone, name, "a file of the list is not in web/test, or it shares a stage")
	}
	return sharing, alone
}

// rank is the place of a file that runs alone.
func rank(name string) int {
	if i := slices.Index(longest, name); i >= 0 {
		return i
	}
	return len(longest)
}
