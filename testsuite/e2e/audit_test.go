package e2e

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/auditlog"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
	"github.com/roundsman/roundsman/testsuite"
)

// audited waits for an entry with this action or code, and returns it.
func audited(t *testing.T, c *starter.Client, what, object string) contract.AuditEntry {
	t.Helper()
	var found contract.AuditEntry
	testsuite.WaitFor(t, 40*time.Second, what+" of "+object+" in the audit log", func() bool {
		log, err := c.Audit().Read(t.Context(), contract.AuditFilter{Object: object})
		if err != nil {
			return false
		}
		for _, entry := range log.Entries {
			if entry.Action == what || entry.Code == what {
				found = entry
				return true
			}
		}
		return false
	})
	return found
}

// TestAuditOfPlainRequests: requests by the plain `temporal` CLI or the Web UI are recorded by their receiver,
// with the sender that the server reports.
func TestAuditOfPlainRequests(t *testing.T) {
	t.Parallel()
	s := newSite()
	p := newInProcess(t, 4, s)
	plain := p.dial("temporal-cli:ann@desk").Temporal()
	open := s.hold("held")
	defer open()
	defer s.hold("held/2")()
	defer s.hold("held/3")()
	run := p.begin("audited-1", siteSpec(t, "audited", "", at("held"), at("held/2"), at("held/3")))
	testsuite.WaitFor(t, 20*time.Second, "it works", func() bool { return s.present("held") == 1 })
	id, ctx := run.GetID(), t.Context()

	require.NoError(t, plain.SignalWorkflow(ctx, id, "", contract.SignalPause, map[string]string{"note": "disk 7"}))
	pause := audited(t, p.client, "run.pause", id)
	assert.Equal(t, []string{"ann", "desk (temporal CLI)", "running", "paused: disk 7", "audited"}, []string{pause.Actor, pause.From, pause.Before, pause.After, pause.JobType})
	require.NoError(t, p.dial("").Temporal().SignalWorkflow(ctx, id, "", contract.SignalResume, nil))
	resume := audited(t, p.client, "run.resume", id)
	assert.Equal(t, "unknown", resume.Actor)
	assert.NotEmpty(t, resume.From, "what the client calls itself")
	other := p.dial("temporal-cli:bob@couch").Temporal()
	require.NoError(t, testsuite.CancelItem(ctx, plain, id, contract.CancelItemInput{Item: "job-00002", Reason: "not today"}))
	require.NoError(t, testsuite.CancelItem(ctx, other, id, contract.CancelItemInput{Item: "job-00003"}))
	first, second := audited(t, p.client, "job.cancel", id+"/job-00002"), audited(t, p.client, "job.cancel", id+"/job-00003")
	assert.Equal(t, []string{"ann", "not today", "bob"}, []string{first.Actor, first.Detail, second.Actor}, "each has its own sender")

	update, err := other.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: id, UpdateName: contract.UpdateSetPolicy, WaitForStage: client.WorkflowUpdateStageCompleted,
		Args: []any{contract.SetPolicyInput{Policy: jobtype.Policy{GlobalExecutionConcurrency: 3, PerWorkerExecutionConcurrency: 8}.WithDefaults()}},
	})
	require.NoError(t, err)
	require.NoError(t, update.Get(ctx, nil))
	policy := audited(t, p.client, "policy.set", id)
	assert.Equal(t, "bob", policy.Actor)
	assert.Equal(t, "couch (temporal CLI)", policy.From)
	assert.Contains(t, policy.Before, "global_execution_concurrency: 8")
	assert.Contains(t, policy.After, "global_execution_concurrency: 3")

	require.NoError(t, plain.CancelWorkflow(ctx, id, ""))
	require.Error(t, run.Get(ctx, nil))
	canceled := audited(t, p.client, "run.cancel", id)
	assert.Equal(t, "ann", canceled.Actor)

	console := p.dial(starter.OperatorIdentity("roundsman", "eve"))
	_, err = console.Admission().ResizePool(ctx, "db", 3, "")
	require.NoError(t, err)
	resized := audited(t, p.client, "pool.resize", "pool/db")
	assert.Equal(t, []string{"eve", "size: 1", "size: 3 (resized)"}, []string{resized.Actor, resized.Before, resized.After})
	_, err = console.Workers().Operate(ctx, "node-a", starter.ActionCordon, "eve", "new disks")
	require.NoError(t, err)
	cordoned := audited(t, p.client, "worker.cordon", "worker/node-a")
	assert.Equal(t, []string{"eve", "ONLINE", "CORDONED", "new disks"}, []string{cordoned.Actor, cordoned.Before, cordoned.After, cordoned.Detail})
	_, err = console.Workers().Operate(ctx, "node-a", starter.ActionUncordon, "eve", "")
	require.NoError(t, err)
	audited(t, p.client, "worker.uncordon", "worker/node-a")
	p.auditIsTerminated(console)
}

