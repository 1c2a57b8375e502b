package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter/calendar"
	"github.com/roundsman/roundsman/testsuite"
)

func (c *cluster) ledger(name string) []calendar.LedgerTick {
	c.t.Helper()
	found, err := calendar.LedgerOf(c.t.Context(), c.client, time.Now(), time.Now().Add(-time.Hour), name)
	require.NoError(c.t, err)
	slices.Reverse(found.Ticks) // The oldest first.
	return found.Ticks
}

func count(ticks []calendar.LedgerTick, state contract.TickState) (n int) {
	for _, tick := range ticks {
		if tick.State == state {
			n++
		}
	}
	return n
}

// held is a job type whose jobs run while a file exists.
func held(name, file, more string) string {
	return "  " + name + ":\n    handler: command\n    detect: {command: [echo, job], format: lines}\n    execute: {command: [sh, -c, \"while test -e " + file + "; do sleep 0.1; done\"]}\n" + more
}

// TestABusyLaneKeepsOneRunWaiting: a job type whose lane is busy for several intervals has one run that waits
// and then runs.
func TestABusyLaneKeepsOneRunWaiting(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "node-1")
	hold := filepath.Join(c.dir, "hold")
	require.NoError(t, os.WriteFile(hold, nil, 0o600))
	holder := held("holder", "hold", "    lane: default\n    schedule: {every: 300d}\n")
	c.apply(holder)
	testsuite.WaitFor(t, time.Minute, "the holder to have the lane", func() bool {
		view, err := c.client.Admission().View(t.Context(), contract.AdmissionFilter{})
		return err == nil && len(view.Lanes) == 1 && view.Lanes[0].Holder != nil
	})
	c.apply(holder + held("often", "none", "    lane: default\n    schedule: {every: 2s, first_run: scheduled}\n"))
	testsuite.WaitFor(t, time.Minute, "five ticks", func() bool { return len(c.ledger("often")) >= 5 })
	ticks := c.ledger("often")
	assert.Equal(t, contract.TickOpen, ticks[0].State, "it waits since its first tick")
	for _, tick := range ticks[1:] {
		assert.Equal(t, contract.CodeOverlap, tick.Code, "%+v", tick)
		assert.Equal(t, ticks[0].Run, tick.Run)
	}
	require.NoError(t, os.Remove(hold))
	testsuite.WaitFor(t, time.Minute, "the run that waited to run", func() bool { return c.ledger("often")[0].State == contract.TickRan })
	assert.Equal(t, contract.OutcomeCompleted, c.ledger("often")[0].Outcome)
}

// says runs a command of an operator and returns its output and exit code.
func (c *cluster) says(line ...string) (string, int) {
	c.t.Helper()
	command := exec.CommandContext(c.t.Context(), binary(c.t), append(line, "--address", c.server.Address())...)
	command.Env = append(os.Environ(), "NO_COLOR=1")
	said, err := command.CombinedOutput()
	if exit, failed := errors.AsType[*exec.ExitError](err); failed {
		return string(said), exit.ExitCode()
	}
	require.NoError(c.t, err)
	return string(said), 0
}

