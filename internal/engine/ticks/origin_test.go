package ticks_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/ticks"
)

func TestOrigins(t *testing.T) {
	t.Parallel()
	entry := func(minute int, action, object, detail string) contract.AuditEntry {
		return contract.AuditEntry{At: at(minute), Action: action, JobType: "scrub", Object: object, Detail: detail, Actor: action}
	}
	run := func(minute int) ticks.Begun {
		return ticks.Begun{WorkflowID: "group/scrub-" + at(minute).Format(time.RFC3339), Due: at(minute), Started: at(minute).Add(time.Second)}
	}
	id := func(minute int) string { return run(minute).WorkflowID }
	submitted := ticks.Begun{WorkflowID: "group/scrub-adhoc-1", Started: at(5), Submitted: true}
	again := run(20)
	again.Started = at(90).Add(-2 * time.Second)
	known := ticks.Origins{JobType: "scrub", MadeAt: at(0).Add(300 * time.Millisecond), Entries: []contract.AuditEntry{
		entry(0, "apply.create", "scrub", ""),
		entry(3, "jobtype.run", id(3), ""),
		entry(6, "jobs.submit", "group/scrub-adhoc-1", "whatever its windows say"),
		entry(7, "jobs.retry", "group/scrub-adhoc-2", ""),
		entry(8, "jobtype.run", "group/scrub-adhoc-3", "with own params: path"),
		entry(11, "jobtype.run", id(10), contract.AuditReleased+"its window, which is closed"),
		entry(90, "jobtype.backfill", "scrub", at(20).Format(time.RFC3339)+" to "+at(40).Format(time.RFC3339)),
	}}
	assert.Equal(t, "apply.create", actor(known, run(0)), "the request that made the job type started a run")
	assert.Equal(t, "jobtype.run", actor(known, run(3)))
	assert.Equal(t, "jobs.submit", actor(known, submitted))
	assert.Equal(t, "jobs.retry", actor(known, ticks.Begun{WorkflowID: "group/scrub-adhoc-2", Submitted: true, Resumes: true}))
	assert.Equal(t, "jobtype.run", actor(known, ticks.Begun{WorkflowID: "group/scrub-adhoc-3", Submitted: true}))
	assert.Equal(t, "jobtype.backfill", actor(known, again))

	origin := func(of ticks.Origins, run ticks.Begun) contract.Origin {
		by, _ := of.Of(run)
		return by
	}
	assert.Equal(t, contract.OriginSchedule, origin(known, run(10)), "an operator only released it")
	assert.Equal(t, contract.OriginSchedule, origin(known, run(30)), "it ran before the backfill")
	known.MadeAt = time.Time{}
	assert.Equal(t, contract.OriginSchedule, origin(known, run(0)))

	known.Entries, known.KeptSince = nil, at(60)
	assert.Equal(t, contract.OriginUnknown, origin(known, run(30)), "the log does not reach back to it")
	assert.Equal(t, contract.OriginSchedule, origin(known, run(70)))
	assert.Equal(t, contract.OriginSubmission, origin(known, submitted), "its id shows it")
	submitted.Resumes = true
	assert.Equal(t, contract.OriginRetry, origin(known, submitted))

	known.Entries = []contract.AuditEntry{{At: at(90), Action: "jobtype.backfill", JobType: "other", Detail: at(0).Format(time.RFC3339) + " to " + at(99).Format(time.RFC3339)}}
	assert.Equal(t, contract.OriginSchedule, origin(known, run(95)), "the backfill of another job type")
}

func actor(of ticks.Origins, run ticks.Begun) string {
	_, entry := of.Of(run)
	return entry.Actor
}
