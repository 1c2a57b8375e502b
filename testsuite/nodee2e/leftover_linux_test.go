package nodee2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/sites"
)

// loneScript must never run twice at once: it takes a lock. Its first run stays, its second
// one leaves the file second. $1 is its directory.
const loneScript = `cd "$1"; exec 9>>lock
flock -n 9 || { echo "two at once" >> overlaps; exit 9; }
[ -e first ] && { : > second; exit 0; }
: > first; exec sleep 1000
`

// elsewhere are programs that leave the process group of their job: %[1]s is the script,
// %[2]s its directory.
func elsewhere() map[string]string {
	programs := map[string]string{
		"setsid":   "setsid sh %[1]s %[2]s & wait",
		"a daemon": "(env -i setsid sh %[1]s %[2]s > /dev/null 2>&1 < /dev/null &); while [ ! -e %[2]s/second ]; do sleep 0.1; done",
	}
	if os.Getuid() == 0 {
		programs["runuser -l"] = `runuser -l root -s /bin/sh -c "sh %[1]s %[2]s"`
		programs["su -"] = `su - root -s /bin/sh -c "sh %[1]s %[2]s"`
	}
	return programs
}

// TestNoRetryBesideALeftProgram: a worker is killed, or a job is over its time, while its
// program runs in a session of its own. The retry finds itself alone.
func TestNoRetryBesideALeftProgram(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	script, config := filepath.Join(s.Dir, "lone.sh"), sites.Scaled+"lanes: {free: {exclusive: false}}\njob_types:\n"
	require.NoError(t, os.WriteFile(script, []byte(loneScript), 0o700))
	dirs := map[string]string{}
	for end, policy := range map[string]string{
		"killed": "{heartbeat_timeout: 3s}", "late": "{execution_timeout: 10s, retry_limit: 1, retry_backoff: 1s}",
	} {
		for _, program := range elsewhere() {
			name := fmt.Sprintf("%s-%d", end, len(dirs))
			dirs[name] = filepath.Join(s.Dir, name)
			require.NoError(t, os.Mkdir(dirs[name], 0o700))
			config += fmt.Sprintf("  %s:\n    handler: command\n    lane: free\n    schedule: {every: 365d, first_run: scheduled}\n    policy: %s\n"+
				"    detect: {command: [echo, one]}\n    execute: {command: [sh, -c, %q], kill_grace: 1s}\n",
				name, policy, fmt.Sprintf(program, script, dirs[name]))
		}
	}
	s.Apply(config)
	victim := s.worker("node-a", "--max-execute", "20")
	s.AwaitFresh("node-a")
	results := map[string]func() contract.JobGroupResult{}
	for name, dir := range dirs {
		ref := s.Begin(name)
		results[name] = func() contract.JobGroupResult { return s.Result(ref) }
		testsuite.WaitFor(t, time.Minute, name+" runs", func() bool {
			_, err := os.Stat(filepath.Join(dir, "first"))
			return err == nil
		})
	}
	check := func(prefix string) {
		for name, result := range results {
			if !strings.HasPrefix(name, prefix) {
				continue
			}
			ended := result()
			assert.Equal(t, contract.OutcomeCompleted, ended.Outcome, "%s: %+v", name, ended.Errors)
			assert.Equal(t, 1, ended.Counts.Retries+ended.Counts.Replacements, name)
			assert.NoFileExists(t, filepath.Join(dirs[name], "overlaps"), name)
		}
	}
	check("late")
	victim.Kill()
	s.worker("node-a", "--max-execute", "20")
	check("killed")
}
