package nodee2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/sites"
)

func TestMain(m *testing.M) { sites.Main(m, map[string]func(){"submitter": submitter}, handlers()...) }

func handlers() []jobtype.Handler {
	return []jobtype.Handler{steps{name: "steps"}, steps{name: "capped", cap: 3}, deadly{}, plain{}}
}

// site is a server, a control plane and workers, each a process.
type site struct {
	*sites.Site
	// control is the control plane that newSite started.
	control *sites.Process
	// held are the job types whose jobs do not take their last step before letGo.
	held []string
}

func newSite(t *testing.T, workers ...string) *site {
	t.Helper()
	return begin(t, sites.New(t), workers...)
}

func begin(t *testing.T, with *sites.Site, workers ...string) *site {
	t.Helper()
	s := &site{Site: with}
	t.Cleanup(func() {
		if t.Failed() {
			book, _ := readBook(s.bookPath())
			t.Logf("the book:\n%+v", book)
		}
	})
	s.control = s.Start("server")
	for _, id := range workers {
		s.worker(id)
	}
	s.AwaitFresh(workers...)
	return s
}

// worker starts a worker process with its own data directory.
func (s *site) worker(id string, extra ...string) *sites.Process {
	s.T.Helper()
	return s.Start(append([]string{"worker", "--id", id, "--data-dir", filepath.Join(s.Dir, id)}, extra...)...)
}

// group is a job type of these tests.
type group struct {
	name    string
	handler string
	policy  string
	jobs    int
	steps   int
	ms      int
}

func (s *site) bookPath() string { return filepath.Join(s.Dir, "book") }

// hold is for a test that must have come somewhere before these jobs end. It comes
// before apply.
func (s *site) hold(jobTypes ...string) { s.held = jobTypes }

// goPath is the file for which jobs that are held wait.
func (s *site) goPath() string { return filepath.Join(s.Dir, "go") }

func (s *site) letGo() {
	s.T.Helper()
	require.NoError(s.T, os.WriteFile(s.goPath(), nil, 0o600))
}

// holdAgain holds back whose last step is still to come.
func (s *site) holdAgain() {
	s.T.Helper()
	require.NoError(s.T, os.Remove(s.goPath()))
}

// apply applies the job types. None is due by itself, unless its policy requires it.
func (s *site) apply(groups ...group) {
	s.T.Helper()
	var text strings.Builder
	// The default lane is exclusive; these groups run next to each other.
	text.WriteString(sites.Scaled + "lanes: {free: {exclusive: false}}\njob_types:\n")
	for _, g := range groups {
		until := ""
		if slices.Contains(s.held, g.name) {
			until = s.goPath()
		}
		fmt.Fprintf(&text, "  %s:\n    handler: %s\n    lane: free\n    schedule: {every: 365d, first_run: scheduled}\n    policy: {%s}\n    params: {book: %q, jobs: %d, steps: %d, ms: %d, go: %q}\n",
			g.name, g.handler, g.policy, s.bookPath(), g.jobs, g.steps, g.ms, until)
	}
	s.Apply(text.String())
}

func (s *site) book() book {
	s.T.Helper()
	read, err := readBook(s.bookPath())
	require.NoError(s.T, err)
	return read
}

// awaitBook waits until the book is so, and returns it.
func (s *site) awaitBook(what string, is func(book) bool) (read book) {
	s.T.Helper()
	testsuite.WaitFor(s.T, time.Minute, what, func() bool {
		read = s.book()
		return is(read)
	})
	return read
}
