package forecast_test

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/forecast"
	"github.com/roundsman/roundsman/internal/engine/window"
	"github.com/roundsman/roundsman/jobtype"
)

type span = window.Span

var monday = time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)

func at(minutes int) time.Time          { return monday.Add(time.Duration(minutes) * time.Minute) }
func every(step, until int) []time.Time { return everyFrom(step, step, until) }
func everyFrom(from, step, until int) (ticks []time.Time) {
	for m := from; m <= until; m += step {
		ticks = append(ticks, at(m))
	}
	return ticks
}

func genType(rt *rapid.T, name string) forecast.JobType {
	minutes := func(low, high int, label string) int { return rapid.IntRange(low, high).Draw(rt, name+" "+label) }
	const length = 7 * 24 * 60
	t := forecast.JobType{
		Name: name, Lane: rapid.SampledFrom([]string{"", "a", "b"}).Draw(rt, name+" lane"),
		Overlap: rapid.SampledFrom([]jobtype.Overlap{jobtype.OverlapSkip, jobtype.OverlapBufferOne, jobtype.OverlapBufferAll, jobtype.OverlapCancelOther}).Draw(rt, name+" overlap"),
		Typical: time.Duration(minutes(0, 300, "typical")) * time.Minute,
		Paused:  minutes(0, 9, "paused") == 0,
	}
	step := minutes(20, 2000, "every")
	t.MaxWait = time.Duration(step) * time.Minute
	t.Ticks = everyFrom(minutes(0, step, "offset"), step, length)
	if minutes(0, 2, "bounded") == 0 {
		t.MaxRuntime, t.DeadlineGrace = time.Duration(minutes(1, 200, "max"))*time.Minute, time.Duration(minutes(0, 30, "grace"))*time.Minute
	}
	if minutes(0, 1, "windowed") == 0 {
		t.Windowed, t.WindowGrace = true, time.Duration(minutes(0, 60, "window grace"))*time.Minute
		for m := minutes(0, 1000, "first window"); m < length; {
			to := m + minutes(1, 1200, "open")
			t.Open = append(t.Open, span{From: at(m), To: at(to)})
			m = to + minutes(1, 1500, "closed")
		}
	}
	if minutes(0, 9, "held") == 0 {
		t.HeldUntil = at(minutes(0, length, "held until"))
	}
	return t
}

// TestForecastAgreesWithTheWeek: the forecast of a week equals the simulated week.
func TestForecastAgreesWithTheWeek(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var types []forecast.JobType
		for _, name := range []string{"one", "two", "three", "four"}[:rapid.IntRange(1, 4).Draw(rt, "types")] {
			types = append(types, genType(rt, name))
		}
		told := forecast.Of(monday, types)
		happened := simulate(monday, types)
		slices.SortStableFunc(happened, func(a, b forecast.Tick) int {
			return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.JobType, b.JobType))
		})
		require.Len(rt, told, len(happened))
		for i := range told {
			if told[i].Code == contract.CodeOverlap {
				told[i].Object, happened[i].Object = "", "" // The simulated week names no runs.
			}
			require.Equal(rt, happened[i], told[i])
		}
		checkInvariants(rt, types, told)
	})
}

// checkInvariants: one run at a time in a lane, and none begins in a closed window.
func checkInvariants(rt *rapid.T, types []forecast.JobType, told []forecast.Tick) {
	byName := map[string]forecast.JobType{}
	due := 0
	for _, known := range types {
		byName[known.Name] = known
		due += len(known.Ticks)
	}
	require.Len(rt, told, due)
	busy := map[string]time.Time{}
	begun := slices.Clone(told)
	slices.SortStableFunc(begun, func(a, b forecast.Tick) int { return cmp.Or(a.Begins.Compare(b.Begins), a.Ends.Compare(b.Ends)) })
	for _, tick := range begun {
		known := byName[tick.JobType]
		switch tick.State {
		case contract.TickSkipped:
			require.NotEmpty(rt, tick.Code, "%+v", tick)
			require.True(rt, tick.Begins.IsZero(), "%+v", tick)
			continue
		default:
			require.Equal(rt, contract.TickRuns, tick.State)
		}
		require.False(rt, tick.Begins.Before(tick.At), "%+v", tick)
		if known.Lane != "" {
			require.False(rt, tick.Begins.Before(busy[known.Lane]), "lane %s is busy until %s: %+v", known.Lane, busy[known.Lane], tick)
			busy[known.Lane] = tick.Ends
		}
		if known.Windowed {
			require.True(rt, slices.ContainsFunc(known.Open, func(s span) bool { return !tick.Begins.Before(s.From) && tick.Begins.Before(s.To) }), "%+v", tick)
		}
	}
}

func TestOpenRuns(t *testing.T) {
	t.Parallel()
	hourly := forecast.JobType{Name: "scrub", Lane: "disk", Ticks: every(60, 180), MaxWait: time.Hour, Typical: 90 * time.Minute}
	hourly.Running = []forecast.Running{{WorkflowID: "group/scrub-1", Since: monday.Add(-time.Hour)}}
	other := forecast.JobType{Name: "vacuum", Lane: "disk", Ticks: []time.Time{at(10)}, MaxWait: 24 * time.Hour, Typical: time.Hour}
	told := forecast.Of(monday, []forecast.JobType{hourly, other})
	require.Len(t, told, 4)
	assert.Equal(t, forecast.Tick{
		JobType: "vacuum", At: at(10), State: contract.TickRuns, Code: contract.CodeLaneBusy, Object: "disk",
		Begins: at(30), Ends: at(90), Waits: jobtype.Duration(20 * time.Minute),
	}, told[0], "the open run holds the lane until it has taken its usual 90 minutes")
	assert.Equal(t, at(90), told[1].Begins)
	assert.Equal(t, contract.CodeOverlap, told[2].Code, "at 02:00 the run of 01:00 is open")
	assert.Equal(t, contract.TickSkipped, told[2].State)
	assert.Equal(t, at(180), told[3].Begins, "a run that ends at the instant is not in its way")
}

