package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter/jobtypes"
	"github.com/roundsman/roundsman/testsuite/clitest"
)

const minimalConfig = `version: 1
job_types:
  echo:
    handler: command
    schedule: {every: 365d, first_run: scheduled}
    detect: {command: [echo, one], format: lines}
    execute: {command: ["true"]}
`

// configOf is a configuration of n job types with a prefix of their own.
func configOf(prefix string, n int, extra string) string {
	var text strings.Builder
	text.WriteString("version: 1\njob_types:\n")
	for i := range n {
		fmt.Fprintf(&text, "  %s-%d:\n    handler: command\n    schedule: {every: 365d, first_run: scheduled}\n    detect: {command: [echo, one], format: lines}\n    execute: {command: [\"true\"]}\n%s", prefix, i, extra)
	}
	return text.String()
}

func TestValidate(t *testing.T) {
	t.Parallel()
	h := offline(t)
	h.run("validate", "--config", h.write(minimalConfig)).OK().Says("valid: 1 job type")
	h.run("validate", "--config", h.write(minimalConfig), "--print").OK().Says("echo:", "max_runtime: 30m")
	h.run("validate", "--schema").OK().Says(`"$schema"`)
	dag := example(t, "nine.yaml")
	h.run("validate", dag, "--online").OK().Says("nine") // A DAG has no such flag.
	h.run("validate", dag, h.write(minimalConfig), "--print").Exits(ui.ExitUsage).Says("max_runtime: 30m").Complains("--print has no effect on " + dag)

	broken := h.write("version: 1\njob_types:\n  echo:\n    handler: comand\n    schedule: {every: 365d, first_run: scheduled}\n    polcy: {}\n")
	o := h.run("validate", "--config", broken).Exits(ui.ExitUsage).Complains(broken+":4:", broken+":6:", "command", "policy")
	assert.Empty(t, o.Stdout)
	for line := range strings.Lines(o.Stderr) {
		assert.True(t, strings.HasPrefix(line, broken+":"), line)
	}

	verdict := clitest.Decode[struct {
		Valid  bool `json:"valid"`
		Faults []struct {
			Line int `json:"line"`
		} `json:"faults"`
	}](h.run("validate", "--config", broken, "--output", "json").Exits(ui.ExitUsage))
	assert.False(t, verdict.Valid)
	require.GreaterOrEqual(t, len(verdict.Faults), 2)
	assert.Equal(t, 4, verdict.Faults[0].Line)

	for _, command := range []string{"validate", "plan", "apply", "dev"} {
		h.run(command, "--help").OK().Says("--allow-unregistered")
	}
	remote := h.write(strings.Replace(minimalConfig, "handler: command", "handler: remote", 1))
	h.run("validate", remote).Exits(ui.ExitUsage).Complains("--allow-unregistered")
	h.run("validate", remote, "--allow-unregistered").OK().Complains("remote")
}

func TestPlanApplyPlan(t *testing.T) {
	t.Parallel()
	h := alone(t)
	config := h.write(configOf("pap", 2, ""))
	h.run("plan", "-c", config).Exits(ui.ExitDifference).Says("create pap-0", "create pap-1")
	h.run("apply", "-c", config).OK().Says("create pap-0", "2 changes applied, 0 unchanged")
	h.run("plan", "-c", config).OK().Says("no changes")
	h.run("apply", "-c", config).OK().Says("0 changes applied, 2 unchanged")

	changed := h.write(configOf("pap", 2, "    policy: {retry_limit: 2}\n"))
	plan := clitest.Decode[jobtypes.Plan](h.run("plan", "-c", changed, "-o", "json").Exits(ui.ExitDifference))
	require.Len(t, plan.Changes, 2)
	assert.Equal(t, jobtypes.ActionUpdate, plan.Changes[0].Action)

	// Without a control plane the answer is incomplete, so the command fails.
	h.run("show", "jobtype/pap-0").Exits(ui.ExitFailed).Says("pap-0", "command", "echo")
	h.run("pause", "pap-0", "--note", "new disks").OK().Says("pap-0 is paused")
	h.run("show", "jobtype/pap-0").Exits(ui.ExitFailed).Says("paused: new disks")
	known := clitest.Decode[jobtypes.JobType](h.run("show", "jobtype/pap-0", "--output=json").Exits(ui.ExitFailed))
	assert.True(t, known.Paused)
	assert.Equal(t, "new disks", known.PauseNote)
	h.run("apply", "-c", changed).OK()
	h.run("show", "jobtype/pap-0").Exits(ui.ExitFailed).Says("paused: new disks")
	h.run("resume", "pap-0", "--kind", "pause").OK().Says("pap-0 is resumed; next run in")
	h.run("show", "jobtype/no-such").Exits(ui.ExitFailed).Complains("job type no-such does not exist", "roundsman jobtypes")
}

func TestFaultyConfigurationAppliesNothing(t *testing.T) {
	t.Parallel()
	h := alone(t)
	broken := h.write(configOf("faulty", 1, "    policy: {retry_limit: -1}\n"))
	h.run("apply", "-c", broken).Exits(ui.ExitUsage).Complains("retry_limit")
	h.run("show", "jobtype/faulty-0").Exits(ui.ExitFailed).Complains("does not exist")
}

// TestAFaultElsewhereKeepsNobodyFromTheServer: commands that only use a server read temporal: and warn of other
// faults. If the address is unreadable, they fail unless the command line has one, so that no request goes to
// the wrong server.
func TestAFaultElsewhereKeepsNobodyFromTheServer(t *testing.T) {
	t.Parallel()
	h := alone(t)
	address, _ := strings.CutPrefix(h.env.Environ[0], "TEMPORAL_ADDRESS=")
	h.env.Environ = h.env.Environ[1:]
	temporal := "temporal: {address: '" + address + "'}\n"
	const warned = "of the configuration only temporal: is used here"
	for _, faulty := range []string{"version: 1\nfleet: {nonsense: 1}\n", "version: 1\nnotify: [1]\n", "version: 7\n", "version: 1\nlanes: {a: {exclusive: perhaps}}\n"} {
		file := h.write(faulty + temporal)
		h.run("jobtypes", "-c", file).OK().Complains("warning: "+file, warned)
		h.run("plan", "-c", file).Exits(ui.ExitUsage)
	}
	told := h.run("runs", "-c", h.write("version: 1\n"+temporal+"job_types: {}\n")).OK()
	assert.Empty(t, told.Stderr)
	for _, hidden := range []string{"version: [\n", "version: 1\ntemporl: {address: 'elsewhere:1'}\n", "version: 1\ntemporal: {adress: x}\n"} {
		file := h.write(hidden)
		h.run("runs", "-c", file).Exits(ui.ExitUsage).Complains(file)
		h.run("runs", "-c", file, "--address", address).OK().Complains("warning: "+file, warned)
	}
}
