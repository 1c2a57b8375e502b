package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/clitest"
)

// harness types commands the way an operator does.
type harness struct {
	t        *testing.T
	env      ui.Env
	handlers []jobtype.Handler
}

// offline is a harness whose commands find no server.
func offline(t *testing.T) *harness {
	t.Helper()
	return &harness{t: t, env: ui.Env{
		Stdin: strings.NewReader(""), Now: time.Now,
		Environ:    []string{"TEMPORAL_ADDRESS=127.0.0.1:1", "USER=tester"},
		Executable: executable(t),
		AskWithin:  time.Minute, // A control plane on a busy machine.
	}}
}

// alone is a harness with its own server, for commands with an effect on other tests: apply removes job types
// that its configuration lacks.
func alone(t *testing.T) *harness {
	t.Helper()
	return offline(t).at(testsuite.StartServer(t).Address())
}

// withoutControlPlane waits for one only as long as an operator's command does.
func (h *harness) withoutControlPlane() *harness {
	h.env.AskWithin = 0
	return h
}

func (h *harness) at(address string) *harness {
	h.env.Environ = []string{"TEMPORAL_ADDRESS=" + address, "USER=tester"}
	return h
}

// executable is where the built binary lies, next to the dev server.
func executable(t *testing.T) string {
	t.Helper()
	server, err := testsuite.FindServer()
	require.NoError(t, err)
	return filepath.Join(filepath.Dir(server), ui.ProgramName)
}

// run types one command line.
func (h *harness) run(args ...string) clitest.Outcome {
	h.t.Helper()
	return h.runContext(h.t.Context(), args...)
}

func (h *harness) runContext(ctx context.Context, args ...string) clitest.Outcome {
	h.t.Helper()
	// A worker's goroutines may log a moment longer than the command runs.
	var stdout, stderr clitest.Screen
	env := h.env
	env.Stdout, env.Stderr = &stdout, &stderr
	code := Run(ctx, env, args, h.handlers...)
	return clitest.Outcome{T: h.t, Code: code, Stdout: stdout.String(), Stderr: stderr.String()}
}

// write puts a configuration into a file of its own.
func (h *harness) write(text string) string {
	h.t.Helper()
	path := filepath.Join(h.t.TempDir(), "roundsman.yaml")
	require.NoError(h.t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func touch(t *testing.T, path string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, nil, 0o600))
}
