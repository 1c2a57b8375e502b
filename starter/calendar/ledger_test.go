package calendar

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
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
}
