package ticks_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/ticks"
	"github.com/roundsman/roundsman/internal/engine/window"
	"github.com/roundsman/roundsman/jobtype"
)

var monday = time.Date(2026, 11, 16, 0, 0, 0, 0, time.UTC)

func at(minutes int) time.Time { return monday.Add(time.Duration(minutes) * time.Minute) }

// truth is the action of a simulated Schedule with policy.overlap skip at an instant.
type truth struct {
	state contract.TickState
	code  contract.Code
	run   string
}

// history simulates a week of one Schedule: outages of the server, pauses, runs of
// any length, runs that somebody triggered in between.
type history struct {
	known ticks.JobType
	did   map[time.Time]truth
	now   time.Time
}

func genHistory(rt *rapid.T) history {
	minutes := func(low, high int, label string) int { return rapid.IntRange(low, high).Draw(rt, label) }
	const length = 7 * 24 * 60
	step := minutes(5, 1500, "every")
	h := history{known: ticks.JobType{Name: "scrub", Jitter: time.Duration(minutes(0, step-1, "jitter")) * time.Minute}, did: map[time.Time]truth{}, now: at(length)}
	var outages []window.Span
	for m := minutes(0, 3000, "first outage"); m < length; m += minutes(100, 5000, "until the next") {
		to := m + minutes(1, 400, "outage")
		outages = append(outages, window.Span{From: at(m), To: at(to)})
		m = to
	}
	for m := minutes(0, 3000, "first pause"); m < length; m += minutes(100, 5000, "until the next pause") {
		to := m + minutes(1, 1000, "pause")
		span := window.Span{From: at(m), To: at(to)}
		if to >= length {
			span.To = time.Time{}
		}
		h.known.Pauses = append(h.known.Pauses, span)
		m = to
	}
	catchUp := time.Duration(minutes(1, 300, "catch-up")) * time.Minute
	var open ticks.Run
	for m := step; m < length; m += step {
		due := at(m)
		tick := due
		if h.known.Jitter > 0 {
			tick = due.Add(time.Duration(minutes(0, int(h.known.Jitter/time.Minute)-1, "jittered")) * time.Minute)
		}
		h.known.Ticks = append(h.known.Ticks, tick)
		handled := tick
		for _, outage := range outages {
			if !tick.Before(outage.From) && tick.Before(outage.To) {
				handled = outage.To
			}
		}
		isOpen := !open.Started.IsZero() && open.Ended.After(handled)
		switch {
		case paused(h.known.Pauses, tick):
			h.did[tick] = truth{contract.TickSkipped, contract.CodePaused, ""}
		case openAt(h.known.Runs, tick) != "" && (isOpen || handled.Sub(tick) > catchUp):
			// Whether the server was away, too, makes no difference then.
			h.did[tick] = truth{contract.TickSkipped, contract.CodeOverlap, openAt(h.known.Runs, tick)}
		case handled.Sub(tick) > catchUp:
			h.did[tick] = truth{contract.TickMissed, contract.CodeServerAway, ""}
		case isOpen:
			h.did[tick] = truth{contract.TickSkipped, contract.CodeCaughtUp, open.WorkflowID}
		default:
			open = ticks.Run{WorkflowID: "group/scrub-" + due.Format(time.RFC3339), Due: due, Started: handled, Outcome: contract.OutcomeCompleted}
			// Half minutes: an end at the very instant of a tick is ambiguous.
			open.Ended = handled.Add(time.Duration(minutes(1, 600, "length"))*time.Minute + 30*time.Second)
			did := truth{contract.TickRan, "", open.WorkflowID}
			if minutes(0, 5, "skipped") == 0 {
				open.Outcome, open.Code = contract.OutcomeSkipped, contract.CodeLaneBusy
				did = truth{contract.TickSkipped, contract.CodeLaneBusy, open.WorkflowID}
			}
			if open.Ended.After(h.now) {
				shown := open
				shown.Ended, shown.Outcome = time.Time{}, ""
				h.known.Runs = append(h.known.Runs, shown)
				h.did[tick] = truth{contract.TickOpen, "", open.WorkflowID}
				continue
			}
			h.known.Runs = append(h.known.Runs, open)
			h.did[tick] = did
		}
	}
	return h
}

func openAt(runs []ticks.Run, at time.Time) string {
	for _, run := range runs {
		if !run.Started.After(at) && (run.Ended.IsZero() || run.Ended.After(at)) {
			return run.WorkflowID
		}
	}
	return ""
}

func paused(pauses []window.Span, at time.Time) bool {
	for _, pause := range pauses {
		if !at.Before(pause.From) && (pause.To.IsZero() || at.Before(pause.To)) {
			return true
		}
	}
	return false
}

// TestLedgerTellsWhatTheScheduleDid: the ledger explains every instant of a simulated week
// correctly, except those of the last minute.
func TestLedgerTellsWhatTheScheduleDid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		h := genHistory(rt)
		told := ticks.Of(h.now, h.known)
		expected := 0
		for _, tick := range h.known.Ticks {
			if !tick.After(h.now) && (h.now.Sub(tick) >= ticks.Late || h.did[tick].state != contract.TickMissed) {
				expected++
			}
		}
		require.Len(rt, told, expected)
		for _, tick := range told {
			did := h.did[tick.At]
			told := truth{tick.State, tick.Code, tick.Run}
			require.Equal(rt, did, told, "%+v", tick)
		}
	})
}

