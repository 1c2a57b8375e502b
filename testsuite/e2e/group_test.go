package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
)

const wide = "global_execution_concurrency: 8, per_worker_execution_concurrency: 4"

// TestGroups shares one cluster among cases that do not disturb each other.
func TestGroups(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "node-a", "node-b")
	c.apply(script("flaky", wide+", retry_limit: 2, retry_backoff: 1s", `echo one`, `echo x >> flaky.log; test $(wc -l < flaky.log) -ge 3`) +
		script("hang", wide+", heartbeat_timeout: 10s, liveness: progress", `echo one`, `echo x >> hang.log; test $(wc -l < hang.log) -ge 2 || exec sleep 300`) +
		script("slow", wide+", execution_timeout: 2s", `echo one`, `exec sleep 300`) +
		script("late", "global_execution_concurrency: 8, per_worker_execution_concurrency: 1, max_runtime: 20s, on_deadline: cancel", `seq 1 6`, `echo x >> late.log; exec sleep 300`) +
		script("drained", wide+", max_runtime: 15s, on_deadline: drain, drain_grace: 5m", `seq 1 3`, `sleep 20; echo $1 >> drained.log`) +
		script("canceled", wide, `seq 1 3`, `test $1 != 2 || exec sleep 300`) +
		script("stopped", wide, `seq 1 20`, `exec sleep 300`) +
		script("hostile", wide, `echo 'a; touch pwned'; echo '$(touch pwned)'; echo '{{.Params}}'`, `printf '%s\n' "$1" >> hostile.log`) +
		"  missing:\n    handler: command\n    schedule: {every: 365d, first_run: scheduled}\n    detect: {command: [echo, x], format: lines}\n    execute: {command: [/no/such/program]}\n" +
		script("template", wide, `echo x`, `echo {{.Params.nope}}`) +
		script("blind", wide, `exit 7`, `true`))

	cases := map[string]func(t *testing.T, run func() starter.RunRef){
		"flaky": func(t *testing.T, run func() starter.RunRef) {
			result := c.result(run(), time.Minute)
			assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
			assert.Equal(t, 2, result.Counts.Retries)
			assert.Len(t, c.lines("flaky.log"), 3)
		},
		"hang": func(t *testing.T, run func() starter.RunRef) {
			result := c.result(run(), time.Minute)
			assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
			assert.Equal(t, 1, result.Counts.Replacements)
			assert.Zero(t, result.Counts.Retries)
			assert.Len(t, c.lines("hang.log"), 2)
		},
		"slow": func(t *testing.T, run func() starter.RunRef) {
			result := c.result(run(), time.Minute)
			assert.Equal(t, contract.OutcomeFailed, result.Outcome)
			require.Len(t, result.Errors, 1)
			assert.Contains(t, result.Errors[0].Message, "2s")
		},
		"late": func(t *testing.T, run func() starter.RunRef) {
			result := c.result(run(), time.Minute)
			assert.Equal(t, contract.OutcomeTimeout, result.Outcome)
			assert.Equal(t, 2, result.Counts.Canceled)
			assert.Equal(t, 4, result.Counts.NotStarted)
			assert.Len(t, c.lines("late.log"), 2)
		},
		"drained": func(t *testing.T, run func() starter.RunRef) {
			result := c.result(run(), time.Minute)
			assert.Equal(t, 3, result.Counts.Completed, "%+v", result)
			assert.Equal(t, contract.OutcomeCompleted, result.Outcome, "everything was done, if late")
			assert.Len(t, c.lines("drained.log"), 3)
		},
		"canceled": func(t *testing.T, run func() starter.RunRef) {
			ref := run()
			testsuite.WaitFor(t, time.Minute, "the other two completed", func() bool {
				done, _, err := c.client.Runs().Items(t.Context(), ref, starter.ItemFilter{States: []string{"completed"}})
				return err == nil && len(done) == 2
			})
			require.NoError(t, testsuite.CancelItem(t.Context(), c.client.Temporal(), ref.WorkflowID, contract.CancelItemInput{Key: "2", Reason: "by hand"}))
			result := c.result(ref, time.Minute)
			assert.Equal(t, contract.OutcomePartial, result.Outcome)
			assert.Equal(t, 1, result.Counts.Canceled)
		},
		"hostile": func(t *testing.T, run func() starter.RunRef) {
			result := c.result(run(), time.Minute)
			assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
			assert.Empty(t, c.lines("pwned"))
			assert.NoFileExists(t, c.dir+"/pwned")
		},
		"missing": func(t *testing.T, run func() starter.RunRef) {
			result := c.result(run(), time.Minute)
			require.Len(t, result.Errors, 1)
			assert.Contains(t, result.Errors[0].Message, "/no/such/program")
		},
		"template": func(t *testing.T, run func() starter.RunRef) {
			result := c.result(run(), time.Minute)
			require.Len(t, result.Errors, 1)
			assert.Contains(t, result.Errors[0].Message, "nope")
		},
		"blind": func(t *testing.T, run func() starter.RunRef) {
			result := c.result(run(), time.Minute)
			assert.Equal(t, contract.OutcomeFailed, result.Outcome)
			assert.Contains(t, result.Reason, "7")
		},
	}
	t.Run("cases", func(t *testing.T) {
		for name, play := range cases {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				play(t, func() starter.RunRef { return c.run(name) })
			})
		}
	})
	assert.NotEmpty(t, c.lines("hostile.log"))
	// Its jobs fill both workers. Other jobs would wait for a slot too long.
	t.Run("stopped", func(t *testing.T) {
		ref := c.run("stopped")
		testsuite.WaitFor(t, time.Minute, "jobs run", func() bool {
			running, _, err := c.client.Runs().Items(t.Context(), ref, starter.ItemFilter{States: []string{"running"}})
			return err == nil && len(running) == 8
		})
		require.NoError(t, c.client.Temporal().CancelWorkflow(t.Context(), ref.WorkflowID, ref.RunID))
		result := c.result(ref, time.Minute)
		assert.Equal(t, contract.OutcomeCanceled, result.Outcome)
		assert.Equal(t, 20, result.Counts.Canceled)
	})
}
