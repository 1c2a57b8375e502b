package window_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/instant"
	"github.com/roundsman/roundsman/internal/engine/window"
	"github.com/roundsman/roundsman/jobtype"
)

const minute = time.Minute

func location(t require.TestingT, name string) *time.Location {
	zone, err := time.LoadLocation(name)
	require.NoError(t, err)
	return zone
}

func compile(t require.TestingT, spec *jobtype.Calendar) *window.Calendar {
	calendar, err := window.New(spec, time.LoadLocation)
	require.NoError(t, err)
	return calendar
}

// model is simple on purpose: it reads the wall clock.
type model struct {
	days     string
	from, to int
	zone     *time.Location
}

func newModel(t require.TestingT, days []string, from, to, zone string) model {
	number := func(text string) int {
		var hour, past int
		_, err := fmt.Sscanf(text, "%d:%d", &hour, &past)
		require.NoError(t, err)
		return hour*60 + past
	}
	return model{strings.Join(days, " "), number(from), number(to), location(t, zone)}
}

func (m model) shows(at time.Time) bool {
	local := at.In(m.zone)
	allowed := func(day time.Weekday) bool {
		return m.days == "" || strings.Contains(m.days, strings.ToLower(day.String()[:3]))
	}
	now := local.Hour()*60 + local.Minute()
	if m.from < m.to {
		return allowed(local.Weekday()) && m.from <= now && now < m.to
	}
	return now >= m.from && allowed(local.Weekday()) || now < m.to && allowed((local.Weekday()+6)%7)
}

// walk lists the open spans minute by minute.
func walk(t require.TestingT, spec *jobtype.Calendar, within window.Span) []window.Span {
	var spans []window.Span
	var windows, blackouts []model
	for _, w := range spec.Windows {
		windows = append(windows, newModel(t, w.Days, w.From, w.To, w.Timezone))
	}
	for _, b := range spec.Blackouts {
		blackouts = append(blackouts, newModel(t, b.Days, b.From, b.To, b.Timezone))
	}
	was := false
	for at := within.From; at.Before(within.To); at = at.Add(minute) {
		shows := func(m model) bool { return m.shows(at) }
		is := (len(windows) == 0 || slices.ContainsFunc(windows, shows)) && !slices.ContainsFunc(blackouts, shows)
		if is && !was {
			spans = append(spans, window.Span{From: at})
		}
		if is {
			spans[len(spans)-1].To = at.Add(minute)
		}
		was = is
	}
	return spans
}

func zones() []string {
	return []string{
		"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC", "Asia/Kolkata", "America/Sao_Paulo",
		"Africa/Casablanca", "Asia/Beirut", "Pacific/Apia", "America/St_Johns", "Antarctica/Troll",
	}
}

func timeGen() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		hour := rapid.SampledFrom([]int{0, 1, 1, 2, 2, 3, 3, 6, 12, 22, 23}).Draw(t, "hour")
		return fmt.Sprintf("%02d:%02d", hour, rapid.SampledFrom([]int{0, 0, 15, 30, 45, 59}).Draw(t, "minute"))
	})
}

func windowGen() *rapid.Generator[jobtype.Window] {
	return rapid.Custom(func(t *rapid.T) jobtype.Window {
		w := jobtype.Window{
			From: timeGen().Draw(t, "from"), Timezone: rapid.SampledFrom(zones()).Draw(t, "zone"),
			Days: rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"mon", "tue", "sat", "sun"}), 0, 3, rapid.ID).Draw(t, "days"),
		}
		w.To = rapid.Custom(func(t *rapid.T) string { return timeGen().Draw(t, "to") }).
			Filter(func(to string) bool { return to != w.From }).Draw(t, "other")
		return w
	})
}

func calendarGen() *rapid.Generator[*jobtype.Calendar] {
	return rapid.Custom(func(t *rapid.T) *jobtype.Calendar {
		spec := &jobtype.Calendar{Windows: rapid.SliceOfN(windowGen(), 0, 3).Draw(t, "windows")}
		for _, w := range rapid.SliceOfN(windowGen(), 0, 2).Draw(t, "blackouts") {
			spec.Blackouts = append(spec.Blackouts, jobtype.Blackout{Days: w.Days, From: w.From, To: w.To, Timezone: w.Timezone})
		}
		return spec
	})
}

