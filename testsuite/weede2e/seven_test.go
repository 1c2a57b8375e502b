package weede2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/fakeworker"
	"github.com/roundsman/roundsman/testsuite/sites"
)

var (
	everyRule = regexp.MustCompile(`every: \S+\}`)
	emptyList = regexp.MustCompile(`(masters|filers|s3): \[\]`)
)

// TestAllSevenJobTypes: the output of `jobtypes import` is applied once its addresses are filled in. Each job
// type detects and executes with unchanged parameters, and the operator's requests are in the audit log.
func TestAllSevenJobTypes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	importing := s.Start("jobtypes", "import", "--timeout", "2m")
	testsuite.WaitFor(t, time.Minute, "the import to wait for a worker", func() bool {
		return strings.Contains(importing.Stderr.String(), "waiting up to 2m0s for a worker to connect")
	})
	one := s.weed("weed-1", "-found", "2", "-jobType", strings.Join(fakeworker.JobTypes(), ","))
	require.Zero(t, importing.Code(t, time.Minute))
	imported := importing.Stdout.String()
	s.AwaitFresh("weed-1")
	path := filepath.Join(s.Dir, "weed.yaml")
	require.NoError(t, os.WriteFile(path, []byte(imported), 0o600))
	s.applyFile(path, ui.ExitUsage) // It names the lists of addresses to fill in.

	addresses := map[string]string{"masters": s.master, "filers": "127.0.0.1:8888", "s3": "127.0.0.1:8333"}
	filled := emptyList.ReplaceAllStringFunc(imported, func(list string) string {
		key, _, _ := strings.Cut(list, ":")
		return fmt.Sprintf("%s: [%q]", key, addresses[key])
	})
	filled = everyRule.ReplaceAllString(filled, "every: 365d, first_run: scheduled}") // Due only when the test starts it.
	filled = strings.ReplaceAll(filled, "enabled: false", "enabled: true")
	require.NoError(t, os.WriteFile(path, []byte(filled), 0o600))
	assert.Contains(t, s.Command("start", "jobtype/vacuum", "--dry-run", "--config", path), "2 found, by weed-1")
	s.applyFile(path, 0)
	assert.Contains(t, s.Command("set", "vacuum", "params.worker.garbage_threshold=0.4"), "params.worker.garbage_threshold: 0.3 → 0.4")
	assert.Contains(t, s.output("set", "vacuum", "params.worker.garbage_threshold=7"), "got 7, want 1")
	for _, jobType := range fakeworker.JobTypes() {
		found := 2
		if jobType == "admin_script" || jobType == "s3_lifecycle" {
			found = 1 // Their max_jobs_per_detection.
		}
		proposed, started := len(one.Stdout.With("propose")), len(one.Stdout.With("start"))
		s.Command("start", jobType)
		s.awaitLines(started+found, "start", one)
		s.awaitLines(started+found, "end", one)
		s.checkVerbatim(jobType, one.Stdout.With("propose")[proposed:], one.Stdout.With("start")[started:])
		for _, l := range one.Stdout.With("start")[started:] {
			context := strings.Fields(l.Text)[5]
			assert.Contains(t, context, "filers=127.0.0.1:8888;s3=127.0.0.1:18333", "S3 servers are dialed as they are told")
			if jobType == "admin_script" {
				assert.Contains(t, context, "masters="+s.master+";")
			}
		}
	}
	audit := s.Command("audit")
	for _, jobType := range fakeworker.JobTypes() {
		assert.Regexp(t, `jobtype\.run +group/`+jobType+`-`, audit)
		assert.Regexp(t, `apply\.create +jobtype/`+jobType+` `, audit)
	}
	assert.Regexp(t, `scheduler +refused SURPLUS +group/admin_script`, audit)
}

// checkVerbatim compares the proposed jobs with the executed ones.
func (s *site) checkVerbatim(jobType string, proposed, started []sites.Line) {
	s.T.Helper()
	known := map[string]string{}
	for _, l := range proposed {
		fields := strings.Fields(l.Text)
		known[fields[1]] = fields[2]
	}
	for _, l := range started {
		fields := strings.Fields(l.Text)
		assert.Equal(s.T, known[fields[2]], fields[4], "%s: %s", jobType, l.Text)
		assert.True(s.T, strings.HasPrefix(fields[1], jobType+"-"), l.Text)
	}
}

