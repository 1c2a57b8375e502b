package breaks_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/engine/run/breaks"
)

var now = time.Date(2026, 11, 26, 2, 0, 0, 0, time.UTC)

func first(int) int { return 1 }

func TestALaneIsGivenBackOnceAllRunsWait(t *testing.T) {
	t.Parallel()
	var b breaks.Break
	b.Note(breaks.Report{Job: 1, Attempt: 1, Seq: 1})
	assert.Equal(t, breaks.Nothing, b.Next(2, first, now), "job 2 works")
	b.Note(breaks.Report{Job: 2, Attempt: 1, Seq: 1})
	assert.Equal(t, breaks.Release, b.Next(2, first, now))
	assert.Equal(t, breaks.Nothing, b.Next(2, first, now))
	b.Note(breaks.Report{Job: 2, Attempt: 1, Seq: 2, Wants: true})
	assert.Empty(t, b.Answer(), "the lane is another's")
	assert.Equal(t, breaks.Request, b.Next(2, first, now))
	assert.Equal(t, breaks.Nothing, b.Next(2, first, now), "one request")
	b.Granted()
	want := breaks.Report{Job: 2, Attempt: 1, Seq: 2, Wants: true}
	assert.Equal(t, []breaks.Report{want}, b.Answer())
	b.Answered(want)
	assert.Equal(t, breaks.Nothing, b.Next(2, first, now), "job 2 works, job 1 waits")
	b.Note(breaks.Report{Job: 2, Attempt: 1, Seq: 3})
	assert.Equal(t, breaks.Release, b.Next(2, first, now))
}

func TestAnOldReportChangesNothing(t *testing.T) {
	t.Parallel()
	var b breaks.Break
	b.Note(breaks.Report{Job: 1, Attempt: 1, Seq: 2, Wants: true})
	b.Note(breaks.Report{Job: 1, Attempt: 1, Seq: 1})
	assert.Equal(t, breaks.Nothing, b.Next(1, first, now))
	require.Len(t, b.Answer(), 1, "the group has its lane")
	b.Answered(b.Answer()[0])
	assert.Empty(t, b.Answer())
	b.Note(breaks.Report{Job: 1, Attempt: 1, Seq: 1})
	assert.Equal(t, breaks.Nothing, b.Next(1, first, now), "its run works")
}

// TestARetryNeedsTheLane: the run ended while the lane was given back, and its job starts again.
func TestARetryNeedsTheLane(t *testing.T) {
	t.Parallel()
	var b breaks.Break
	b.Note(breaks.Report{Job: 1, Attempt: 1, Seq: 1})
	assert.Equal(t, breaks.Release, b.Next(1, first, now))
	assert.Equal(t, breaks.Request, b.Next(1, func(int) int { return 0 }, now))
	b.Refused(now)
	assert.Equal(t, breaks.Nothing, b.Next(1, func(int) int { return 0 }, now))
	assert.Equal(t, breaks.Request, b.Next(1, func(int) int { return 0 }, b.RetryAt()))
	b.Granted()
	b.Note(breaks.Report{Job: 1, Attempt: 2, Seq: 1})
	assert.Equal(t, breaks.Release, b.Next(1, func(int) int { return 2 }, now), "a new attempt counts from one")
}

func TestAnEndedGroupRequestsNothing(t *testing.T) {
	t.Parallel()
	var b breaks.Break
	b.Note(breaks.Report{Job: 1, Attempt: 1, Seq: 1})
	assert.Equal(t, breaks.Release, b.Next(1, first, now))
	assert.Equal(t, breaks.Nothing, b.Next(0, func(int) int { return 0 }, now))
}

// TestARefusalIsForgottenWithItsNeed: the run that wanted the lane is canceled, the others wait for people.
func TestARefusalIsForgottenWithItsNeed(t *testing.T) {
	t.Parallel()
	var b breaks.Break
	b.Note(breaks.Report{Job: 1, Attempt: 1, Seq: 1})
	b.Note(breaks.Report{Job: 2, Attempt: 1, Seq: 1})
	assert.Equal(t, breaks.Release, b.Next(2, first, now))
	b.Note(breaks.Report{Job: 1, Attempt: 1, Seq: 2, Wants: true})
	assert.Equal(t, breaks.Request, b.Next(2, first, now))
	b.Refused(now)
	assert.NotZero(t, b.RetryAt())
	gone := func(job int) int { return job - 1 }
	assert.Equal(t, breaks.Nothing, b.Next(1, gone, b.RetryAt()))
	assert.Zero(t, b.RetryAt(), "no timer in the past")
}