// changes are days around which some of the zones change their clocks.
func changes() []time.Time {
	var days []time.Time
	for _, text := range []string{
		"2026-03-29", "2026-10-25", "2026-03-08", "2026-11-01", "2026-04-05", "2026-10-04",
		"2018-02-18", "2018-11-04", "2011-12-30", "2025-03-30", "2026-02-15",
	} {
		at, err := time.Parse(time.DateOnly, text)
		if err == nil {
			days = append(days, at)
		}
	}
	return days
}

func TestSpansAreWhatTheClockOnTheWallShows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		spec := calendarGen().Draw(t, "calendar")
		middle := rapid.SampledFrom(changes()).Draw(t, "change")
		start := middle.Add(-time.Duration(rapid.IntRange(0, 4*24*60).Draw(t, "before")) * minute)
		within := window.Span{From: start, To: middle.Add(3 * 24 * time.Hour)}
		assert.Equal(t, walk(t, spec, within), compile(t, spec).Spans(within))
	})
}

// TestWholeYears walks years with both changes, minute by minute.
func TestWholeYears(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]*jobtype.Calendar{
		"Berlin": {Windows: []jobtype.Window{
			{Days: []string{"mon", "tue", "wed", "thu", "sun"}, From: "22:00", To: "06:00", Timezone: "Europe/Berlin"},
		}, Blackouts: []jobtype.Blackout{{Days: []string{"sun"}, From: "02:30", To: "02:45", Timezone: "Europe/Berlin"}}},
		"New York":  {Windows: []jobtype.Window{{From: "01:30", To: "02:30", Timezone: "America/New_York"}}},
		"Lord Howe": {Windows: []jobtype.Window{{From: "23:00", To: "01:45", Timezone: "Australia/Lord_Howe"}, {From: "02:15", To: "02:20", Timezone: "Australia/Lord_Howe"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			within := window.Span{From: start, To: start.AddDate(1, 0, 0)}
			assert.Equal(t, walk(t, spec, within), compile(t, spec).Spans(within))
		})
	}
}

func night(t *testing.T, zone, from, to, day string) string {
	t.Helper()
	where := location(t, zone)
	noon, err := time.ParseInLocation(time.DateOnly, day, where)
	require.NoError(t, err)
	noon = time.Date(noon.Year(), noon.Month(), noon.Day(), 12, 0, 0, 0, where)
	calendar := compile(t, &jobtype.Calendar{Windows: []jobtype.Window{{From: from, To: to, Timezone: zone}}})
	var text []string
	for _, s := range calendar.Spans(window.Span{From: noon.UTC(), To: noon.UTC().Add(23 * time.Hour)}) {
		text = append(text, fmt.Sprintf("%s-%s=%s", s.From.In(where).Format("15:04 MST"), s.To.In(where).Format("15:04 MST"), s.Length()))
	}
	return strings.Join(text, ", ")
}

func TestNightsOfChange(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ zone, from, to, day, want string }{
		{"Europe/Berlin", "22:00", "06:00", "2026-03-27", "22:00 CET-06:00 CET=8h0m0s"},
		{"Europe/Berlin", "22:00", "06:00", "2026-03-28", "22:00 CET-06:00 CEST=7h0m0s"},
		{"Europe/Berlin", "22:00", "06:00", "2026-10-24", "22:00 CEST-06:00 CET=9h0m0s"},
		// It lies in the gap, begins in it, ends in it.
		{"Europe/Berlin", "02:00", "02:45", "2026-03-28", ""},
		{"Europe/Berlin", "02:30", "03:30", "2026-03-28", "03:00 CEST-03:30 CEST=30m0s"},
		{"Europe/Berlin", "01:30", "02:30", "2026-03-28", "01:30 CET-03:00 CEST=30m0s"},
		// It ends before, with and within the hour that comes twice.
		{"Europe/Berlin", "01:00", "02:00", "2026-10-24", "01:00 CEST-02:00 CEST=1h0m0s"},
		{"Europe/Berlin", "01:00", "03:00", "2026-10-24", "01:00 CEST-03:00 CET=3h0m0s"},
		{"Europe/Berlin", "01:00", "02:30", "2026-10-24", "01:00 CEST-02:30 CEST=1h30m0s, 02:00 CET-02:30 CET=30m0s"},
		{"Europe/Berlin", "02:30", "04:00", "2026-10-24", "02:30 CEST-02:00 CET=30m0s, 02:30 CET-04:00 CET=1h30m0s"},
		{"America/New_York", "22:00", "06:00", "2026-03-07", "22:00 EST-06:00 EDT=7h0m0s"},
		{"America/New_York", "22:00", "06:00", "2026-10-31", "22:00 EDT-06:00 EST=9h0m0s"},
		{"Australia/Lord_Howe", "22:00", "06:00", "2026-04-04", "22:00 +11-06:00 +1030=8h30m0s"},
		{"Australia/Lord_Howe", "22:00", "06:00", "2026-10-03", "22:00 +1030-06:00 +11=7h30m0s"},
	} {
		assert.Equal(t, c.want, night(t, c.zone, c.from, c.to, c.day), "%s %s-%s %s", c.zone, c.from, c.to, c.day)
	}
}

