package examplee2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/sites"
)

func TestMain(m *testing.M) { sites.Main(m, nil) }

// site has a control plane, and a directory that other users may enter.
type site struct {
	*sites.Site
	shared string
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{Site: sites.New(t), shared: sharedDir(t)}
	s.Start("server")
	return s
}

// sharedDir is a directory that other users may enter. They may not enter the parents of t.TempDir.
func sharedDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "roundsman-example-") //nolint:usetesting // see above
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755)) //nolint:gosec // see above
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}

var schedules = regexp.MustCompile(`schedule: \{.*\}`)

// apply applies the files of an example after it has replaced pairs of texts in them.
func (s *site) apply(name string, pairs ...string) {
	s.T.Helper()
	dir := filepath.Join(s.Dir, name)
	require.NoError(s.T, os.MkdirAll(dir, 0o700))
	files, err := filepath.Glob(filepath.Join("..", "..", "examples", name, "*.yaml"))
	require.NoError(s.T, err)
	require.NotEmpty(s.T, files)
	for i := 0; i < len(pairs); i += 2 {
		require.Contains(s.T, s.whole(files), pairs[i])
	}
	for _, file := range files {
		original, err := os.ReadFile(file)
		require.NoError(s.T, err)
		text := []byte(strings.NewReplacer(pairs...).Replace(string(original)))
		text = schedules.ReplaceAll(text, []byte("schedule: {every: 365d, first_run: scheduled}"))
		require.NoError(s.T, os.WriteFile(filepath.Join(dir, filepath.Base(file)), text, 0o600))
	}
	p := s.Program(nil, sites.Self(s.T), "apply", "--config", filepath.Join(dir, "roundsman.yaml"), "--address", s.Server.Address())
	require.Equal(s.T, 0, p.Code(s.T, time.Minute), "%s%s", p.Stdout.Last(), p.Stderr.Last())
}

func (s *site) whole(files []string) (text string) {
	for _, file := range files {
		one, err := os.ReadFile(file)
		require.NoError(s.T, err)
		text += string(one)
	}
	return text
}

// worker starts a worker process with its own data directory and more environment.
func (s *site) worker(id string, environ []string, extra ...string) *sites.Process {
	s.T.Helper()
	line := []string{sites.Self(s.T), "worker", "--id", id, "--data-dir", filepath.Join(s.Dir, id), "--address", s.Server.Address(), "--config", s.File()}
	return s.Program(environ, append(line, extra...)...)
}

// items returns the jobs of a run by their keys.
func (s *site) items(ref starter.RunRef) map[string]starter.Item {
	s.T.Helper()
	list, _, err := s.Client.Runs().Items(s.T.Context(), ref, starter.ItemFilter{})
	require.NoError(s.T, err)
	found := map[string]starter.Item{}
	for _, item := range list {
		found[item.DedupeKey] = item
	}
	return found
}

// program is a process on this machine.
type program struct {
	pid    int
	worker string
}

// alive returns the processes of a program with the text in their arguments, and their workers.
func alive(name, text string) (found []program) {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range lines {
		line, err := os.ReadFile(path)
		if err != nil {
			continue // It has just ended.
		}
		args := strings.Split(string(line), "\x00")
		script := len(args) > 1 && filepath.Base(args[1]) == name // borg is one.
		if (filepath.Base(args[0]) != name && !script) || !strings.Contains(strings.Join(args, " ")+" ", text) {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		environ, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "environ"))
		one := program{pid: pid}
		for variable := range strings.SplitSeq(string(environ), "\x00") {
			if id, is := strings.CutPrefix(variable, "ROUNDSMAN_WORKER_ID="); is {
				one.worker = id
			}
		}
		found = append(found, one)
	}
	return found
}

// output runs a command line to its end.
func output(t *testing.T, environ []string, line ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), line[0], line[1:]...)
	command.Env = append(os.Environ(), environ...)
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%v: %s", line, out)
	return string(out)
}

// eventually waits for a condition.
func (s *site) eventually(what string, is func() bool) {
	s.T.Helper()
	testsuite.WaitFor(s.T, 2*time.Minute, what, is)
}

// need skips the test without a program.
func need(t *testing.T, programs ...string) {
	t.Helper()
	for _, name := range programs {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s is not installed", name)
		}
	}
}
