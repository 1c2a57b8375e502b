package command_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/roundsman/roundsman/jobtype"
)

// asRoot skips a test of a worker that switches users where the tests are not root.
func asRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root switches users")
	}
}

const whoami = `id -u; id -g; id -G; echo "$HOME $USER $LOGNAME $SHELL"; pwd; grep -E "^Cap(Inh|Prm|Eff|Amb)" /proc/self/status | tr -s "\t\n" "  "`

func TestRootSwitchesTheUser(t *testing.T) {
	t.Parallel()
	asRoot(t)
	none := "CapInh: 0000000000000000 CapPrm: 0000000000000000 CapEff: 0000000000000000 CapAmb: 0000000000000000"
	for name, c := range map[string]struct {
		keys block
		want []string
	}{
		"by name": {block{"user": "nobody", "dir": "/"}, []string{"65534", "65534", "65534", "/nonexistent nobody nobody /usr/sbin/nologin", "/", none}},
		"by number, with groups": {
			block{"user": "65534", "group": "daemon", "groups": []string{"games", "60"}, "dir": "/"},
			[]string{"65534", "1", "1 60 65534", "/nonexistent nobody nobody /usr/sbin/nologin", "/", none},
		},
		"by a template, at home":    {block{"user": "{{.Params.user}}", "dir": "~"}, []string{"1", "1", "1", "/usr/sbin daemon daemon /usr/sbin/nologin", "/usr/sbin", none}},
		"a number without an entry": {block{"user": "4242", "group": "4243", "dir": "~"}, []string{"4242", "4243", "4243", "/", "/", none}},
		"the worker's own user":     {block{"user": "root", "dir": "/"}, []string{"0", "0", "0", "/root root root /bin/bash", "/"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := execute(t, shell(whoami).with(c.keys), jobtype.Job{Params: json.RawMessage(`{"user":"daemon"}`)})
			require.NoError(t, got.Err)
			lines := strings.Split(strings.TrimSpace(got.Result.Output), "\n")
			for k, want := range c.want {
				assert.Equal(t, want, strings.TrimSpace(lines[k]))
			}
		})
	}
}

// The groups of the system's user are those that initgroups finds.
func TestTheUserHasAllItsGroups(t *testing.T) {
	t.Parallel()
	asRoot(t)
	want, err := exec.Command("runuser", "-u", "postgres", "--", "id").CombinedOutput()
	if err != nil {
		t.Skipf("this machine has no user with several groups: %s", want)
	}
	got := execute(t, block{"command": []string{"id"}, "user": "postgres"}, jobtype.Job{})
	require.NoError(t, got.Err)
	assert.Equal(t, string(want), got.Result.Output)
}

func TestADetectionSwitchesTheUser(t *testing.T) {
	t.Parallel()
	asRoot(t)
	got := detect(t, block{"command": []string{"id", "-un"}, "user": "nobody"}, jobtype.DetectInput{})
	require.NoError(t, got.Err)
	assert.Equal(t, []string{"nobody"}, got.Keys())
}

// A script may open its own /dev/stderr. The user may enter a directory that is closed to another user.
func TestAnotherUserHasItsStreamsAndFolder(t *testing.T) {
	t.Parallel()
	asRoot(t)
	dir := filepath.Join(newSite(t, nobody).dir, "own")
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.Chown(dir, nobody, nobody))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "run"), []byte("#!/bin/sh\npwd > /dev/stderr; exit 5\n"), 0o700)) //nolint:gosec // a program
	require.NoError(t, os.Chown(filepath.Join(dir, "run"), nobody, nobody))
	got := execute(t, block{"command": []string{"./run"}, "user": "nobody", "dir": dir}, jobtype.Job{})
	assert.ErrorContains(t, got.Err, "./run exited with status 5: "+dir)
}

