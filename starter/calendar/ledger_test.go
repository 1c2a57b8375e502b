package calendar

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/window"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

// An instant whose run was not read must not count as missed.
func TestALedgerBeginsBehindTheRunsThatWereNotRead(t *testing.T) {
	t.Parallel()
	requested := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	at := func(hours int) time.Time { return requested.Add(time.Duration(hours) * time.Hour) }
	runs := []starter.Run{{Started: at(30)}, {Started: at(20), Ended: at(21)}, {Started: at(4), Ended: at(5)}, {Started: at(2), Ended: at(22)}}
	l := Ledger{From: requested}
	l.cut(runs, 5)
	assert.Equal(t, Ledger{From: requested}, l)
	l.cut(runs, 4)
	assert.Equal(t, Ledger{From: at(2), Incomplete: true}, l, "the list is newest first: a run that was not read began before")
	l = Ledger{From: at(3)}
	l.cut(runs, 4)
	assert.Equal(t, Ledger{From: at(3)}, l, "the runs since then were read")
}

// TestAScheduleIsInForceBeforeItsChangeIsRecorded: the ledger has the instants between a change and its record in the audit log.
func TestAScheduleIsInForceBeforeItsChangeIsRecorded(t *testing.T) {
	t.Parallel()
	created := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return created.Add(time.Duration(minutes) * time.Minute) }
	known := jobtypes.JobType{Name: "scrub", CreatedAt: created}
	entries := []contract.AuditEntry{{At: at(1), Action: "apply.create", JobType: "scrub", After: "schedule: every 1h"}}
	assert.Equal(t, created, scheduledSince(known, entries))
	entries = append(entries, contract.AuditEntry{At: at(60), Action: "apply.update", JobType: "scrub", After: "schedule: every 2h"})
	known.UpdatedAt = at(58)
	assert.Equal(t, at(58), scheduledSince(known, entries))
	known.UpdatedAt = at(90)
	assert.Equal(t, at(60), scheduledSince(known, entries), "the last change was of another setting")
	entries = append(entries, contract.AuditEntry{At: at(80), Action: "apply.update", JobType: "scrub", After: `description: the schedule of the week; params.argv: ["--schedule: x"]`})
	assert.Equal(t, at(60), scheduledSince(known, entries), "a value that mentions a schedule")
	entries = append(entries, contract.AuditEntry{At: at(85), Action: "apply.drift", JobType: "scrub", After: "overlap: skip; times: every 2h"})
	assert.Equal(t, at(85), scheduledSince(known, entries), "another schedule was in force, set by hand")
}

// TestPausesOfAJobType: pauses may begin or end without an entry, as in the Web UI or before the oldest entry.
func TestPausesOfAJobType(t *testing.T) {
	t.Parallel()
	created := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return created.Add(time.Duration(minutes) * time.Minute) }
	entry := func(minutes int, action, after string) contract.AuditEntry {
		return contract.AuditEntry{At: at(minutes), Action: action, JobType: "scrub", After: after}
	}
	pause, resume := func(minutes int) contract.AuditEntry { return entry(minutes, "jobtype.pause", "") }, func(minutes int) contract.AuditEntry { return entry(minutes, "jobtype.resume", "") }
	other := pause(3)
	other.JobType = "vacuum"
	for name, c := range map[string]struct {
		known   jobtypes.JobType
		entries []contract.AuditEntry
		want    []window.Span
	}{
		"never":                        {jobtypes.JobType{}, []contract.AuditEntry{other, entry(4, "jobtype.set", "enabled: false")}, nil},
		"twice":                        {jobtypes.JobType{}, []contract.AuditEntry{pause(1), resume(2), pause(5), resume(6)}, []window.Span{{From: at(1), To: at(2)}, {From: at(5), To: at(6)}}},
		"and again while it is paused": {jobtypes.JobType{}, []contract.AuditEntry{pause(1), pause(2), resume(3), resume(4)}, []window.Span{{From: at(1), To: at(3)}}},
		"until now":                    {jobtypes.JobType{Paused: true, PausedAt: at(9)}, []contract.AuditEntry{resume(0), pause(1)}, []window.Span{{From: at(1)}}},
		"by an apply":                  {jobtypes.JobType{}, []contract.AuditEntry{entry(1, "apply.update", "enabled: false"), entry(7, "apply.drift", "enabled: true")}, []window.Span{{From: at(1), To: at(7)}}},
		"not by another setting":       {jobtypes.JobType{}, []contract.AuditEntry{entry(1, "apply.update", `params.line: "enabled: false"`)}, nil},
		"with another setting":         {jobtypes.JobType{Paused: true}, []contract.AuditEntry{entry(1, "apply.update", "description: x; enabled: false")}, []window.Span{{From: at(1)}}},
		"begun without an entry":       {jobtypes.JobType{Paused: true, PausedAt: at(9), UpdatedAt: at(8)}, nil, []window.Span{{From: at(9)}}},
		"begun without any time":       {jobtypes.JobType{Paused: true, CreatedAt: created}, []contract.AuditEntry{pause(1), resume(2)}, []window.Span{{From: at(1), To: at(2)}, {From: created}}},
		"ended without an entry":       {jobtypes.JobType{UpdatedAt: at(9)}, []contract.AuditEntry{pause(1)}, []window.Span{{From: at(1), To: at(9)}}},
		"ended without any time":       {jobtypes.JobType{}, []contract.AuditEntry{pause(1)}, []window.Span{{From: at(1), To: at(1)}}},
	} {
		c.known.Name = "scrub"
		assert.Equal(t, c.want, pausesOf(c.known, c.entries), name)
	}
}
