package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/clitest"
)

// TestTheImplicitFileNamesTheServer: apply uses the server of the configuration in the current directory, and
// prints it first.
func TestTheImplicitFileNamesTheServer(t *testing.T) {
	h := offline(t)
	h.env.Environ = []string{"USER=tester"}
	address := testsuite.StartServer(t).Address()
	dir := t.TempDir()
	text := strings.Replace(configOf("here", 1, ""), "version: 1\n", "version: 1\nowner: ops\ntemporal: {address: \""+address+"\"}\n", 1)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "roundsman.yaml"), []byte(text), 0o600))
	t.Chdir(dir)
	first := "server " + address + " (from roundsman.yaml), namespace default, owner ops\n"
	plan := h.run("plan").Exits(ui.ExitDifference)
	assert.True(t, strings.HasPrefix(plan.Stdout, first), plan.Stdout)
	applied := h.run("apply").OK().Says("create here-0")
	assert.True(t, strings.HasPrefix(applied.Stdout, first), applied.Stdout)
	h.run("show", "jobtype/here-0", "-o", "name").OK().Says("here-0")
	assert.Equal(t, address, clitest.Decode[map[string]any](h.run("plan", "-o", "json").OK())["server"])

	require.NoError(t, os.WriteFile(filepath.Join(dir, "roundsman.yaml"), []byte(strings.Replace(text, address, "prod.example.org:7233", 1)), 0o600))
	h.run("plan", "--address", address).OK().Says("server " + address + " (from --address; roundsman.yaml has prod.example.org:7233), namespace default")
	h.env.Environ = append(h.env.Environ, "TEMPORAL_ADDRESS="+address)
	h.run("plan").OK().Says("server " + address + " (from TEMPORAL_ADDRESS; roundsman.yaml has prod.example.org:7233), namespace default")
}

// TestApplyDeletesOnlyWhatItIsToldTo: a job type that the file lacks is kept until its deletion is confirmed.
func TestApplyDeletesOnlyWhatItIsToldTo(t *testing.T) {
	t.Parallel()
	h := alone(t)
	two, one := h.write(configOf("del", 2, "")), h.write(configOf("del", 1, ""))
	h.run("apply", "-c", two).OK()
	h.listed("del-1")
	h.run("apply", "-c", one).Exits(ui.ExitDifference).Says("0 changes applied, 1 unchanged").
		Complains("the configuration lacks 1 job type of this namespace:", "delete del-1", "--prune")
	h.run("show", "jobtype/del-1", "-o", "name").OK()

	h.env.Interactive, h.env.Stdin = true, strings.NewReader("n\n")
	h.run("apply", "-c", one).Exits(ui.ExitDifference).Complains("delete them? [y/N]")
	h.run("show", "jobtype/del-1", "-o", "name").OK()
	h.env.Stdin = strings.NewReader("yes\n")
	h.run("apply", "-c", one).OK().Says("delete del-1", "1 change applied")
	h.run("show", "jobtype/del-1").Exits(ui.ExitFailed)

	h.env.Interactive = false
	h.run("apply", "-c", two).OK()
	h.listed("del-1")
	h.run("apply", "-c", one, "--prune").OK().Says("delete del-1")

	changed := h.write(configOf("del", 2, "    policy: {retry_limit: 4}\n"))
	h.run("apply", "-c", changed, "--only", "del-0").OK().Says("update del-0", "1 change applied, 0 unchanged")
	h.run("apply", "-c", changed, "--only", "nothing").Exits(ui.ExitUsage).Complains("the configuration has no job type nothing")
}

// TestTwoTeamsShareANamespace: neither team deletes or overwrites the job types of the other.
func TestTwoTeamsShareANamespace(t *testing.T) {
	t.Parallel()
	h := alone(t)
	owned := func(owner, prefix string) string {
		return h.write(strings.Replace(configOf(prefix, 1, ""), "version: 1\n", "version: 1\nowner: "+owner+"\n", 1))
	}
	h.run("apply", "-c", owned("storage", "s")).OK()
	h.listed("s-0")
	h.run("apply", "-c", owned("network", "n"), "--prune").OK().Says("1 change applied")
	h.run("show", "jobtype/s-0", "-o", "name").OK()
	h.run("apply", "-c", owned("network", "s"), "--prune").Exits(ui.ExitFailed).Complains("belongs to the configuration of owner storage")
	h.run("plan", "-c", owned("storage", "s")).OK().Says("no changes")
}