func TestUsersThatCannotBe(t *testing.T) {
	t.Parallel()
	asRoot(t)
	for want, keys := range map[string]block{
		"NO_USER: this node has no user no-such-user":             {"user": "no-such-user"},
		"NO_USER: this node has no user number 4242: name its":    {"user": "4242"},
		"NO_USER: this node has no group no-such-group":           {"group": "no-such-group"},
		"NO_USER: this node has no user 4294967295":               {"user": "4294967295", "group": "daemon"},
		"NO_USER: this node has no user 4294967296":               {"user": "4294967296", "group": "daemon"},
		"NO_USER: this node has no group 4294967296":              {"user": "nobody", "group": "4294967296"},
		"execute.user: the template rendered to nothing":          {"user": "{{.Params.nobody}}"},
		"execute.groups: a template rendered to nothing":          {"user": "nobody", "groups": []string{"{{.Params.nobody}}"}},
		"working directory: chdir /root: permission denied":       {"user": "nobody", "dir": "/root"},
		"working directory: chdir /no/such: no such file":         {"user": "nobody", "dir": "/no/such"},
		`command "/root/no" cannot be started on this worker: pe`: {"user": "nobody", "command": []string{"/root/no"}},
	} {
		got := execute(t, shell("true").with(keys), jobtype.Job{Params: json.RawMessage(`{"nobody":""}`)})
		require.ErrorContains(t, got.Err, want)
		_, program := keys["command"] // One that is missing on this node may be on another.
		_, folder := keys["dir"]
		assert.Equal(t, !program && !folder, jobtype.IsPermanent(got.Err), want)
		assert.Equal(t, program || folder, errors.Is(got.Err, jobtype.ErrNotInstalled), want)
	}
}

// ordinary starts a worker as an ordinary user, with the capabilities in its ambient set.
func ordinary(t *testing.T, p part, capabilities ...uintptr) (string, error) {
	t.Helper()
	return ordinaryAs(t, nobody, p, capabilities...)
}

func ordinaryAs(t *testing.T, uid int, p part, capabilities ...uintptr) (string, error) {
	t.Helper()
	s := newSite(t, uid)
	role, err := json.Marshal(p)
	require.NoError(t, err)
	worker := exec.Command(filepath.Join(s.dir, "worker"))
	worker.Env = []string{"PATH=" + os.Getenv("PATH"), workerRole + "=" + string(role)}
	worker.Dir = "/"
	worker.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}, AmbientCaps: capabilities}
	var output bytes.Buffer
	worker.Stdout, worker.Stderr = &output, &output
	err = worker.Run()
	return output.String(), err
}

func TestAnOrdinaryWorkerSwitchesWithOneLineInItsUnit(t *testing.T) {
	t.Parallel()
	asRoot(t)
	output, err := ordinary(t, part{Script: whoami + "; exit 7", Keys: block{"user": "daemon"}})
	require.Error(t, err)
	assert.Contains(t, output, "NOT_ALLOWED: this worker may not switch to user daemon: set AmbientCapabilities=CAP_SETUID CAP_SETGID CAP_KILL in its unit")

	line := []uintptr{unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_KILL}
	output, err = ordinary(t, part{Script: `(` + whoami + `) >&2; exit 7`, Keys: block{"user": "daemon", "dir": "/"}}, line...)
	require.Error(t, err)
	assert.Contains(t, output, "1\n1\n1\n/usr/sbin daemon daemon /usr/sbin/nologin\n/\n")
	assert.Contains(t, output, "CapPrm: 0000000000000000 CapEff: 0000000000000000 CapAmb: 0000000000000000")

	output, err = ordinary(t, part{Script: `(` + whoami + `) >&2; exit 7`}, line...)
	require.Error(t, err)
	assert.Contains(t, output, "65534\n65534\n65534\n")
	assert.Contains(t, output, "CapEff: 0000000000000000 CapAmb: 0000000000000000", "a program of the worker's own user cannot switch by itself")

	output, err = ordinary(t, part{Script: `id -un >&2; exit 7`, Keys: block{"user": "nobody"}})
	require.Error(t, err)
	assert.Contains(t, output, "nobody", "one's own user needs no permission")
}

// A worker that is not root ends the programs of other users that it has started.
func TestAnOrdinaryWorkerEndsProgramsOfOtherUsers(t *testing.T) {
	t.Parallel()
	asRoot(t)
	for end, stop := range endings() {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nobody)
			s.keys = block{"user": "daemon", "dir": "/"}
			s.capabilities = []uintptr{unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_KILL}
			first, _ := s.worker(1, fmt.Sprintf("setsid %s & wait", s.lone(1000)))
			s.awaitHolder(strings.Contains(end, "shim"))
			stop(t, s, first)
			second, stderr := s.worker(2, s.lone(0))
			require.NoError(t, second.Wait(), stderr.String())
			assert.Empty(t, s.holders())
			assert.NoFileExists(t, filepath.Join(s.dir, "overlaps"))
		})
	}
}
