package cli

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter/explainer"
	"github.com/roundsman/roundsman/testsuite/clitest"
)

// TestHeldUpWhileItRuns: jobs behind a full pool are reported although others run.
func TestHeldUpWhileItRuns(t *testing.T) {
	t.Parallel()
	h := startDAGCluster(t)
	file := h.write(`version: 1
resources: {tape: 1}
job_types:
  copy:
    handler: command
    schedule: {every: 24h, first_run: scheduled}
    resources: {tape: 1}
    policy: {global_execution_concurrency: 6}
    detect: {command: [printf, 'a\nb\nc\n']}
    execute: {command: [sleep, "600"]}
`)
	h.run("apply", "-c", file).OK()
	h.run("start", "copy").OK()
	h.eventually("1 running; 2 wait for RESOURCES_PENDING", "explain", "copy")
	for _, thing := range []string{"copy", clitest.Decode[explainer.Explanation](h.run("explain", "copy", "-o", "json").OK()).Reasons[0].Of} {
		found := clitest.Decode[explainer.Explanation](h.run("explain", thing, "-o", "json").OK())
		assert.Contains(t, []string{"running", "pending"}, found.State)
		assert.Equal(t, []any{contract.CodePoolFull, "tape"}, []any{found.Reasons[0].Code, found.Reasons[0].Object})
		assert.Contains(t, found.Reasons[0].Remedy, "roundsman set pool/tape size=N")
	}
	h.run("explain", "copy").OK().Says("POOL_FULL(tape)", "(and 1 more wait for it)")
	h.run("status").OK().Says("1 running; POOL_FULL(tape) of group/copy-")
	h.run("show", "jobtype/copy", "-o", "json").OK().Says(`"liveness": "activity"`, `"stall_timeout": "12m"`)
	// The program sleeps: it prints nothing, uses no CPU and no I/O.
	h.eventually("no report, output, CPU or I/O for 1m", "show", "copy@")
	h.run("explain", "copy").OK().Says("no report, output, CPU or I/O for 1m")
	h.run("set", "copy", "liveness=process").OK()
}
