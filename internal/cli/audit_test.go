package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/inspect"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/clitest"
)

func TestAuditUsage(t *testing.T) {
	t.Parallel()
	h := offline(t)
	h.run("audit", "--since", "someday").Exits(ui.ExitUsage).Complains(`--since "someday"`, "like 48h")
	h.run("audit", "--limit", "-1").Exits(ui.ExitUsage).Complains("--limit -1")
	h.run("audit", "--since", "1h", "--until", "2h").Exits(ui.ExitUsage).Complains("--until is before --since")
	h.run("audit", "scrub", "other").Exits(ui.ExitUsage).Complains(`unexpected argument "other"`)
	h.run("audit").Exits(ui.ExitFailed).Complains("no Temporal server answers")
}

// TestAuditWithoutControlPlane: actions on Schedules work and are recorded without a control plane. Only
// reading the log needs it.
func TestAuditWithoutControlPlane(t *testing.T) {
	t.Parallel()
	h := alone(t).withoutControlPlane()
	assert.Equal(t, "[]\n", h.run("audit", "--output", "json").OK().Stdout, "nobody has written yet")
	h.run("audit").OK().Says("no entries")
	h.run("apply", "-c", h.write(clusterConfig("/nowhere"))).OK()
	h.env.Environ = append(h.env.Environ, "ROUNDSMAN_ACTOR=ann")
	h.run("pause", "slow", "--note", "new disks").OK()
	h.run("audit").Exits(ui.ExitFailed).Complains("CONTROL_PLANE_DOWN", "roundsman server")

	h.background("server", "--log-level", "error")
	h.eventually("jobtype.pause", "audit", "--actor", "ann")
	h.run("audit").OK().Says("WHO", "apply.create", "jobtype/quick", "tester", "ann", "active → paused: new disks")
	entries := clitest.Decode[[]contract.AuditEntry](h.run("audit", "slow", "--since", "1h", "--output", "json").OK())
	require.Len(t, entries, 2)
	assert.Equal(t, []string{"tester", "ann"}, []string{entries[0].Actor, entries[1].Actor})
	assert.Equal(t, "operator", entries[1].Kind)
	assert.NotEmpty(t, entries[1].From)
	assert.Empty(t, clitest.Decode[[]contract.AuditEntry](h.run("audit", "--until", "1h", "--output", "json").OK()))
	last := clitest.Decode[[]contract.AuditEntry](h.run("audit", "--limit", "1", "-o", "json").OK())
	require.Len(t, last, 1)
	assert.Equal(t, entries[1].Seq, last[0].Seq, "the newest")
	followAudit(t, h)
}

// followAudit checks that new entries arrive, one object a line.
func followAudit(t *testing.T, h *harness) {
	t.Helper()
	following := h.begin("audit", "--limit", "1", "--follow", "--output", "json")
	following.waitFor(t, "jobtype.pause")
	h.run("resume", "slow").OK()
	following.waitFor(t, "jobtype.resume")
	seen := time.Now()
	testsuite.WaitFor(t, 20*time.Second, "it has looked again", func() bool { return time.Since(seen) > 3*inspect.AuditPoll })
	assert.Equal(t, ui.ExitOK, following.code(), following.err.String())
	lines := strings.Split(strings.TrimSpace(following.out.String()), "\n")
	assert.Contains(t, lines[0], `"action":"jobtype.pause"`)
	assert.Contains(t, lines[len(lines)-1], `"action":"jobtype.resume"`)
	assert.Len(t, lines, 2, "each entry once")
}

// auditTells checks the log after the cluster was operated.
func auditTells(t *testing.T, h *harness) {
	h.run("audit").OK().Says("scheduler", "refused DUPLICATE", "group/quick-", "run.cancel", "job.cancel", "not today", "enough", "worker.cordon", "worker/node-a", "ONLINE → CORDONED")
	for _, entry := range clitest.Decode[[]contract.AuditEntry](h.run("audit", "-o", "json").OK()) {
		assert.True(t, entry.Kind == contract.AuditScheduler || entry.Actor == "tester", "%+v", entry)
	}
}

// TestAnAbsentControlPlaneIsTheFirstLine: facts from the server are shown after the cause, which is printed
// once. The answer is incomplete, so the command fails.
func TestAnAbsentControlPlaneIsTheFirstLine(t *testing.T) {
	t.Parallel()
	h := alone(t).withoutControlPlane()
	h.run("apply", "-c", h.write(clusterConfig(""))).OK()
	for _, line := range [][]string{
		{"status"}, {"status", "--output", "json"}, {"workers"}, {"explain", "quick"}, {"explain", "quick", "--output", "json"}, {"holds"},
	} {
		told := h.run(line...).Exits(ui.ExitFailed)
		assert.True(t, strings.HasPrefix(told.Stderr, "roundsman: CONTROL_PLANE_DOWN: "), told.Stderr)
		assert.Equal(t, 1, strings.Count(told.Stderr, "CONTROL_PLANE_DOWN"), told.Stderr)
	}
}