// TestLanesKeysAndRetries: a lane has one run at a time, with a reason for the others. A key in execution is
// not executed twice, and a failed job is executed again.
func TestLanesKeysAndRetries(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	one := s.weed("weed-1", "-found", "2", "-gate", s.gate(), "-fail", "1")
	s.AwaitFresh("weed-1")
	s.Apply(sites.Scaled + s.masters + `lanes: {seaweed: {exclusive: true}, free: {exclusive: false}}
job_types:
  vacuum: {handler: weed-vacuum, lane: seaweed, schedule: {every: 365d, first_run: scheduled}, policy: {retry_limit: 1, retry_backoff: 1s, global_execution_concurrency: 2, per_worker_execution_concurrency: 2}}
  volume_balance: {handler: weed-volume_balance, lane: seaweed, schedule: {every: 365d, first_run: scheduled}}
`)
	vacuum := s.Begin("vacuum")
	s.awaitLines(2, "start", one)
	balance := s.Begin("volume_balance")
	testsuite.WaitFor(t, time.Minute, "the lane to be named", func() bool {
		return strings.Contains(s.output("explain", balance.WorkflowID), string(contract.CodeLaneBusy))
	})
	s.openGate()
	result := s.Result(vacuum)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
	assert.Equal(t, 2, result.Counts.Completed)
	assert.Len(t, one.Stdout.With("failed"), 1)
	attempts := map[string]int{}
	for _, l := range one.Stdout.With("start vacuum") {
		attempts[strings.Fields(l.Text)[3]]++
	}
	assert.Equal(t, map[string]int{"1": 2, "2": 1}, attempts, "the one that failed was done again")
	assert.Equal(t, 2, s.Result(balance).Counts.Completed)
	assert.True(t, one.Stdout.With("detect volume_balance")[0].At.After(one.Stdout.With("end vacuum")[1].At), "the lane was kept")
}

// TestAKeyThatIsAtWorkIsNotDoneTwice: a detection leaves out the keys of another run. After the end of that run
// the next detection proposes them again.
func TestAKeyThatIsAtWorkIsNotDoneTwice(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	one := s.weed("weed-1", "-found", "2", "-jobTime", "100ms")
	s.AwaitFresh("weed-1")
	s.Apply(sites.Scaled + s.masters + `lanes: {free: {exclusive: false}}
job_types:
  vacuum: {handler: weed-vacuum, lane: free, schedule: {every: 365d, first_run: scheduled}}
`)
	s.Command("submit", "vacuum:vacuum:1:photos", "--as", "waits", "-l", "worker=weed-9")
	testsuite.WaitFor(t, time.Minute, "the job to wait for its worker", func() bool {
		return strings.Contains(s.output("explain", "group/vacuum-adhoc-waits"), string(contract.CodeNoWorker))
	})
	first := s.Result(s.Begin("vacuum"))
	assert.Equal(t, 1, first.Counts.AlreadyActive)
	assert.Equal(t, 1, first.Counts.Completed)
	assert.Len(t, one.Stdout.With("start"), 1)
	s.Command("cancel", "group/vacuum-adhoc-waits", "--reason", "test")
	testsuite.WaitFor(t, time.Minute, "its end", func() bool {
		return !strings.Contains(s.Command("runs", "-s", "open"), "adhoc")
	})
	second := s.Result(s.Begin("vacuum"))
	assert.Zero(t, second.Counts.AlreadyActive)
	assert.Equal(t, 2, second.Counts.Completed)
	assert.Len(t, one.Stdout.With("detect"), 2)
}

