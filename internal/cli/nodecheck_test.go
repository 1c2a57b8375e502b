package cli

import (
	"testing"

	"github.com/roundsman/roundsman/internal/cli/ui"
)

const strangeUsers = `version: 1
job_types:
  strange:
    handler: command
    schedule: {every: 365d}
    detect: {command: ["true"]}
    execute: {command: ["true"], user: no-such-user}
  templated:
    handler: command
    schedule: {every: 365d}
    detect: {command: ["true"]}
    execute: {command: ["true"], user: "{{.Params.user}}"}
`

// A worker with a job type that its node cannot run does not start. Another worker reports the fault and
// starts.
func TestAWorkerChecksItsNode(t *testing.T) {
	t.Parallel()
	h := alone(t)
	h.background("server", "--log-level", "error")
	h.run("apply", "-c", h.write(strangeUsers)).OK()
	h.eventually("strange", "jobtypes")
	h.run("worker", "--id", "node-a", "--data-dir", t.TempDir(), "--job-types", "strange").
		Exits(ui.ExitFailed).Complains("job type strange: execute: NO_USER: this node has no user no-such-user")
	h.background("worker", "--id", "node-b", "--data-dir", t.TempDir(), "--log-level", "error", "--drain-timeout", "0s", "--job-types", "templated")
	h.eventually("node-b", "workers", "-s", "online")
}