// TestKeptBack: an instant that the Schedule buffers waits for the open run; it is not skipped.
func TestKeptBack(t *testing.T) {
	t.Parallel()
	known := ticks.JobType{
		Name: "scrub", Ticks: []time.Time{at(0), at(10), at(20), at(30)}, Overlap: jobtype.OverlapBufferOne, Buffered: 1,
		Runs: []ticks.Run{{WorkflowID: "group/scrub-0", Due: at(0), Started: at(0)}},
	}
	states := func() (states []contract.TickState) {
		for _, tick := range ticks.Of(at(35), known) {
			states = append(states, tick.State)
			if tick.State != contract.TickOpen {
				assert.Equal(t, "group/scrub-0", tick.Run)
			}
		}
		return states
	}
	const open, waits, skipped = contract.TickOpen, contract.TickWaiting, contract.TickSkipped
	assert.Equal(t, []contract.TickState{open, waits, skipped, skipped}, states(), "buffer_one keeps the first")
	known.Overlap, known.Buffered = jobtype.OverlapBufferAll, 3
	assert.Equal(t, []contract.TickState{open, waits, waits, waits}, states())
	known.Overlap, known.Buffered = jobtype.OverlapCancelOther, 1
	assert.Equal(t, []contract.TickState{open, skipped, skipped, waits}, states(), "it waits for the canceled run to end")
	known.Overlap = jobtype.OverlapSkip
	assert.Equal(t, []contract.TickState{open, skipped, skipped, skipped}, states(), "what skip has comes from a backfill")
	// The run of 00:10 began late, and while it runs the next one is kept back.
	known.Overlap = jobtype.OverlapBufferOne
	known.Runs = []ticks.Run{{WorkflowID: "group/scrub-0", Due: at(0), Started: at(0), Ended: at(25), Outcome: contract.OutcomeCompleted}, {WorkflowID: "group/scrub-10", Due: at(10), Started: at(25)}}
	told := ticks.Of(at(35), known)
	assert.Equal(t, contract.TickSkipped, told[2].State, "00:20 came while 00:10 was kept back")
	assert.Equal(t, contract.TickWaiting, told[3].State)
	assert.Equal(t, "group/scrub-10", told[3].Run)
	// The runs were listed before the first one ended, and the Schedule was read after it had started the second.
	known.Runs[0].Ended, known.Runs[0].Outcome = time.Time{}, ""
	told = ticks.Of(at(35), known)
	assert.Equal(t, contract.TickSkipped, told[2].State, "00:20 came while 00:10 was kept back")
	assert.Equal(t, contract.TickWaiting, told[3].State)
	// The Schedule notices the end of a run late, and starts the next one then.
	known.Runs[0].Ended, known.Runs[1].Started = at(20).Add(-2*time.Second), at(20).Add(3*time.Second)
	assert.Equal(t, contract.TickSkipped, ticks.Of(at(35), known)[2].State, "00:20 came before 00:10 had started")
	// A late Schedule takes 00:00 to 00:20 at 00:25. It starts the first and keeps the second.
	known.Runs = []ticks.Run{{WorkflowID: "group/scrub-0", Due: at(0), Started: at(25)}}
	assert.Equal(t, []contract.TickState{open, waits, skipped, skipped}, states(), "the open run waited for no other")
}

func TestRunsThatAreNoTicks(t *testing.T) {
	t.Parallel()
	known := ticks.JobType{
		Name: "scrub", Ticks: []time.Time{at(10), at(20)},
		Runs: []ticks.Run{
			{WorkflowID: "group/scrub-triggered", Due: at(7), Started: at(7), Ended: at(8), Outcome: contract.OutcomeCompleted},
			{WorkflowID: "adhoc/scrub/1", Started: at(9), Ended: at(30), Outcome: contract.OutcomeCompleted},
			{WorkflowID: "group/scrub-10", Due: at(10), Started: at(10), Ended: at(12), Outcome: contract.OutcomeFailed},
		},
	}
	told := ticks.Of(at(60), known)
	require.Len(t, told, 2)
	assert.Equal(t, "group/scrub-10", told[0].Run, "a triggered run names no instant")
	assert.Equal(t, contract.TickRan, told[0].State, "a run that failed has run")
	assert.Equal(t, contract.CodeServerAway, told[1].Code, "a submitted run is in nobody's way")
}

func TestWhatIsNotKnown(t *testing.T) {
	t.Parallel()
	known := ticks.JobType{
		Name: "scrub", Ticks: []time.Time{at(10), at(20), at(30)}, AppliedAt: at(15), KeptSince: at(25),
		Runs: []ticks.Run{{WorkflowID: "group/scrub-5", Due: at(5), Started: at(5), Ended: at(6), Outcome: contract.OutcomeCompleted}},
	}
	told := ticks.Of(at(60), known)
	require.Len(t, told, 3, "the instant before the schedule was applied is none")
	assert.Equal(t, "group/scrub-5", told[0].Run, "but for one of the schedule before that has a run")
	assert.Equal(t, contract.CodeForgotten, told[1].Code)
	assert.Equal(t, contract.CodeServerAway, told[2].Code)
	assert.Empty(t, ticks.Of(at(10).Add(time.Second), ticks.JobType{Name: "scrub", Ticks: []time.Time{at(10)}}), "its run is about to start")
}
