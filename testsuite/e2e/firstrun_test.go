package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
	"github.com/roundsman/roundsman/testsuite"
)

// noting is a job type whose jobs write its name to the file ran.
func noting(name, more string) string {
	return fmt.Sprintf("  %s:\n    handler: command\n    detect: {command: [echo, job], format: lines}\n    execute: {command: [sh, -c, \"echo %s >> ran\"]}\n    %s\n", name, name, more)
}

// runsOf counts the runs of a job type by its Schedule.
func (c *cluster) runsOf(name string) int64 {
	c.t.Helper()
	known, err := jobtypes.Of(c.client).Get(c.t.Context(), name)
	require.NoError(c.t, err)
	return known.Counts.Started
}

// TestTheFirstRun: a job type with an interval runs when it is applied. One with a calendar, or a paused one,
// does not. A second apply starts no run, except after a deletion.
func TestTheFirstRun(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "node-1")
	types := noting("interval", "schedule: {every: 300d}") + noting("later", "schedule: {every: 300d, first_run: scheduled}") +
		noting("nightly", "schedule: {cron: '0 0 29 2 *'}") + noting("atonce", "schedule: {cron: '0 0 29 2 *', first_run: now}") +
		noting("disabled", "{schedule: {every: 300d}, enabled: false}")
	types = strings.ReplaceAll(types, "{schedule: {every: 300d}, enabled: false}", "schedule: {every: 300d}\n    enabled: false")
	c.apply(types)
	ran := func() []string { return slices.Sorted(slices.Values(c.lines("ran"))) }
	testsuite.WaitFor(t, time.Minute, "both to run", func() bool { return len(ran()) == 2 })
	c.apply(types) // Unchanged.
	c.apply(strings.ReplaceAll(types, "300d", "301d"))
	c.apply(noting("interval", "schedule: {every: 301d}"))
	for name, runs := range map[string]int64{"interval": 1} {
		assert.Equal(t, runs, c.runsOf(name), name)
	}
	c.apply(types) // The others are created again.
	testsuite.WaitFor(t, time.Minute, "the one that is new to run", func() bool { return len(ran()) == 3 })
	assert.Equal(t, []string{"atonce", "atonce", "interval"}, ran())
	for name, runs := range map[string]int64{"interval": 1, "atonce": 1, "later": 0, "nightly": 0, "disabled": 0} {
		assert.Equal(t, runs, c.runsOf(name), name)
	}
}

// TestAHundredNewJobTypes: each runs once, at most as many at a time as a worker has slots.
func TestAHundredNewJobTypes(t *testing.T) {
	t.Parallel()
	n := testsuite.Sized(t, 30, 100)
	c := newCluster(t, "node-1")
	var types strings.Builder
	for i := range n {
		fmt.Fprintf(&types, `  type-%03d:
    handler: command
    schedule: {every: 300d}
    detect: {command: [echo, job], format: lines}
    execute: {command: [sh, -c, "mkdir at-$$; ls -d at-* | wc -l >> counts; sleep 0.1; rmdir at-$$"]}
`, i)
	}
	c.apply(types.String())
	testsuite.WaitFor(t, 3*time.Minute, "all to have run", func() bool {
		left, _ := filepath.Glob(filepath.Join(c.dir, "at-*"))
		return len(c.lines("counts")) == n && len(left) == 0
	})
	for _, atOnce := range c.lines("counts") {
		assert.Contains(t, []string{"1", "2", "3", "4"}, atOnce, "a worker has four slots")
	}
	runs, err := c.client.Runs().List(t.Context(), starter.RunFilter{Limit: 1000})
	require.NoError(t, err)
	assert.LessOrEqual(t, len(runs), n)
}
