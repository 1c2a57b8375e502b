package cli

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/testsuite"
)

// harness types commands the way an operator does.
type harness struct {
	t        *testing.T
	env      Env
	handlers []jobtype.Handler
}

// outcome is what a command left behind.
type outcome struct {
	t              *testing.T
	code           int
	stdout, stderr string
}

// offline is a harness whose commands find no server.
func offline(t *testing.T) *harness {
	t.Helper()
	return &harness{t: t, env: Env{
		Stdin: strings.NewReader(""), Now: time.Now,
		Environ:    []string{"TEMPORAL_ADDRESS=127.0.0.1:1", "USER=tester"},
		Executable: executable(t),
	}}
}

// alone is a harness with a server of its own, for commands that change what
// others would see: apply removes job types that its configuration lacks.
func alone(t *testing.T) *harness {
	t.Helper()
	return offline(t).at(testsuite.StartServer(t).Address())
}

func (h *harness) at(address string) *harness {
	h.env.Environ = []string{"TEMPORAL_ADDRESS=" + address, "USER=tester"}
	return h
}

// executable is where the built binary lies, beside the dev server.
func executable(t *testing.T) string {
	t.Helper()
	server, err := testsuite.FindServer()
	require.NoError(t, err)
	return filepath.Join(filepath.Dir(server), program)
}

// run types one command line.
func (h *harness) run(args ...string) outcome {
	h.t.Helper()
	return h.runContext(h.t.Context(), args...)
}

func (h *harness) runContext(ctx context.Context, args ...string) outcome {
	h.t.Helper()
	// A worker's goroutines may log a moment longer than the command runs.
	var stdout, stderr screen
	env := h.env
	env.Stdout, env.Stderr = &stdout, &stderr
	code := Run(ctx, env, args, h.handlers...)
	return outcome{t: h.t, code: code, stdout: stdout.String(), stderr: stderr.String()}
}

func (o outcome) ok() outcome {
	o.t.Helper()
	require.Equal(o.t, ExitOK, o.code, "stdout: %s\nstderr: %s", o.stdout, o.stderr)
	return o
}

func (o outcome) exits(code int) outcome {
	o.t.Helper()
	require.Equal(o.t, code, o.code, "stdout: %s\nstderr: %s", o.stdout, o.stderr)
	return o
}

// says asserts on standard output, complains on standard error.
func (o outcome) says(parts ...string) outcome {
	o.t.Helper()
	for _, part := range parts {
		assert.Contains(o.t, o.stdout, part)
	}
	return o
}

func (o outcome) complains(parts ...string) outcome {
	o.t.Helper()
	for _, part := range parts {
		assert.Contains(o.t, o.stderr, part)
	}
	return o
}

// decode reads standard output as exactly one JSON value.
func decode[T any](o outcome) T {
	o.t.Helper()
	var value T
	decoder := json.NewDecoder(strings.NewReader(o.stdout))
	require.NoError(o.t, decoder.Decode(&value), o.stdout)
	require.False(o.t, decoder.More(), "more than one value: %s", o.stdout)
	return value
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