// TestBufferedRuns: a buffered run begins when the open one ends, and the next tick finds it
// open.
func TestBufferedRuns(t *testing.T) {
	t.Parallel()
	known := forecast.JobType{
		Name: "scrub", Overlap: jobtype.OverlapBufferOne, Typical: 30 * time.Minute, Ticks: []time.Time{at(10), at(50)},
		Running: []forecast.Running{{WorkflowID: "group/scrub-1", Since: monday.Add(-10 * time.Minute)}}, Buffered: 1,
	}
	told := forecast.Of(monday, []forecast.JobType{known})
	require.Len(t, told, 2, "the instant of the buffered run is over")
	assert.Equal(t, contract.TickSkipped, told[0].State, "buffer_one keeps one run back, and it is there")
	assert.Equal(t, contract.CodeOverlap, told[0].Code)
	assert.Equal(t, at(50), told[1].Begins, "the buffered run ended at this moment")
	known.Overlap, known.Buffered = jobtype.OverlapBufferAll, 2
	told = forecast.Of(monday, []forecast.JobType{known})
	assert.Equal(t, at(80), told[0].Begins, "after the open run and two that are kept back")
	assert.Equal(t, at(110), told[1].Begins)
	known.Running = nil
	told = forecast.Of(monday, []forecast.JobType{known})
	assert.Equal(t, at(60), told[0].Begins, "the first of both starts now")
}

// TestALaneIsWaitedFor: a run keeps its place in a lane that is busy for longer than its
// interval.
func TestALaneIsWaitedFor(t *testing.T) {
	t.Parallel()
	long := forecast.JobType{Name: "long", Lane: "disk", Typical: 5 * time.Hour, Running: []forecast.Running{{WorkflowID: "group/long-1", Since: monday}}}
	short := forecast.JobType{Name: "short", Lane: "disk", Ticks: every(30, 330), MaxWait: 30 * time.Minute, Typical: time.Minute}
	told := forecast.Of(monday, []forecast.JobType{long, short})
	assert.Equal(t, forecast.Tick{
		JobType: "short", At: at(30), State: contract.TickRuns, Code: contract.CodeLaneBusy, Object: "disk",
		Begins: at(300), Ends: at(301), Waits: jobtype.Duration(270 * time.Minute),
	}, told[0])
	for _, tick := range told[1:10] {
		assert.Equal(t, contract.CodeOverlap, tick.Code, "one run waits: %+v", tick)
	}
	assert.Equal(t, at(330), told[10].Begins)
}

func TestOverdueRunEndsNow(t *testing.T) {
	t.Parallel()
	known := forecast.JobType{Name: "scrub", Ticks: []time.Time{at(0)}, MaxWait: time.Hour, Typical: time.Minute}
	known.Running = []forecast.Running{{WorkflowID: "group/scrub-1", Since: monday.Add(-time.Hour)}}
	assert.Equal(t, contract.TickRuns, forecast.Of(monday, []forecast.JobType{known})[0].State)
}

// TestPastSuccesses: a known success answers a condition; nothing else does.
func TestPastSuccesses(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC)
	day := 24 * time.Hour
	ticks := forecast.Of(from, []forecast.JobType{{
		Name: "copy", Ticks: []time.Time{from.Add(2 * time.Hour), from.Add(26 * time.Hour), from.Add(50 * time.Hour)}, Typical: time.Hour,
		Conditions: []forecast.Condition{
			{Code: contract.CodeAfter, Object: "dump", Within: jobtype.Duration(day), Last: from.Add(3 * time.Hour)},
			{Code: contract.CodeNotDue, Within: jobtype.Duration(20 * time.Hour), Last: from.Add(-time.Hour)},
		},
	}})
	assert.Equal(t, contract.TickSkipped, ticks[0].State)
	assert.Equal(t, contract.CodeNotDue, ticks[0].Code, "it succeeded an hour ago")
	assert.Equal(t, contract.TickRuns, ticks[1].State)
	assert.Equal(t, from.Add(26*time.Hour), ticks[1].Begins, "the dump of 03:00 is young enough")
	assert.Len(t, ticks[1].If, 1)
	assert.Equal(t, contract.CodeAfter, ticks[2].Code)
	assert.Zero(t, ticks[2].Begins, "nobody knows when the next dump succeeds")
	assert.Len(t, ticks[2].If, 2)
}

// TestAnOpenApproval: its run may last until max_runtime, and another run has its lane.
func TestAnOpenApproval(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC)
	types := []forecast.JobType{
		{
			Name: "gated", Lane: "night", Ticks: []time.Time{from.Add(time.Hour), from.Add(5 * time.Hour)}, Typical: time.Minute, MaxRuntime: 4 * time.Hour,
			Running: []forecast.Running{{WorkflowID: "group/gated-1", Since: from, Approval: true, OffLane: true}},
		},
		{Name: "other", Lane: "night", Ticks: []time.Time{from.Add(time.Hour)}, Typical: time.Minute},
	}
	ticks := forecast.Of(from, types)
	assert.Equal(t, contract.CodeOverlap, ticks[0].Code)
	assert.Equal(t, from.Add(time.Hour), ticks[1].Begins, "the lane is free")
	assert.Equal(t, from.Add(5*time.Hour), ticks[2].Begins)
	types[0].Running[0].OffLane = false
	assert.Equal(t, from.Add(4*time.Hour), forecast.Of(from, types)[1].Begins, "approvals_keep_lane")
}
