package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/cli/exec"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/testsuite/clitest"
)

func TestExecRefusesWhatCannotRun(t *testing.T) {
	t.Parallel()
	h := offline(t)
	h.run("exec", "--", "true").Exits(ui.ExitUsage).Complains("--label role=web")
	h.run("exec", "-l", "role=web").Exits(ui.ExitUsage).Complains("PROGRAM is missing")
	h.run("exec", "-l", "role", "true").Exits(ui.ExitUsage).Complains("write KEY=VALUE")
	h.run("exec", "-l", "role=web", "--serial", "--max", "2", "true").Exits(ui.ExitUsage).Complains("exclude each other")
	h.run("exec", "-l", "role=web", "--timeout", "1ms", "true").Exits(ui.ExitUsage).Complains("at least 1s")
}

func TestExecRunsAProgramOnEachWorkerWithTheLabels(t *testing.T) {
	t.Parallel()
	h := alone(t)
	h.background("server", "--log-level", "error")
	for _, worker := range []struct{ id, labels string }{{"web-1", "role=web,rack=1"}, {"web-2", "role=web,rack=2"}, {"db-1", "role=db"}} {
		h.background("worker", "--id", worker.id, "--labels", worker.labels, "--data-dir", t.TempDir(), "--log-level", "error", "--drain-timeout", "0s")
		h.eventually(worker.id, "workers", "-s", "online")
	}
	dir := t.TempDir()

	o := h.run("exec", "-l", "role=web", "sh", "-c", `echo "on $ROUNDSMAN_WORKER_ID: {{.Item}} $1"; echo -n end`, "sh", "-l").OK()
	assert.ElementsMatch(t, []string{
		"web-1: on web-1: {{.Item}} -l", "web-1: end", "web-2: on web-2: {{.Item}} -l", "web-2: end",
	}, strings.Split(strings.TrimSpace(o.Stdout), "\n"))
	o.Complains("completed on 2")
	h.run("exec", "-l", "role=web", "-l", "rack=2", "--", "hostname").OK().Complains("completed on 1")

	failed := h.run("exec", "-l", "role=web", "-o", "json", "--", "sh", "-c", `echo out; test $ROUNDSMAN_WORKER_ID = web-1 || exit 3`).Exits(ui.ExitFailed)
	report := clitest.Decode[exec.Report](failed)
	assert.Equal(t, 1, report.Completed)
	assert.Equal(t, 1, report.Failed)
	require.Len(t, report.Workers, 2)
	assert.Equal(t, "completed", report.Workers[0].State)
	assert.Equal(t, "out\n", report.Workers[0].Output)
	assert.Equal(t, exec.Result{Worker: "web-2", State: "failed", Output: "out\n", Error: "sh exited with status 3: out", DurationMS: report.Workers[1].DurationMS}, report.Workers[1])

	h.run("exec", "-l", "role=web", "--serial", "--", "sh", "-c", `touch "$1/$ROUNDSMAN_WORKER_ID"; exit 1`, "sh", dir).Exits(ui.ExitFailed).
		Complains("web-1: failed", "web-2: canceled", "completed on 0, not on 2")
	assert.FileExists(t, filepath.Join(dir, "web-1"))
	assert.NoFileExists(t, filepath.Join(dir, "web-2"), "nothing runs after the first failure")

	lock := filepath.Join(dir, "lock")
	h.run("exec", "-l", "role=web", "--max", "1", "--", "sh", "-c", `mkdir "$1" && sleep 0.3 && rmdir "$1"`, "sh", lock).OK()
	require.NoError(t, os.RemoveAll(lock))

	h.run("exec", "-l", "role=wob", "--", "true").Exits(ui.ExitFailed).Complains("no worker has label role=wob", "role=web")
	h.run("pause", "web-2").OK()
	h.eventually("CORDONED", "workers")
	h.run("exec", "-l", "role=web", "--", "true").Exits(ui.ExitFailed).Complains("web-2: not run: it is CORDONED", "completed on 1, not on 1")
	h.eventually("exec", "audit")
}