// TestWindowsPoolsAndOutput: jobs of weed workers start in their window and take from the pools of their job
// type. Their activities are their output.
func TestWindowsPoolsAndOutput(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	one := s.weed("weed-1", "-found", "6", "-gate", s.gate(), "-maxExecute", "6")
	s.AwaitFresh("weed-1")
	opens := time.Now().UTC().Add(11 * time.Hour)
	s.Apply(sites.Scaled + s.masters + `lanes: {free: {exclusive: false}}
resources: {disks: 4}
job_types:
  vacuum:
    handler: weed-vacuum
    lane: free
    schedule: {every: 365d, first_run: scheduled}
    resources: {disks: 2}
    policy: {global_execution_concurrency: 6, per_worker_execution_concurrency: 6}
  volume_balance:
    handler: weed-volume_balance
    lane: free
    schedule: {every: 365d, first_run: scheduled}
    windows: [{from: "` + opens.Format("15:04") + `", to: "` + opens.Add(time.Hour).Format("15:04") + `"}]
`)
	assert.Contains(t, s.Command("show", "jobtype/vacuum"), "2 of pool disks")
	vacuum, balance := s.Begin("vacuum"), s.Begin("volume_balance")
	testsuite.WaitFor(t, time.Minute, "the pool to be named", func() bool {
		return strings.Contains(s.output("explain", vacuum.WorkflowID), string(contract.CodeResources))
	})
	testsuite.WaitFor(t, time.Minute, "the window to be named", func() bool {
		return strings.Contains(s.output("explain", balance.WorkflowID), string(contract.CodeWindowClosed))
	})
	s.awaitLines(2, "start", one)
	s.openGate()
	assert.Equal(t, 6, s.Result(vacuum).Counts.Completed)
	assert.Equal(t, 2, most(one), "a pool of four, of which each job takes two")
	assert.Equal(t, "assigned: 0 percent of vacuum:1:photos\nhalf: 50 percent of vacuum:1:photos\ncompleted: the job has ended\n", s.Command("logs", vacuum.WorkflowID+"/job-00001"))
	assert.Empty(t, one.Stdout.With("detect volume_balance"))
	s.Command("cancel", balance.WorkflowID, "--reason", "test")
}

// TestADrainedWorkerGetsNothing: its attempts end, and other jobs run elsewhere.
func TestADrainedWorkerGetsNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.apply("global_execution_concurrency: 2, per_worker_execution_concurrency: 1")
	one := s.weed("weed-1", "-found", "6", "-gate", s.gate())
	two := s.weed("weed-2", "-found", "6", "-gate", s.gate())
	s.AwaitFresh("weed-1", "weed-2")
	ref := s.Begin("vacuum")
	s.awaitLines(1, "start", one)
	s.awaitLines(1, "start", two)
	s.Command("pause", "weed-1")
	testsuite.WaitFor(t, time.Minute, "the run to have seen the pause", func() bool {
		run, err := s.Client.Runs().Show(t.Context(), ref)
		return err == nil && run.Group != nil && slices.ContainsFunc(run.Group.Workers, func(w contract.GroupWorker) bool {
			return w.ID == "weed-1" && w.State == string(contract.WorkerCordoned)
		})
	})
	s.openGate()
	assert.Equal(t, 6, s.Result(ref).Counts.Completed)
	assert.Len(t, one.Stdout.With("start"), 1, "it was paused before a job ended")
	assert.Len(t, one.Stdout.With("end"), 1, "what ran there has ended")
	assert.Contains(t, s.output("explain", "weed-1"), string(contract.CodeCordoned))
}

// output returns the output of a command with any exit code.
func (s *site) output(args ...string) string {
	s.T.Helper()
	p := s.Start(args...)
	p.Code(s.T, time.Minute)
	return p.Stdout.String() + p.Stderr.String()
}

// TestAnEmptyRunShowsItsExplanations: the worker's text is in the run and in explain.
func TestAnEmptyRunShowsItsExplanations(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.weed("weed-1")
	s.AwaitFresh("weed-1")
	s.apply("max_jobs_per_detection: 9")
	const said = "decision_summary: No tasks created for 8 volumes"
	ref := s.Begin("vacuum")
	assert.Equal(t, []string{said}, s.Result(ref).Explanations)
	assert.Contains(t, s.Command("show", ref.WorkflowID), said)
	assert.Contains(t, s.output("explain", "vacuum"), said)
}
