package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/starter"
)

const minimalConfig = `version: 1
job_types:
  echo:
    handler: command
    schedule: {every: 24h}
    detect: {command: [echo, one], format: lines}
    execute: {command: ["true"]}
`

// configOf is a configuration of n job types with a prefix of their own.
func configOf(prefix string, n int, extra string) string {
	var text strings.Builder
	text.WriteString("version: 1\njob_types:\n")
	for i := range n {
		fmt.Fprintf(&text, "  %s-%d:\n    handler: command\n    schedule: {every: 24h}\n    detect: {command: [echo, one], format: lines}\n    execute: {command: [\"true\"]}\n%s", prefix, i, extra)
	}
	return text.String()
}

func TestValidate(t *testing.T) {
	t.Parallel()
	h := offline(t)
	h.run("validate", "--config", h.write(minimalConfig)).ok().says("valid: 1 job type")
	h.run("validate", "--config", h.write(minimalConfig), "--print").ok().says("echo:", "max_runtime: 30m")
	h.run("validate", "--schema").ok().says(`"$schema"`)

	broken := h.write("version: 1\njob_types:\n  echo:\n    handler: comand\n    schedule: {every: 24h}\n    polcy: {}\n")
	o := h.run("validate", "--config", broken).exits(ExitUsage).complains(broken+":4:", broken+":6:", "command", "policy")
	assert.Empty(t, o.stdout)

	verdict := decode[struct {
		Valid  bool `json:"valid"`
		Faults []struct {
			Line int `json:"line"`
		} `json:"faults"`
	}](h.run("validate", "--config", broken, "--output", "json").exits(ExitUsage))
	assert.False(t, verdict.Valid)
	require.GreaterOrEqual(t, len(verdict.Faults), 2)
	assert.Equal(t, 4, verdict.Faults[0].Line)
}

func TestPlanApplyPlan(t *testing.T) {
	t.Parallel()
	h := alone(t)
	config := h.write(configOf("pap", 2, ""))
	h.run("plan", "-c", config).exits(ExitUsage).says("create pap-0", "create pap-1")
	h.run("apply", "-c", config).ok().says("create pap-0", "2 changes applied, 0 unchanged")
	h.run("plan", "-c", config).ok().says("no changes")
	h.run("apply", "-c", config).ok().says("0 changes applied, 2 unchanged")

	changed := h.write(configOf("pap", 2, "    policy: {retry_limit: 2}\n"))
	plan := decode[starter.Plan](h.run("plan", "-c", changed, "-o", "json").exits(ExitUsage))
	require.Len(t, plan.Changes, 2)
	assert.Equal(t, starter.ActionUpdate, plan.Changes[0].Action)

	h.run("jobtypes", "show", "pap-0").ok().says("pap-0", "command", "echo")
	h.run("jobtypes", "pause", "pap-0", "--note", "new disks").ok().says("pap-0 is paused")
	h.run("jobtypes", "show", "pap-0").ok().says("paused: new disks")
	known := decode[starter.JobType](h.run("jobtypes", "show", "pap-0", "--output=json").ok())
	assert.True(t, known.Paused)
	assert.Equal(t, "new disks", known.PauseNote)
	h.run("apply", "-c", changed).ok()
	h.run("jobtypes", "show", "pap-0").ok().says("paused: new disks")
	h.run("jobtypes", "resume", "pap-0").ok().says("pap-0 is resumed; next run in")
	h.run("jobtypes", "show", "no-such").exits(ExitFailed).complains("job type no-such does not exist", "jobtypes list")
}

func TestFaultyConfigurationAppliesNothing(t *testing.T) {
	t.Parallel()
	h := alone(t)
	broken := h.write(configOf("faulty", 1, "    policy: {retry_limit: -1}\n"))
	h.run("apply", "-c", broken).exits(ExitUsage).complains("retry_limit")
	h.run("jobtypes", "show", "faulty-0").exits(ExitFailed).complains("does not exist")
}
