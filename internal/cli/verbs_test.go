package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/cli/ui"
)

const gatedDAG = `version: 1
name: rollout
tasks:
  - {id: first, command: [echo, hi]}
  - {id: gate, needs: [first], approval: {}}
  - {id: second, needs: [gate], command: [echo, done]}
`

// TestVerbsOnACluster types each verb with each form of a reference, against a server, a control plane and
// a worker.
func TestVerbsOnACluster(t *testing.T) {
	t.Parallel()
	h, gate, _ := startCluster(t)
	h.run("start", "broken", "--dry-run").OK().Says("2 found")
	h.run("start", "broken", "-w").Exits(ui.ExitFailed).Says("partial")
	h.eventually("broken", "runs", "broken", "-s", "bad")
	last := strings.TrimSpace(h.run("runs", "broken", "-s", "bad", "-o", "name").OK().Stdout)
	for _, ref := range []string{"broken@", "broken@last", "broken@bad", last, strings.TrimPrefix(last, "group/")} {
		h.run("show", ref).OK().Says("run       "+last, "1 failed")
	}
	for _, ref := range []string{"broken/2", "broken@bad/job-00002", last + "/2"} {
		h.run("show", ref).OK().Says("/job-00002", "no such disk")
	}
	h.run("show", "broken").OK().Says("job type", "broken")
	h.run("show", "node-a").OK().Says("worker", "ONLINE")
	h.run("show", "worker/node-a").OK().Says("worker", "ONLINE")
	h.run("jobs", "broken", "-s", "bad").OK().Says("job-00002")
	h.run("jobs", "node-a").OK().Says("job-00002")
	h.run("logs", "broken/2").OK().Says("no such disk")
	h.run("explain", "broken/2").OK().Says("/job-00002: failed")
	h.run("show", "brokn").Exits(ui.ExitFailed).Complains("brokn is no job type, worker or DAG", "did you mean broken?")
	h.run("jobs", "brokn").Exits(ui.ExitFailed).Complains("brokn is no job type, worker or DAG", "did you mean broken?")

	h.run("pause", "quick", "-r", "disk swap").OK().Says("quick is paused")
	h.run("resume", "quick").OK().Says("quick is resumed")
	h.run("pause", "node-a", "--note", "slow disk").OK().Says("CORDONED")
	h.run("resume", "node-a").OK().Says("ONLINE")
	h.run("set", "quick", "retry_limit=2").OK().Says("policy.retry_limit").Complains("to put it back: roundsman set quick --restore last")
	h.run("set", "quick", "retry_limit=").Exits(ui.ExitUsage).Complains("roundsman set quick --restore last")
	h.run("set", "quick", "--restore", "last").OK()
	h.run("set", "node-a", "max_execute=2").OK().Says("2 execute")
	h.run("set", "node-a", "max_execute=").OK().Says("4 execute")
	h.run("set", "pool/db", "size=3").OK().Says("size 3")
	h.run("resources", "pool/db").OK().Says("0 of 3")
	h.run("skip", "quick:a", "--for", "1h").OK().Says("left out until")
	h.run("pause", "slow", "-r", "disk swap").OK()
	h.run("pause", "node-a", "-r", "slow disk").OK()
	h.eventually("disk swap", "holds").OK().Says("quick:a  ", "done", "slow  ", "worker/node-a  pause", "slow disk")
	assert.Equal(t, "slow\nworker/node-a\nquick:a\n", h.run("holds", "-o", "name").OK().Stdout)
	h.run("resume", "slow", "--kind", "all").OK().Says("slow is resumed")
	h.run("resume", "worker/node-a").OK().Says("ONLINE")
	h.run("status", "--since", "1h").OK().Says("quick:a", "jobtype.pause", "disk swap")
	h.run("submit", "quick:a", "-p", "item=a", "--dry-run").OK().Says("marked as done", "0 jobs would run, 1 not")
	h.run("submit", "quick:other", "-p", "item=b", "--dry-run").OK().Says("1 job would run, 0 not")
	h.run("submit", "quick", "-p", "none=b", "--dry-run", "-l", "worker=node-a").OK()
	h.run("workers", "-l", "absent!=x", "-o", "name").OK().Says("node-a")
	h.run("workers", "-l", "absent=x").OK().Says("no worker matches")
	h.run("workers", "-l", "absent").Exits(ui.ExitUsage).Complains("write K=V")
	h.run("resume", "quick:a").OK().Says("forgiven")
	h.run("drain", "node-a", "--dry-run").OK().Says("reboot")
	h.run("schedule").OK()
	h.run("audit", "worker/node-a").OK().Says("worker.cordon")
	h.run("delete", "apikey/nothing").Exits(ui.ExitUsage).Complains("--yes")

	h.run("submit", "slow:mine", "-p", "item=mine", "--as", "ticket-1").OK().Says("slow-adhoc-ticket-1")
	h.run("submit", "slow:other", "-p", "item=other", "--as", "ticket-2").OK()
	h.eventually("ticket-2", "runs", "slow", "-s", "open")
	h.run("cancel", "slow").Exits(ui.ExitUsage).Complains("slow is ambiguous", "\n  group/slow-adhoc-ticket-1", "\n  group/slow-adhoc-ticket-2")
	h.run("cancel", "slow@ticket-2", "-r", "not today").OK().Says("slow-adhoc-ticket-2")
	require.NoError(t, os.WriteFile(gate, nil, 0o600))
	h.run("watch", "slow@ticket-1").OK()
	h.run("show", "slow:mine").OK().Says("slow-adhoc-ticket-1/job-00001", "completed")
	gatedRollout(t, h)
	ownParams(t, h)
}

