package duration_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/duration"
	"github.com/roundsman/roundsman/jobtype"
)

var night = time.Date(2026, 11, 23, 2, 0, 0, 0, time.UTC)

// runs that took so many minutes, with ten jobs for each.
func runs(minutes ...int) []contract.RunSummary {
	var past []contract.RunSummary
	for _, m := range minutes {
		past = append(past, contract.RunSummary{StartedAt: night, EndedAt: night.Add(time.Duration(m) * time.Minute), Counts: contract.GroupCounts{Accepted: 10 * m}})
	}
	return past
}

func minutes(m float64) jobtype.Duration { return jobtype.Duration(m * float64(time.Minute)) }

func TestUsual(t *testing.T) {
	t.Parallel()
	assert.Zero(t, duration.UsualOf(nil))
	assert.Zero(t, duration.UsualOf([]contract.RunSummary{{EndedAt: night}, {StartedAt: night}}), "they never began, or never ended")
	assert.Equal(t, contract.Usual{Of: 5, Took: minutes(40), Spread: minutes(2), Jobs: 400}, duration.UsualOf(runs(38, 40, 42, 39, 400)),
		"one run that hung changes neither the median nor the spread much")
	assert.Equal(t, contract.Usual{Of: 2, Took: minutes(1), Jobs: 10}, duration.UsualOf(runs(2, 1)))
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	usual := duration.UsualOf(runs(38, 40, 42, 39, 41)) // 40m ± 1m: the margin is a fifth, 8 minutes.
	wide := duration.UsualOf(runs(20, 30, 40, 50, 60))  // 40m ± 10m: the margin is 30 minutes.
	short := contract.Usual{Of: 10, Took: jobtype.Duration(time.Second)}
	for _, c := range []struct {
		name  string
		took  jobtype.Duration
		open  bool
		usual contract.Usual
		want  contract.PaceVerdict
	}{
		{"within the margin", minutes(48), false, usual, contract.PaceUsual},
		{"beyond it", minutes(48.1), false, usual, contract.PaceSlower},
		{"beyond it while it runs", minutes(48.1), true, usual, contract.PaceSlower},
		{"below it", minutes(31.9), false, usual, contract.PaceFaster},
		{"below it while it runs", minutes(1), true, usual, contract.PaceUsual},
		{"what varies much", minutes(69), false, wide, contract.PaceUsual},
		{"and is beyond that", minutes(71), false, wide, contract.PaceSlower},
		{"two runs are not enough", minutes(500), false, duration.UsualOf(runs(1, 2)), contract.PaceUnknown},
		{"a second more of one", jobtype.Duration(2 * time.Second), false, short, contract.PaceUsual},
		{"three more", jobtype.Duration(4 * time.Second), false, short, contract.PaceSlower},
	} {
		got := duration.Of(c.took.Std(), c.open, 7, c.usual)
		assert.Equal(t, contract.Pace{Verdict: c.want, Took: c.took, Jobs: 7, Open: c.open, Usual: c.usual}, got, c.name)
	}
}

// TestMostPastRunsAreUsual: at least half of any past runs are not slower than usual, and a
// longer run is never less slow.
func TestMostPastRunsAreUsual(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		took := rapid.SliceOfN(rapid.IntRange(1, 10_000), duration.MinRuns, contract.MaxRunRecords).Draw(rt, "took")
		usual := duration.UsualOf(runs(took...))
		slower := 0
		for _, m := range took {
			verdict := duration.Of(minutes(float64(m)).Std(), false, 1, usual).Verdict
			if verdict == contract.PaceSlower {
				slower++
				assert.Equal(rt, contract.PaceSlower, duration.Of(minutes(float64(m+1)).Std(), false, 1, usual).Verdict)
			}
		}
		assert.LessOrEqual(rt, 2*slower, len(took))
	})
}

func TestLeft(t *testing.T) {
	t.Parallel()
	past := []time.Duration{10 * time.Minute, 12 * time.Minute, 14 * time.Minute}
	for _, c := range []struct {
		name    string
		attempt duration.Attempt
		left    time.Duration
		basis   duration.Basis
	}{
		{"its progress", duration.Attempt{Elapsed: 10 * time.Minute, Percent: 25, Estimated: time.Hour, Past: past}, 30 * time.Minute, duration.ByProgress},
		{"it is done but for its end", duration.Attempt{Elapsed: time.Minute, Percent: 100, Past: past}, 0, duration.ByProgress},
		{"too little progress to tell", duration.Attempt{Elapsed: time.Minute, Percent: 1, Past: past}, 11 * time.Minute, duration.ByPast},
		{"the estimate of its proposal", duration.Attempt{Elapsed: time.Minute, Percent: -1, Estimated: time.Hour, Past: past}, 59 * time.Minute, duration.ByEstimate},
		{"past its estimate", duration.Attempt{Elapsed: 11 * time.Minute, Percent: -1, Estimated: time.Minute, Past: past}, time.Minute, duration.ByPast},
		{"like the slow ones", duration.Attempt{Elapsed: 13 * time.Minute, Percent: -1, Past: past}, time.Minute, duration.ByPast},
		{"longer than all", duration.Attempt{Elapsed: 20 * time.Minute, Percent: -1, Past: past}, 0, duration.Unknown},
		{"nothing is known", duration.Attempt{Elapsed: time.Minute, Percent: -1}, 0, duration.Unknown},
	} {
		left, basis := duration.Left(c.attempt)
		assert.Equal(t, c.left, left, c.name)
		assert.Equal(t, c.basis, basis, c.name)
	}
}