// auditIsTerminated terminates the log. The next one has all entries, and the author of the termination.
func (p *inProcess) auditIsTerminated(console *starter.Client) {
	p.t.Helper()
	before, err := p.client.Audit().Read(p.t.Context(), contract.AuditFilter{})
	require.NoError(p.t, err)
	require.NotEmpty(p.t, before.Entries)
	require.NoError(p.t, console.Temporal().TerminateWorkflow(p.t.Context(), contract.AuditWorkflowID, "", "cleaning up"))
	closed, err := p.client.Audit().Read(p.t.Context(), contract.AuditFilter{})
	require.NoError(p.t, err)
	assert.Equal(p.t, before.Entries, closed.Entries, "a terminated log still answers")
	_, err = console.Admission().ResizePool(p.t.Context(), "db", 0, "")
	require.NoError(p.t, err)
	testsuite.WaitFor(p.t, 40*time.Second, "the new log has the resize", func() bool {
		after, err := p.client.Audit().Read(p.t.Context(), contract.AuditFilter{})
		return err == nil && len(after.Entries) == len(before.Entries)+2
	})
	after, err := p.client.Audit().Read(p.t.Context(), contract.AuditFilter{})
	require.NoError(p.t, err)
	for i := range before.Entries {
		// The second resize supersedes the first.
		before.Entries[i].Superseded = before.Entries[i].Superseded || before.Entries[i].Action == "pool.resize"
	}
	assert.Equal(p.t, before.Entries, after.Entries[:len(before.Entries)])
	added := after.Entries[len(before.Entries):]
	assert.Equal(p.t, []string{"audit.terminate", "eve", "cleaning up"}, []string{added[0].Action, added[0].Actor, added[0].Detail})
	assert.Equal(p.t, "pool.resize", added[1].Action)
	assert.Equal(p.t, added[0].Seq+1, added[1].Seq)
}

// TestAuditOfDecisions: refusals and delays are recorded once per run. A run without any leaves no entry.
func TestAuditOfDecisions(t *testing.T) {
	t.Parallel()
	s := newSite()
	p := newInProcess(t, 8, s)
	p.end(p.begin("first-1", siteSpec(t, "first", "default"))) // Admission has recovered.
	clean := p.end(p.begin("clean-1", siteSpec(t, "clean", "default", at("a"), at("b"))))
	assert.Equal(t, contract.OutcomeCompleted, clean.Outcome)

	open := s.hold("held")
	defer open()
	holder := siteSpec(t, "work", "default", at("held"))
	first := p.begin("work-1", holder)
	testsuite.WaitFor(t, 20*time.Second, "it works", func() bool { return s.present("held") == 1 })
	twice := siteSpec(t, "work", "", at("held"), at("more"), at("more"), at("surplus"))
	twice.Policy.MaxJobsPerDetection = 2
	second := p.end(p.begin("work-2", twice))
	assert.Equal(t, 1, second.Counts.AlreadyActive)
	late := p.begin("late-1", siteSpec(t, "late", "default", at("late")))
	p.awaitWaiting("default", 1)
	begun := time.Now()
	testsuite.WaitFor(t, 20*time.Second, "some time has passed", func() bool { return time.Since(begun) > 3*time.Second })
	open()
	p.end(first)
	p.end(late)

	assert.Equal(t, 1, audited(t, p.client, "DEDUPED", "group/work-2").Count)
	assert.Contains(t, audited(t, p.client, "DEDUPED", "group/work-2").Detail, "group/work-1")
	assert.Equal(t, "refused", audited(t, p.client, "SURPLUS", "group/work-2").Action)
	waited := audited(t, p.client, "LANE_BUSY", "group/late-1")
	assert.Equal(t, "delayed", waited.Action)
	assert.Greater(t, waited.Longest.Std(), 2*time.Second)
	log, err := p.client.Audit().Read(t.Context(), contract.AuditFilter{JobType: "clean"})
	require.NoError(t, err)
	assert.Empty(t, log.Entries)
	byKind, err := p.client.Audit().Read(t.Context(), contract.AuditFilter{Kind: contract.AuditScheduler, JobType: "work"})
	require.NoError(t, err)
	for _, entry := range byKind.Entries {
		assert.Equal(t, "group/work-2", entry.Object)
	}
}

// TestAuditIsBounded fills the log beyond its bound and reads it page by page.
func TestAuditIsBounded(t *testing.T) {
	t.Parallel()
	p := newInProcess(t, 1, newSite())
	var entries []contract.AuditEntry
	const many = 4300
	for i := range many {
		entries = append(entries, contract.AuditEntry{
			ID: fmt.Sprint(i), At: time.Now(), Kind: contract.AuditOperator, Actor: "ann", Action: "test", Object: fmt.Sprintf("object/%d", i),
			Detail: fmt.Sprintf("%0300d", i),
		})
	}
	record := contract.AuditRecord{Entries: entries}
	require.NoError(t, auditlog.Record(t.Context(), p.client.Temporal(), record))
	require.NoError(t, auditlog.Record(t.Context(), p.client.Temporal(), contract.AuditRecord{Entries: entries[many-400:]}), "a repeat changes nothing")
	testsuite.WaitFor(t, time.Minute, "all are there", func() bool {
		log, err := p.client.Audit().Read(t.Context(), contract.AuditFilter{Limit: 1})
		return err == nil && len(log.Entries) == 1 && log.Entries[0].Object == fmt.Sprintf("object/%d", many-1)
	})
	asked := time.Now()
	log, err := p.client.Audit().Read(t.Context(), contract.AuditFilter{})
	require.NoError(t, err)
	t.Logf("%d entries read in %s", len(log.Entries), time.Since(asked))
	assert.Len(t, log.Entries, 4000)
	assert.Equal(t, int64(many-4000), log.Dropped)
	assert.Equal(t, "object/300", log.Entries[0].Object)
	newest, err := p.client.Audit().Read(t.Context(), contract.AuditFilter{Limit: 700})
	require.NoError(t, err)
	assert.Len(t, newest.Entries, 700)
	assert.True(t, newest.More)
	assert.Equal(t, log.Entries[3300:], newest.Entries)
}