// TestDevLeavesOthersAlone: on a running server dev deletes no job type and takes none over.
func TestDevLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	h := alone(t)
	h.run("apply", "-c", h.write(configOf("mine", 1, ""))).OK()
	h.listed("mine-0")
	address := strings.TrimPrefix(h.env.Environ[0], "TEMPORAL_ADDRESS=")
	dev := h.write(minimalConfig)
	h.run(devArgs(t.TempDir(), "--once", "--address", address, "-c", dev)...).OK()
	h.run("show", "jobtype/mine-0", "-o", "name").OK()
	h.run("show", "jobtype/echo", "-o", "name").OK()

	h.listed("echo")
	h.run(devArgs(t.TempDir(), "--once", "--address", address, "-c", h.write("version: 1\njob_types: {}\n"))...).OK().
		Says("job type echo is kept", "roundsman apply --prune", "owner: dev")
	h.run("show", "jobtype/echo", "-o", "name").OK()
	h.run(devArgs(t.TempDir(), "--once", "--address", address, "-c", h.write(configOf("mine", 1, "    enabled: false\n")))...).Exits(ui.ExitFailed).
		Complains("job type mine-0 is on this server already, without an owner")
	assert.NotContains(t, h.run("show", "jobtype/mine-0", "-o", "json").Stdout, `"paused": true`)
}

// TestTheIntervalIsASetting: jobtypes set changes the interval of a job type.
func TestTheIntervalIsASetting(t *testing.T) {
	t.Parallel()
	h := alone(t)
	h.run("apply", "-c", h.write(configOf("often", 1, ""))).OK()
	h.run("set", "often-0", "every=42m", "retry_limit=3").OK().Says("every 42m", "policy.retry_limit")
	h.run("set", "often-0", "every=42m").OK().Says("it is so already")
	// Without a control plane the answer is incomplete, so the command fails.
	h.run("show", "jobtype/often-0").Exits(ui.ExitFailed).Says("every 42 min")
	h.run("set", "often-0", "every=0s").Exits(ui.ExitUsage).Complains("every", "out of range")
	h.run("set", "often-0", "evry=1h").Exits(ui.ExitUsage)
}

// listed waits until visibility lists a job type.
func (h *harness) listed(name string) {
	h.t.Helper()
	client, err := starter.Dial(h.t.Context(), starter.Options{Address: strings.TrimPrefix(h.env.Environ[0], "TEMPORAL_ADDRESS=")})
	require.NoError(h.t, err)
	defer client.Close()
	testsuite.WaitFor(h.t, 20*time.Second, name+" is listed", func() bool {
		types, err := jobtypes.Of(client).List(h.t.Context())
		for _, known := range types {
			if known.Name == name {
				return true
			}
		}
		return err != nil
	})
}

// TestApplyNamesWhyTheFleetsHandlersAreUnknown: without a control plane the handlers of workers are unknown.
// The error names this cause, not a misspelled handler.
func TestApplyNamesWhyTheFleetsHandlersAreUnknown(t *testing.T) {
	t.Parallel()
	h := alone(t).withoutControlPlane()
	path := h.write("version: 1\njob_types:\n  far: {handler: of-a-worker, schedule: {every: 365d, first_run: scheduled}}\n")
	o := h.run("apply", "--config", path).Exits(ui.ExitFailed).
		Complains("roundsman: the handlers of workers could not be read", "CONTROL_PLANE_DOWN", path+":3:18: job_types.far.handler: this binary does not have the handler, and whether a worker has it is not known")
	assert.NotContains(t, o.Stderr, "there is no handler")
}

// TestAFaultHidesNoHandlersOfWorkers: next to a fault of its own, every handler of a worker was a fault, too: "there is no
// handler weed-vacuum: did you mean vacuum?"
func TestAFaultHidesNoHandlersOfWorkers(t *testing.T) {
	t.Parallel()
	h := offline(t)
	path := h.write("version: 1\njob_types:\n  vacuum: {handler: weed-vacuum}\n  far: {handler: weed-far, schedule: {every: soon}}\n")
	for _, command := range []string{"apply", "plan"} {
		o := h.run(command, "--config", path).Exits(ui.ExitUsage).Complains("job_types.far.schedule.every")
		assert.NotContains(t, o.Stderr, "there is no handler", command)
	}
}