// TestHandStartedRunsAreSeen: `start` prints the cause of a run's wait or skip. `status` lists skipped
// runs and predicts the runs that wait behind a submitted one.
func TestHandStartedRunsAreSeen(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "node-1")
	hold := filepath.Join(c.dir, "hold")
	require.NoError(t, os.WriteFile(hold, nil, 0o600))
	closed := time.Now().UTC().Add(3 * time.Hour)
	c.apply(held("holder", "hold", "    lane: default\n    schedule: {every: 300d, first_run: scheduled}\n") +
		held("other", "none", "    lane: default\n    schedule: {every: 50m, spread: none, first_run: scheduled}\n") +
		held("nightly", "none", "    schedule: {every: 1h, first_run: scheduled}\n    windows: [{from: '"+closed.Format("15:04")+"', to: '"+closed.Add(time.Hour).Format("15:04")+"'}]\n"))
	said, code := c.says("submit", "holder:x", "--as", "by-hand")
	require.Zero(t, code, said)
	testsuite.WaitFor(t, time.Minute, "the submitted run to have the lane", func() bool {
		view, err := c.client.Admission().View(t.Context(), contract.AdmissionFilter{})
		return err == nil && len(view.Lanes) == 1 && view.Lanes[0].Holder != nil
	})
	said, code = c.says("start", "other")
	assert.Zero(t, code)
	assert.Contains(t, said, "which waits for lane default behind group/holder-adhoc-by-hand")
	said, code = c.says("start", "nightly")
	assert.Equal(t, 1, code, said)
	assert.Contains(t, said, "skipped: WINDOW_CLOSED")
	testsuite.WaitFor(t, time.Minute, "the skipped run in status", func() bool {
		said, _ = c.says("status")
		return strings.Contains(said, "SKIPPED SINCE YESTERDAY") && strings.Contains(said, "WINDOW_CLOSED")
	})
	t.Log(said)
	require.NoError(t, os.Remove(hold))
}

// TestABufferedRunWaits: the ledger shows the instant as waiting, and the run starts when the open one has
// ended.
func TestABufferedRunWaits(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "node-1")
	hold := filepath.Join(c.dir, "hold")
	require.NoError(t, os.WriteFile(hold, nil, 0o600))
	c.apply(held("often", "hold", "    schedule: {every: 3s}\n    policy: {overlap: buffer_one}\n"))
	var waiting calendar.LedgerTick
	testsuite.WaitFor(t, time.Minute, "an instant that is kept back and one that is dropped", func() bool {
		ticks := c.ledger("often")
		at := slices.IndexFunc(ticks, func(tick calendar.LedgerTick) bool { return tick.State == contract.TickWaiting })
		if at < 0 || count(ticks, contract.TickSkipped) == 0 {
			return false
		}
		waiting = ticks[at]
		return assert.Equal(t, 1, count(ticks, contract.TickWaiting), "%+v", ticks)
	})
	assert.NotEmpty(t, waiting.Run, "the run that it waits for")
	require.NoError(t, os.Remove(hold))
	testsuite.WaitFor(t, time.Minute, "its run", func() bool {
		return slices.ContainsFunc(c.ledger("often"), func(tick calendar.LedgerTick) bool {
			return tick.At.Equal(waiting.At) && tick.State == contract.TickRan
		})
	})
}

// TestTheForecastCountsBufferedRuns: the next run begins after the open run and the buffered one.
func TestTheForecastCountsBufferedRuns(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "node-1")
	c.apply(`  long:
    handler: command
    schedule: {every: 4s}
    policy: {overlap: buffer_one}
    detect: {command: [echo, job], format: lines}
    execute: {command: [sleep, "9"]}
`)
	// The open run and the buffered one are read one after the other, so both must be unchanged afterwards.
	var begins, earliest time.Time
	now := func() (open, waiting calendar.LedgerTick) {
		for _, tick := range c.ledger("long") {
			switch tick.State {
			case contract.TickOpen:
				open = tick
			case contract.TickWaiting:
				waiting = tick
			}
		}
		return open, waiting
	}
	testsuite.WaitFor(t, 2*time.Minute, "a run that is open and one that is kept back", func() bool {
		open, waiting := now()
		told, err := calendar.ForecastOf(t.Context(), c.client, time.Now(), time.Minute, "long")
		require.NoError(t, err)
		again, still := now()
		at := slices.IndexFunc(told.Ticks, func(tick calendar.ForecastTick) bool { return tick.State == contract.TickRuns })
		if open.Run == "" || waiting.Run == "" || again != open || still != waiting || told.Types[0].Of == 0 || at < 0 {
			return false
		}
		begins, earliest = told.Ticks[at].Begins, open.Started.Add(2*told.Types[0].Typical.Std())
		return true
	})
	assert.False(t, begins.Before(earliest.Add(-time.Second)), "it begins at %s, not before %s", begins, earliest)
}
