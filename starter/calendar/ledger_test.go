package calendar

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/starter"
)

// An instant whose run was not read must not count as missed.
func TestALedgerBeginsBehindTheRunsThatWereNotRead(t *testing.T) {
	t.Parallel()
	requested := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	at := func(hours int) time.Time { return requested.Add(time.Duration(hours) * time.Hour) }
	runs := []starter.Run{{Started: at(30)}, {Started: at(20), Ended: at(21)}, {Started: at(18), Ended: at(19)}, {Started: at(2), Ended: at(22)}}
	l := Ledger{From: requested}
	l.cut(runs, 5)
	assert.Equal(t, Ledger{From: requested}, l)
	l.cut(runs, 4)
	assert.Equal(t, Ledger{From: at(19), Incomplete: true}, l, "a run that was not read ended before")
}