func TestSingleBlackoutsCoverRepeatedAndSkippedTimes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ from, to, wantFrom, wantTo string }{
		{"2026-10-25T02:30", "2026-10-25T02:45", "2026-10-25T00:30:00Z", "2026-10-25T01:45:00Z"},
		{"2026-03-29T02:15", "2026-03-29 04:00", "2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z"},
		{"2026-03-29T00:00", "2026-03-29T02:15:00", "2026-03-28T23:00:00Z", "2026-03-29T01:00:00Z"},
		{"2026-07-01T12:00:00+05:30", "2026-07-02T12:00", "2026-07-01T06:30:00Z", "2026-07-02T10:00:00Z"},
	} {
		calendar := compile(t, &jobtype.Calendar{Blackouts: []jobtype.Blackout{{From: c.from, To: c.to, Timezone: "Europe/Berlin", Note: "freeze"}}})
		year := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		spans := calendar.Spans(window.Span{From: year, To: year.AddDate(1, 0, 0)})
		require.Len(t, spans, 2)
		assert.Equal(t, c.wantFrom, spans[0].To.Format(time.RFC3339))
		assert.Equal(t, c.wantTo, spans[1].From.Format(time.RFC3339))
		assert.Equal(t, contract.Closure{Code: contract.ClosedBlackout, Note: "freeze"}, calendar.Why(spans[0].To))
		assert.Empty(t, calendar.Why(spans[1].From))
	}
}

// TestUpcomingIsTheSameHoweverFarIsLooked compares with one long look.
func TestUpcomingIsTheSameHoweverFarIsLooked(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := compile(t, calendarGen().Draw(t, "a")), compile(t, calendarGen().Draw(t, "b"))
		from := rapid.SampledFrom(changes()).Draw(t, "from").Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "m")) * minute)
		limit := rapid.IntRange(1, 6).Draw(t, "limit")
		within := window.Span{From: from, To: from.Add(window.Horizon)}
		var want []window.Span
		others := b.Spans(within)
		for _, one := range a.Spans(within) {
			for _, other := range others {
				if len(want) == limit || !other.From.Before(one.To) {
					break
				}
				s := window.Span{From: instant.Later(one.From, other.From), To: one.To}
				if other.To.Before(s.To) {
					s.To = other.To
				}
				if s.From.Before(s.To) {
					if s.To.Equal(within.To) {
						s.To = time.Time{}
					}
					want = append(want, s)
				}
			}
		}
		got := window.Upcoming(from, limit, a, b)
		require.Len(t, got, len(want))
		for i := range want {
			assert.True(t, want[i].From.Equal(got[i].From) && want[i].To.Equal(got[i].To), "%d: %v, not %v", i, got[i], want[i])
		}
		longest := window.Longest(from, a, b)
		for _, s := range got {
			if !s.To.IsZero() && s.To.Before(from.Add(5*7*24*time.Hour)) && longest > 0 {
				assert.LessOrEqual(t, s.Length(), longest)
			}
		}
	})
}

func TestUpcomingWithoutAnEndAndWithoutABeginning(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 5, 5, 5, 0, 0, time.UTC)
	assert.Equal(t, []window.Span{{From: now}}, window.Upcoming(now, 4))
	assert.Equal(t, []window.Span{{From: now}}, window.Upcoming(now, 4, nil, nil))
	assert.Zero(t, window.Longest(now, nil))
	always := compile(t, &jobtype.Calendar{Blackouts: []jobtype.Blackout{{From: "00:00", To: "24:00"}}})
	assert.Empty(t, window.Upcoming(now, 4, always))
	assert.Equal(t, contract.Closure{Code: contract.ClosedBlackout}, always.Why(now))
	days := compile(t, &jobtype.Calendar{Windows: []jobtype.Window{{Days: []string{"mon-sun"}, From: "00:00", To: "24:00"}}})
	assert.Equal(t, []window.Span{{From: now}}, window.Upcoming(now, 4, days), "days that touch are one span")
	nights := compile(t, &jobtype.Calendar{Windows: []jobtype.Window{{From: "22:00", To: "23:00"}}})
	assert.Equal(t, contract.Closure{Code: contract.ClosedOutside}, nights.Why(now))
	assert.Equal(t, time.Hour, window.Longest(now, nights))
}