// greeting detects and executes with its param.
const greeting = `version: 1
owner: extra
job_types:
  greet:
    handler: command
    schedule: {every: 365d, first_run: scheduled}
    params: {word: applied}
    detect: {command: [printf, '{{.Params.word}}\n'], format: lines}
    execute: {command: [echo, "{{.Params.item}} and {{.Params.word}}"]}
`

// ownParams: a run of a job type without a DAG detects and executes with params of its own, the next one without.
func ownParams(t *testing.T, h *harness) {
	t.Helper()
	h.run("apply", "-c", h.write(greeting)).OK()
	h.run("start", "greet", "-p", "word=own", "-w").OK().Says("completed")
	h.run("logs", "greet/1").OK().Says("own and own")
	h.run("audit", "greet", "--limit", "1").OK().Says("with own params: word")
	h.run("start", "greet", "-w").OK()
	h.run("logs", "greet/1").OK().Says("applied and applied")
}

func gatedRollout(t *testing.T, h *harness) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "rollout.yaml")
	require.NoError(t, os.WriteFile(file, []byte(gatedDAG), 0o600))
	h.run("validate", file).OK().Says("DAG rollout is valid")
	h.run("start", file, "--as", "december").OK().Says("dag/rollout/december")
	h.eventually("an approval", "show", "rollout@december/gate")
	h.eventually("dag/rollout/december", "show", "rollout@", "-o", "dot")
	h.run("approve", "rollout").Exits(ui.ExitUsage).Complains("rollout@december is a run, write one of:", "roundsman approve dag/rollout/december/gate")
	h.run("show", "rollout", "--tree").OK().Says("· gate", "· · second")
	h.run("approve", "rollout/gate", "-r", "ok").OK().Says("approved gate")
	h.run("watch", "rollout@dec").OK()
	h.run("approve", "rollout@december").Exits(ui.ExitFailed).Complains("no task of it waits for a person")
	h.run("retry", "rollout/second", "-w").OK()
	assert.Contains(t, h.run("show", file, "-o", "mermaid").OK().Stdout, "flowchart")
}
