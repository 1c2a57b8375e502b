package seaweedfs

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/seaweedfs/weed"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/jobtype/jobtypetest"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/fakecluster"
)

// shellOf writes a program in place of `weed shell`.
func shellOf(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "weed")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+body), 0o700)) //nolint:gosec // a program
	return path
}

func scriptParams(t *testing.T, script, program, timeout string) string {
	t.Helper()
	params, err := json.Marshal(map[string]any{"script": script, "weed": program, "timeout": timeout})
	require.NoError(t, err)
	return string(params)
}

func TestScript(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 1, weed.KeeperOptions{})
	program := shellOf(t, "echo \"$@\"\nwhile read -r line; do case $line in bad*) echo \"unknown command: $line\";; *) echo \"> did $line\";; esac; done\n")
	params := scriptParams(t, "# tidy\nlock; volume.list ; s3.clean -x \"a;b\"\n", program, "1m")
	found := f.detect("admin_script", params)
	require.Len(t, found, 1)
	assert.Regexp(t, `^admin-script:[0-9a-f]{64}$`, found[0].DedupeKey)
	done := f.execute(t.Context(), "admin_script", params, found[0])
	require.NoError(t, done.Err)
	assert.Equal(t, "2 commands", done.Result.Summary)
	assert.Regexp(t, `(?s)^shell -master=127.0.0.1:9333\.\d+\n> did lock\n> did volume.list\n> did s3.clean -x "a;b"\n> did unlock\n> did exit$`, done.Result.Output)

	params = scriptParams(t, "bad.command\nvolume.list", program, "1m")
	done = f.execute(t.Context(), "admin_script", params, f.detect("admin_script", params)[0])
	require.ErrorContains(t, done.Err, "SCRIPT_ERRORS: 1 of the script's commands failed: unknown command: bad.command")
}

func TestScriptIsBounded(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 1, weed.KeeperOptions{})
	params := scriptParams(t, "volume.list", shellOf(t, "echo waiting for lock held by operator\nexec sleep 60\n"), "5s")
	done := f.execute(t.Context(), "admin_script", params, f.detect("admin_script", params)[0])
	require.ErrorContains(t, done.Err, "took longer than 5s")
	require.ErrorContains(t, done.Err, "waiting for lock held by operator")
}

// cancelAt runs a script, cancels it when a line is in the file, and returns the line.
func (f *fixture) cancelAt(file, script string) string {
	f.t.Helper()
	params := scriptParams(f.t, "volume.list", shellOf(f.t, script), "10m")
	proposal := f.detect("admin_script", params)[0]
	ctx, cancel := context.WithCancel(f.t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- f.execute(ctx, "admin_script", params, proposal).Err }()
	var line []byte
	testsuite.WaitFor(f.t, time.Minute, "the script writes its line", func() bool {
		line, _ = os.ReadFile(file)
		return bytes.HasSuffix(line, []byte("\n"))
	})
	cancel()
	require.Error(f.t, <-ended)
	return strings.TrimSpace(string(line))
}

// TestScriptEndsTheWholeGroup: a child process that ignores SIGTERM ends with the program.
func TestScriptEndsTheWholeGroup(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 1, weed.KeeperOptions{})
	file := filepath.Join(t.TempDir(), "child")
	text := f.cancelAt(file, "(trap '' TERM; exec sleep 600) >/dev/null 2>&1 &\necho $! >"+file+"\nwait\n")
	child, err := strconv.Atoi(text)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return !runs(child) }, time.Minute, 10*time.Millisecond, "process %d", child)
}

// runs reports whether a process is there and no zombie.
func runs(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// A shell in a session of its own ends with the script, too.
func TestScriptEndsSessions(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 1, weed.KeeperOptions{})
	pid := filepath.Join(t.TempDir(), "pid")
	text := f.cancelAt(pid, "setsid sh -c 'echo $$ > "+pid+"; exec sleep 3600' & wait\n")
	assert.NoFileExists(t, "/proc/"+text+"/stat")
}