// TestAuditSurvivesKills: after kill -9 of the server and of the control plane, the command prints the same
// log.
func TestAuditSurvivesKills(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "node-a")
	c.apply(script("flaky", "retry_limit: 2, retry_backoff: 1s, heartbeat_timeout: 5s",
		`seq 1 3`, `test -e again-$1 || { touch again-$1; exit 7; }`) +
		script("slow", "heartbeat_timeout: 60s, liveness: process", `echo one`, `exec sleep 300`))
	ref := c.run("flaky")
	assert.Equal(t, contract.OutcomeCompleted, c.result(ref, time.Minute).Outcome)
	assert.Equal(t, 3, audited(t, c.client, "RETRY_BACKOFF_UNTIL", ref.WorkflowID).Count)
	before := c.auditList()
	require.Equal(t, []string{"apply.create", "apply.create", "jobtype.run", "delayed"}, actionsOf(before))
	slow := c.run("slow")
	testsuite.WaitFor(t, 20*time.Second, "it works", func() bool {
		shown, err := c.client.Runs().Show(t.Context(), slow)
		return err == nil && shown.Group != nil && shown.Group.Running == 1
	})
	before = c.auditList()

	c.server.Kill()
	for _, p := range c.control {
		p.Kill()
	}
	c.server.Restart(t)
	plain, err := starter.Dial(t.Context(), starter.Options{Address: c.server.Address(), Identity: "temporal-cli:ann@desk"})
	require.NoError(t, err)
	defer plain.Close()
	require.NoError(t, plain.Temporal().SignalWorkflow(t.Context(), slow.WorkflowID, "", contract.SignalPause, contract.PauseInput{Note: "while nobody listens"}))
	c.start("server")
	assert.Equal(t, "ann", audited(t, c.client, "run.pause", slow.WorkflowID).Actor)
	assert.Equal(t, before, c.auditList()[:len(before)])
	p := c.start("audit", "flaky", "--limit", "2")
	p.Code(t, 2*time.Minute)
	assert.Contains(t, p.Stdout.String(), "jobtype.run")
	assert.NotContains(t, p.Stdout.String(), "apply.create")
}

func actionsOf(entries []contract.AuditEntry) []string {
	var list []string
	for _, entry := range entries {
		list = append(list, entry.Action)
	}
	return list
}

// auditList returns the output of the command.
func (c *cluster) auditList() []contract.AuditEntry {
	c.t.Helper()
	p := c.start("audit", "--output", "json")
	require.Equal(c.t, 0, p.Code(c.t, 2*time.Minute), p.Stderr.Last())
	var entries []contract.AuditEntry
	require.NoError(c.t, json.Unmarshal([]byte(p.Stdout.String()), &entries))
	return entries
}

// TestAuditOfDroppedTicks: the next run reports ticks that the server dropped because a group was open, and a
// run that was terminated.
func TestAuditOfDroppedTicks(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "node-a")
	c.apply(`  often:
    handler: command
    lane: side
    schedule: {every: 2s}
    policy: {heartbeat_timeout: 5s, liveness: process}
    detect: {command: [echo, x], format: lines}
    execute: {command: [sleep, "5"]}
`)
	dropped := audited(t, c.client, "OVERLAP_SKIPPED", "jobtype/often")
	assert.Equal(t, []string{"scheduler", "refused", "often"}, []string{dropped.Kind, dropped.Action, dropped.JobType})
	assert.Positive(t, dropped.Count)
	var running starter.RunRef
	testsuite.WaitFor(t, 20*time.Second, "a group runs and is terminated", func() bool {
		ticks, err := jobtypes.Of(c.client).Ticks(t.Context(), "often")
		if err != nil || ticks.Running == nil {
			return false
		}
		running = *ticks.Running
		// A run that has just ended cannot be terminated, so the next one is.
		return c.client.Temporal().TerminateWorkflow(t.Context(), running.WorkflowID, "", "by mistake") == nil
	})
	terminated := audited(t, c.client, "run.terminate", running.WorkflowID)
	assert.Equal(t, "by mistake", terminated.Detail)
	assert.NotEmpty(t, terminated.From)
}
