package command_test

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/jobtype"
)

// openMany opens files until it may not, and prints their number.
const openMany = `exec 2>/dev/null; n=3; while [ $n -lt 10000 ] && (true) && eval "exec {fd}</dev/null"; do n=$fd; done; echo "last $n"`

func TestLimitsBoundRealPrograms(t *testing.T) {
	t.Parallel()
	asRoot(t)
	for name, c := range map[string]struct {
		script string
		keys   block
		want   string
		failed string
	}{
		"files":                             {openMany, block{"limits": block{"open_files": 64}}, "last 63", ""},
		"memory":                            {"head -c 300000000 /dev/zero | tail -n 1 | wc -c", block{"limits": block{"memory": "100MiB"}}, "", "exhausted"},
		"enough memory":                     {"head -c 30000000 /dev/zero | tail -n 1 | wc -c", block{"limits": block{"memory": "100MiB"}}, "30000000", ""},
		"cpu time":                          {"while :; do :; done", block{"limits": block{"cpu": "1s"}}, "", "CPU time limit exceeded"},
		"a cpu hog that ignores the signal": {"trap '' XCPU; while :; do :; done", block{"limits": block{"cpu": "1s"}}, "", "killed"},
		"detached":                          {"setsid bash -c 'ulimit -n; ulimit -t' & wait", block{"limits": block{"open_files": 77, "cpu": "9m"}}, "77\n540", ""},
		"no core":                           {"ulimit -c; ulimit -n; ulimit -v", block{"limits": block{"core": "0", "open_files": 5000}}, "0\n5000\nunlimited", ""},
		"forks":                             {"for i in 1 2 3 4 5 6 7 8 9 10; do sleep 20 & done; echo all", block{"user": "games", "limits": block{"pids": 5}}, "", "fork"},
		"few forks":                         {"for i in 1 2 3; do sleep 0 & done; wait; echo all", block{"user": "lp", "limits": block{"pids": 8}}, "all", ""},
	} {
		got := execute(t, script(c.script).with(c.keys), jobtype.Job{})
		if c.failed != "" {
			require.ErrorContains(t, got.Err, c.failed, name)
			continue
		}
		require.NoError(t, got.Err, name)
		assert.Equal(t, c.want+"\n", got.Result.Output, name)
	}
}

func TestALimitThatCannotBeSetIsAnError(t *testing.T) {
	t.Parallel()
	asRoot(t)
	got := execute(t, shell("echo ran").with(block{"limits": block{"pids": 5}}), jobtype.Job{})
	require.ErrorContains(t, got.Err, "NOT_ALLOWED: limits.pids: without a cgroup Linux limits no processes of root: set user")
	assert.True(t, jobtype.IsPermanent(got.Err))
	assert.Empty(t, got.Result.Output)
	got = execute(t, shell("echo ran").with(block{"limits": block{"cpu": "0.5"}}), jobtype.Job{})
	require.ErrorContains(t, got.Err, "NOT_ALLOWED: limits.cpu: a number of CPUs needs a cgroup v2 with the controller cpu")
	keys := block{"limits": block{"open_files": 4000000}}
	output, err := ordinary(t, part{Script: "echo ran >&2", Keys: keys})
	require.Error(t, err)
	assert.Contains(t, output, "NOT_ALLOWED: limits.open_files: 4000000 is above the worker's own limit")
	assert.NotContains(t, output, "ran")
	output, err = ordinary(t, part{Check: true, Keys: keys})
	require.Error(t, err)
	assert.Contains(t, output, "execute: NOT_ALLOWED: limits.open_files: 4000000 is above the worker's own limit")
	require.NoError(t, newHandler(0).CheckNode(t.Context(), nil, raw(t, shell("true").with(block{"user": "{{.Params.u}}", "limits": block{"pids": 5}}))))
}

// A fork bomb of an ordinary user's worker stays below its limit, and leaves no process.
func TestAForkBombOfAnOrdinaryWorkerIsBounded(t *testing.T) {
	t.Parallel()
	asRoot(t)
	const uid = 61234 // It has no other process, which would count.
	// At its limit the shell cannot fork, so it becomes the process that waits.
	bomb := `b() { sleep 100 & b; }; b 2>/dev/null & exec sleep 1`
	ended, counted := make(chan struct{}), make(chan int)
	go func() {
		most := 0
		for {
			select {
			case <-ended:
				counted <- most
				return
			default:
				list, _ := exec.Command("ps", "-o", "pid=", "-u", strconv.Itoa(uid)).Output()
				most = max(most, len(strings.Fields(string(list))))
			}
		}
	}()
	_, err := ordinaryAs(t, uid, part{Script: bomb, Keys: block{"limits": block{"pids": 40}}})
	close(ended)
	most := <-counted
	require.NoError(t, err)
	assert.Greater(t, most, 10)
	assert.LessOrEqual(t, most, 40)
	left, _ := exec.Command("ps", "-o", "pid=,args=", "-u", strconv.Itoa(uid)).Output()
	assert.Empty(t, string(left))
}
