package command

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// started starts a program that prints a process id, and returns both.
func started(t *testing.T, script string) (pid, printed int) {
	t.Helper()
	program := exec.Command("sh", "-c", script)
	out, err := program.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, program.Start())
	t.Cleanup(func() {
		_ = program.Process.Kill()
		_ = program.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	printed, err = strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	t.Cleanup(func() {
		if child, err := os.FindProcess(printed); err == nil {
			_ = child.Kill()
		}
	})
	return program.Process.Pid, printed
}

// TestALookReadsOnlyItsPrograms: a node has thousands of other processes, and a look is due four times a second.
func TestALookReadsOnlyItsPrograms(t *testing.T) {
	t.Parallel()
	started(t, "echo $$; exec sleep 1000") // a stranger
	shim, child := started(t, "setsid sleep 1000 > /dev/null & echo $!; wait")
	ledger := newLedger()
	n := ledger.enter("sh", time.Second, owner{})
	table, enough := n.nearby()
	assert.True(t, enough, "nothing has started yet")
	assert.Empty(t, table)

	n.shimmed(shim, "")
	table, enough = n.nearby()
	require.True(t, enough)
	var pids []int
	for _, p := range table {
		pids = append(pids, p.PID)
	}
	assert.ElementsMatch(t, []int{shim, child}, pids)
	require.NoError(t, ledger.look())
	require.Len(t, n.Seen, 1)
	assert.Equal(t, child, n.Seen[0].PID)

	// A noted process stays noted without its shim.
	n.PID, n.Start = 1<<30, 0
	require.NoError(t, ledger.look())
	require.Len(t, n.Seen, 1)
	assert.Equal(t, child, n.Seen[0].PID)

	n.abandon()
	_, enough = n.nearby()
	assert.False(t, enough, "its processes may be known by their mark only")
}

func TestLooksTakeAShareOfACore(t *testing.T) {
	t.Parallel()
	assert.Equal(t, recordPause, pauseAfter(time.Millisecond))
	assert.Equal(t, 2*time.Second, pauseAfter(100*time.Millisecond))
	assert.Equal(t, maxRecordPause, pauseAfter(time.Minute))
}
