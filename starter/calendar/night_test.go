package calendar

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

func TestNight(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 24, 3, 0, 0, 0, time.UTC)
	in := func(minutes int) time.Time { return now.Add(time.Duration(minutes) * time.Minute) }
	run := func(name string, from, to int, outcome contract.Outcome) starter.Run {
		ended := starter.Run{RunRef: starter.RunRef{WorkflowID: "group/" + name + "-1"}, JobType: name, Kind: starter.KindGroup, Status: "Completed", Outcome: outcome, Started: in(from), Ended: in(to)}
		if to > 0 {
			ended.Status, ended.Ended = starter.StatusRunning, time.Time{}
		}
		return ended
	}
	windowed := jobtypes.JobType{Name: "windowed", Spec: contract.JobTypeSpec{Calendar: &jobtype.Calendar{Windows: []jobtype.Window{{From: "04:00", To: "05:00"}}}}}
	night := nightOf(now, in(-360), in(360), []starter.Run{
		run("good", -90, -60, contract.OutcomeCompleted), run("good", -90, -60, contract.OutcomeCompleted), run("bad", -50, -40, contract.OutcomeFailed), run("open", -10, 1, ""), run("old", -500, -400, contract.OutcomeFailed),
	}, Forecast{
		Types: []ForecastType{{JobType: "open", Typical: jobtype.Duration(30 * time.Minute), Of: 5}},
		Ticks: []ForecastTick{
			{JobType: "windowed", At: in(30), State: contract.TickRuns, Begins: in(60), Ends: in(70)},
			{JobType: "good", At: in(120), State: contract.TickSkipped},
			{JobType: "good", At: in(1200), State: contract.TickRuns},
		},
		known: []jobtypes.JobType{windowed, {Name: "good"}},
	})
	names, kinds := []string{}, map[string][]string{}
	for _, row := range night.Rows {
		names = append(names, row.JobType)
		for _, bar := range row.Bars {
			kinds[row.JobType] = append(kinds[row.JobType], bar.Kind)
		}
	}
	assert.Equal(t, []string{"bad", "open", "good", "windowed"}, names, "failed, open, the others; nothing of before")
	assert.Equal(t, map[string][]string{
		"bad": {NightRun}, "open": {NightRun, NightRest}, "good": {NightRun, NightSkip}, "windowed": {NightClosed, NightPlan, NightClosed},
	}, kinds)
	assert.Equal(t, NightBar{Kind: NightRest, From: in(-10), Until: in(20), Run: "group/open-1"}, night.Rows[1].Bars[1])
	assert.Equal(t, explain.RoleFailed, night.Rows[0].Bars[0].Role)
	assert.Equal(t, []time.Time{in(-360), in(60), in(60), in(70), in(120), in(360)}, []time.Time{
		night.Rows[3].Bars[0].From, night.Rows[3].Bars[0].Until, night.Rows[3].Bars[1].From, night.Rows[3].Bars[1].Until, night.Rows[3].Bars[2].From, night.Rows[3].Bars[2].Until,
	})

	night.Cut(1, func(name string) bool { return name != "windowed" })
	assert.Len(t, night.Rows, 1)
	assert.Equal(t, NightQuiet{JobTypes: 2, Runs: 2, Skipped: 1}, night.Quiet)
}

func TestANightKeepsTheBarsNearestToNow(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 24, 3, 0, 0, 0, time.UTC)
	in := func(minutes int) time.Time { return now.Add(time.Duration(minutes) * time.Minute) }
	runs := []starter.Run{
		{RunRef: starter.RunRef{WorkflowID: "group/often-stuck"}, JobType: "often", Status: starter.StatusRunning, Started: in(-1999)},
		{RunRef: starter.RunRef{WorkflowID: "group/often-bad"}, JobType: "often", Status: "Completed", Outcome: contract.OutcomeFailed, Started: in(-1990), Ended: in(-1989)},
	}
	for i := 1; i <= 2*maxNightBars; i++ {
		runs = append(runs, starter.Run{RunRef: starter.RunRef{WorkflowID: fmt.Sprint("group/often-", i)}, JobType: "often", Status: "Completed", Outcome: contract.OutcomeCompleted, Started: in(-i - 1), Ended: in(-i)})
	}
	runs = append(runs, starter.Run{RunRef: starter.RunRef{WorkflowID: "group/a-1"}, JobType: "a", Status: starter.StatusRunning, Started: in(-5)})
	night := nightOf(now, in(-2000), in(2000), runs, Forecast{Ticks: []ForecastTick{{JobType: "often", At: in(1), State: contract.TickRuns, Begins: in(1)}}})
	assert.Equal(t, "often", night.Rows[0].JobType, "a failed run counts, though its bar is left out")
	bars := night.Rows[0].Bars
	assert.Len(t, bars, maxNightBars)
	assert.Equal(t, 2*maxNightBars+3-maxNightBars, night.Rows[0].LeftOut)
	assert.Equal(t, "group/often-stuck", bars[0].Run, "an open run is kept, however old")
	assert.Equal(t, []string{"group/often-1", ""}, []string{bars[len(bars)-2].Run, bars[len(bars)-1].Run}, "the oldest are left out")

	night.Cut(0, func(string) bool { return true })
	assert.Equal(t, NightQuiet{JobTypes: 2, Runs: 2*maxNightBars + 3, Due: 1}, night.Quiet, "the sum has all of them")
}
