package nodee2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
)

// TestAReportWaitsForTheDump: a run waits for a success of another job type. Its lane serves others
// meanwhile, and the control plane is killed while the other job type runs.
func TestAReportWaitsForTheDump(t *testing.T) {
	t.Parallel()
	s := newSite(t, "node-a")
	s.Apply(fmt.Sprintf(`
version: 1
lanes: {night: {}}
job_types:
  dump:
    handler: command
    each_worker: true
    schedule: {cron: "0 0 1 1 *"}
    policy: {retry_limit: 0}
    execute: {dir: %[1]q, command: [sh, -c, 'test -e broken && exit 1; touch began; until test -e go; do sleep 0.1; done; echo dump >> ran']}
  report:
    handler: command
    each_worker: true
    lane: night
    after: {dump: {succeeded_within: 1h}}
    schedule: {cron: "0 0 1 1 *"}
    execute: {dir: %[1]q, command: [sh, -c, 'echo report >> ran']}
  other:
    handler: command
    each_worker: true
    lane: night
    schedule: {cron: "0 0 1 1 *"}
    execute: {dir: %[1]q, command: [sh, -c, 'echo other >> ran']}
`, s.Dir))
	broken := filepath.Join(s.Dir, "broken")
	require.NoError(t, os.WriteFile(broken, nil, 0o600))

	report := s.Begin("report")
	said := s.explained("report", "AFTER_PENDING", "dump has no success of the last 1 h")
	assert.Contains(t, said, "roundsman start dump")
	assert.Contains(t, said, "roundsman start report --ignore-window")
	assert.Contains(t, s.Command("status"), "dump has no success of the last 1 h")
	assert.Equal(t, contract.OutcomeCompleted, s.Result(s.Begin("other")).Outcome, "the lane is free")
	dump := s.Begin("dump")
	s.awaitEnd(dump)
	assert.Equal(t, []string{"other"}, s.lines("ran"), "a failed run wakes nobody")

	require.NoError(t, os.Remove(broken))
	dump = s.Begin("dump")
	testsuite.WaitFor(t, time.Minute, "the dump runs", func() bool {
		_, err := os.Stat(filepath.Join(s.Dir, "began"))
		return err == nil
	})
	s.control.Kill()
	require.NoError(t, os.WriteFile(s.goPath(), nil, 0o600))
	s.control = s.Start("server")
	assert.Equal(t, contract.OutcomeCompleted, s.Result(dump).Outcome)
	assert.Equal(t, contract.OutcomeCompleted, s.Result(report).Outcome)
	assert.Equal(t, []string{"other", "dump", "report"}, s.lines("ran"))
	assert.Equal(t, contract.OutcomeCompleted, s.Result(s.Begin("report")).Outcome, "the success of before counts")
}

// awaitEnd waits for the end of a run, however it ends.
func (s *site) awaitEnd(ref starter.RunRef) (ended starter.Snapshot) {
	s.T.Helper()
	testsuite.WaitFor(s.T, time.Minute, ref.WorkflowID+" has ended", func() bool {
		var err error
		ended, err = s.Client.Runs().Show(s.T.Context(), ref)
		return err == nil && !ended.Open()
	})
	return ended
}

// TestAWaitForAnotherTypeEndsBeforeTheNextTick: the next tick finds no open run, and starts one.
func TestAWaitForAnotherTypeEndsBeforeTheNextTick(t *testing.T) {
	t.Parallel()
	s := newSite(t, "node-a")
	s.Apply(fmt.Sprintf(`
version: 1
job_types:
  never:
    handler: command
    each_worker: true
    schedule: {cron: "0 0 1 1 *"}
    execute: {command: ["false"]}
  often:
    handler: command
    each_worker: true
    after: {never: {succeeded_within: 1h}}
    schedule: {every: 30s, first_run: scheduled}
    execute: {dir: %[1]q, command: [touch, ran]}
  rested:
    handler: command
    each_worker: true
    run_if_not_succeeded_for: 1h
    schedule: {cron: "0 0 1 1 *"}
    execute: {dir: %[1]q, command: [sh, -c, 'echo rested >> rested']}
`, s.Dir))
	assert.Equal(t, contract.OutcomeCompleted, s.Result(s.Begin("rested")).Outcome)
	again := s.Result(s.Begin("rested"))
	assert.Equal(t, contract.OutcomeSkipped, again.Outcome)
	assert.Equal(t, contract.CodeNotDue, again.Code)
	assert.Contains(t, again.Reason, "run_if_not_succeeded_for is 1 h")
	s.Command("start", "rested", "--ignore-window", "--wait")
	assert.Equal(t, []string{"rested", "rested"}, s.lines("rested"))

	testsuite.WaitFor(t, 3*time.Minute, "two ticks are skipped", func() bool {
		return strings.Count(s.Command("runs", "often", "--state", "skipped", "-o", "json"), "AFTER_PENDING") >= 2
	})
	assert.NotContains(t, s.Command("schedule", "often", "--since", "1h", "--until", "now"), "OVERLAP_SKIPPED")
	s.explained("often", "AFTER_PENDING")
	s.Command("pause", "often", "--note", "no tick begins before the start")
	testsuite.WaitFor(t, time.Minute, "no run is open", func() bool {
		return !strings.Contains(s.Command("runs", "often", "--state", "open", "-o", "json"), `"workflow_id"`)
	})
	s.Command("start", "often", "--ignore-window", "--wait")
	assert.FileExists(t, filepath.Join(s.Dir, "ran"))
}

// TestTheForecastNamesConditions: the time of a success of another job type is unknown.
func TestTheForecastNamesConditions(t *testing.T) {
	t.Parallel()
	s := newSite(t, "node-a")
	s.Apply(`
version: 1
job_types:
  dump:
    handler: command
    each_worker: true
    schedule: {every: 5h, first_run: scheduled}
    execute: {command: ["true"]}
  copy:
    handler: command
    each_worker: true
    after: {dump: {succeeded_within: 12h}}
    schedule: {every: 5h, first_run: scheduled}
    execute: {command: ["true"]}
  rested:
    handler: command
    each_worker: true
    run_if_not_succeeded_for: 24h
    schedule: {every: 5h, first_run: scheduled}
    execute: {command: ["true"]}
`)
	said := s.Command("schedule", "--since", "now")
	assert.Contains(t, said, "waits for dump, unless it has succeeded within 12 h")
	assert.Contains(t, said, "runs only if not succeeded for 24 h")
	assert.Equal(t, contract.OutcomeCompleted, s.Result(s.Begin("dump")).Outcome)
	assert.Equal(t, contract.OutcomeCompleted, s.Result(s.Begin("rested")).Outcome)
	assert.Contains(t, s.Command("schedule", "rested", "--since", "now"), "NOT_DUE_UNTIL", "it has succeeded just now")
	var forecast struct {
		Next []struct {
			Begins string `json:"begins_at"`
		} `json:"next"`
	}
	require.NoError(t, json.Unmarshal([]byte(s.Command("schedule", "copy", "--since", "now", "--until", time.Now().Add(6*24*time.Hour).Format(time.RFC3339), "-o", "json")), &forecast))
	assert.NotEmpty(t, forecast.Next[0].Begins, "the dump of just now is young enough")
	assert.Empty(t, forecast.Next[len(forecast.Next)-1].Begins)
}