// TestScriptHasTheLeaseToItself: the process's jobs release the lease before the shell requests it, and wait
// until the shell has ended.
func TestScriptHasTheLeaseToItself(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 1, weed.KeeperOptions{Linger: 3 * time.Second})
	f.Put(fakecluster.Volume{ID: 7, Objects: 10, Deleted: 5, ObjectSize: 1000}, f.servers[0])
	vacuum := f.detect("vacuum", `{}`)
	require.NoError(t, f.execute(t.Context(), "vacuum", `{}`, vacuum[0]).Err)
	require.Contains(t, f.Holder("shell"), "roundsman@", "it lingers")
	begun, end := filepath.Join(t.TempDir(), "begun"), filepath.Join(t.TempDir(), "end")
	params := scriptParams(t, "volume.list", shellOf(t, "touch "+begun+"; until test -e "+end+"; do sleep 0.01; done\n"), "30s")
	ended := make(chan error, 1)
	go func() {
		ended <- f.execute(t.Context(), "admin_script", params, f.detect("admin_script", params)[0]).Err
	}()
	require.Eventually(t, func() bool { _, err := os.Stat(begun); return err == nil }, time.Minute, 5*time.Millisecond)
	token, since, err := f.Lease("shell", "weed shell", 0, 0)
	require.NoError(t, err, "nobody else has it")
	second := make(chan error, 1)
	go func() { second <- f.execute(t.Context(), "vacuum", `{"garbage_threshold":0}`, vacuum[0]).Err }()
	f.Release("shell", token, since)
	require.NoError(t, os.WriteFile(end, nil, 0o600))
	require.NoError(t, <-ended)
	require.NoError(t, <-second)
}

func TestScriptSaysThatWeedIsMissing(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 1, weed.KeeperOptions{})
	params := scriptParams(t, "volume.list", "no-such-weed", "1m")
	done := f.execute(t.Context(), "admin_script", params, f.detect("admin_script", params)[0])
	require.ErrorContains(t, done.Err, "NO_WEED")
	require.ErrorIs(t, done.Err, jobtype.ErrNotInstalled, "another worker may have it")
	broken := filepath.Join(t.TempDir(), "weed")
	require.NoError(t, os.WriteFile(broken, []byte("\x7fELF"), 0o700)) //nolint:gosec // a program
	params = scriptParams(t, "volume.list", broken, "1m")
	done = f.execute(t.Context(), "admin_script", params, f.detect("admin_script", params)[0])
	require.ErrorIs(t, done.Err, jobtype.ErrNotInstalled)
}

// The shell has the variables of the worker, but not its credentials.
func TestScriptHasNoCredentials(t *testing.T) {
	t.Setenv("TEMPORAL_API_KEY", "a secret")
	t.Setenv("WEED_JWT_FILER_SIGNING_KEY", "for weed")
	f := newFixture(t, 1, weed.KeeperOptions{})
	params := scriptParams(t, "volume.list", shellOf(t, "echo \"[${TEMPORAL_API_KEY-unset}] [$WEED_JWT_FILER_SIGNING_KEY]\"\n"), "5s")
	done := f.execute(t.Context(), "admin_script", params, f.detect("admin_script", params)[0])
	require.NoError(t, done.Err)
	assert.Contains(t, done.Result.Output, "[unset] [for weed]")
}

func TestScriptWaitsForItsInterval(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 1, weed.KeeperOptions{})
	in := f.input(`{"run_interval_minutes":17}`)
	in.LastWithJobs = time.Now().Add(-16 * time.Minute)
	assert.Empty(t, jobtypetest.Detect(t.Context(), f.handlers["admin_script"], in).Proposals)
	in.LastWithJobs = time.Now().Add(-17*time.Minute + 5*time.Second)
	assert.Len(t, jobtypetest.Detect(t.Context(), f.handlers["admin_script"], in).Proposals, 1, "clocks differ by seconds")
}

// TestAScriptCountsItsOwnRuns: an empty run is a success, but it is no run of the script.
func TestAScriptCountsItsOwnRuns(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 1, weed.KeeperOptions{})
	in := f.input(`{"run_interval_minutes":17}`)
	in.LastSuccess, in.LastWithJobs = time.Now().Add(-time.Minute), time.Now().Add(-18*time.Minute)
	assert.Len(t, jobtypetest.Detect(t.Context(), f.handlers["admin_script"], in).Proposals, 1)
}