func TestFaultsNameTheField(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		window jobtype.Window
		want   string
	}{
		{jobtype.Window{Days: []string{"funday"}, From: "01:00", To: "02:00"}, `days: there is no day "funday"`},
		{jobtype.Window{Days: []string{"mon-"}, From: "01:00", To: "02:00"}, "days: there is no day"},
		{jobtype.Window{From: "1:00", To: "02:00"}, `from: "1:00" is not a time of day`},
		{jobtype.Window{From: "24:00", To: "02:00"}, "from: "},
		{jobtype.Window{From: "01:00", To: "25:00"}, "to: "},
		{jobtype.Window{From: "01:00", To: "01:00"}, "to: 01:00 is the same as from"},
		{jobtype.Window{From: "01:00", To: "02:00", Timezone: "Europe/Atlantis"}, "timezone: there is no time zone"},
		{jobtype.Window{From: "01:00", To: "02:00", Timezone: "Local"}, "timezone: \"Local\" means"},
	} {
		err := window.CheckWindow(c.window, time.LoadLocation)
		require.ErrorContains(t, err, c.want)
		var fault *window.Fault
		require.ErrorAs(t, err, &fault)
	}
	for _, c := range []struct {
		blackout jobtype.Blackout
		want     string
	}{
		{jobtype.Blackout{From: "2026-12-24T12:00", To: "2026-12-24T11:00"}, "to: 2026-12-24T11:00 is not after from"},
		{jobtype.Blackout{From: "2026-12-24", To: "2026-12-25T11:00"}, "from: \"2026-12-24\" is neither"},
		{jobtype.Blackout{From: "2026-12-24T12:00", To: "13:00"}, "to: \"13:00\" is neither"},
		{jobtype.Blackout{From: "2026-12-24T12:00", To: "2026-12-25T11:00", Days: []string{"mon"}}, "days: has no meaning"},
		{jobtype.Blackout{From: "12:00", To: "12:00"}, "to: 12:00 is the same"},
		{jobtype.Blackout{From: "2026-12-24T12:00", To: "2026-12-25T11:00", Timezone: "x"}, "timezone: there is no"},
	} {
		require.ErrorContains(t, window.CheckBlackout(c.blackout, time.LoadLocation), c.want)
	}
	_, err := window.New(&jobtype.Calendar{Windows: []jobtype.Window{{}, {From: "01:00", To: "02:00"}}, Blackouts: []jobtype.Blackout{{From: "x"}}}, time.LoadLocation)
	require.ErrorContains(t, err, "windows[0]: from: ")
	require.ErrorContains(t, err, "blackouts[0]: ")
}

func TestDays(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]string{
		"": "", "mon-fri": "mon tue wed thu fri", "sat-mon": "mon sat sun", "Sunday,tue": "tue sun", "mon-sun": "mon tue wed thu fri sat sun",
	} {
		var list []string
		if written != "" {
			list = strings.Split(written, ",")
		}
		got, err := window.Days(list)
		require.NoError(t, err)
		assert.Equal(t, want, strings.Join(got, " "))
	}
}

func TestP95IsTheNearestRank(t *testing.T) {
	t.Parallel()
	var took []time.Duration
	for n := range 19 {
		took = append(took, time.Duration(19-n)*minute)
	}
	_, known := window.P95(took)
	assert.False(t, known)
	took = append(took, 20*minute)
	p95, known := window.P95(took)
	assert.True(t, known)
	assert.Equal(t, 19*minute, p95)
	rapid.Check(t, func(t *rapid.T) {
		took := rapid.SliceOfN(rapid.Map(rapid.IntRange(1, 50), func(n int) time.Duration { return time.Duration(n) }), 20, 100).Draw(t, "took")
		p95, _ := window.P95(took)
		within, below := 0, 0
		for _, one := range took {
			if one <= p95 {
				within++
			}
			if one < p95 {
				below++
			}
		}
		assert.GreaterOrEqual(t, within*100, len(took)*95)
		assert.Less(t, below*100, len(took)*95, "none shorter would do")
	})
}
