package jobtypes

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	schedulepb "go.temporal.io/api/schedule/v1"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/window"
	"github.com/roundsman/roundsman/jobtype"
)

func TestTimesText(t *testing.T) {
	t.Parallel()
	for want, written := range map[string]contract.ScheduleSpec{
		"every 5m":                             {Every: jobtype.Duration(5 * time.Minute)},
		"every 1h offset 10m":                  {Every: jobtype.Duration(time.Hour), Offset: jobtype.Duration(10 * time.Minute)},
		"every 5m jitter 10s":                  {Every: jobtype.Duration(5 * time.Minute), Jitter: jobtype.Duration(10 * time.Second)},
		"cron 0 2 * * *":                       {Cron: []string{"0 2 * * *"}, Timezone: "UTC"},
		"cron 0 0 * * *":                       {Cron: []string{"@daily"}},
		"cron 0 2 * * * in Asia/Tokyo":         {Cron: []string{"0 2 * * *"}, Timezone: "Asia/Tokyo"},
		"cron 0-55/5 9-17 * * 1-5":             {Cron: []string{"*/5 9-17 * * mon-fri"}},
		"cron 0 2 * * 5 or cron 0 2 13 * *":    {Cron: []string{"0 2 13 * fri"}},
		"cron 0 2 * * * or cron 30 4 1,15 * *": {Cron: []string{"30 4 1,15 * *", "0 2 * * *", "00 02 * * *"}},
	} {
		assert.Equal(t, want, scheduleText(written))
	}
	_, err := scheduleSpec(contract.ScheduleSpec{Cron: []string{"@every 5m"}})
	require.ErrorContains(t, err, "use schedule.every")
	_, err = scheduleSpec(contract.ScheduleSpec{})
	require.ErrorContains(t, err, "neither every nor cron")
}

// Additions made in the Web UI are shown, so that they are found as drift.
func TestTimesTextShowsForeignAdditions(t *testing.T) {
	t.Parallel()
	spec, err := scheduleSpec(contract.ScheduleSpec{Cron: []string{"0 2 * * *"}})
	require.NoError(t, err)
	plain := timesText(spec)
	at := timestamppb.New(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	for _, add := range []func(){
		func() { spec.Interval = []*schedulepb.IntervalSpec{{Interval: durationpb.New(time.Hour)}} },
		func() { spec.ExcludeStructuredCalendar = spec.GetStructuredCalendar() },
		func() { spec.StartTime = at },
		func() { spec.EndTime = at },
		func() { spec.Jitter = durationpb.New(time.Second) },
		func() { spec.TimezoneName = "Europe/Berlin" },
		func() { spec.StructuredCalendar[0].Year = []*schedulepb.Range{{Start: 2030}} },
		func() { spec.StructuredCalendar[0].Second = []*schedulepb.Range{{Start: 30}} },
	} {
		add()
		next := timesText(spec)
		assert.NotEqual(t, plain, next)
		plain = next
	}
}

func TestTimesForPeopleHaveOneUnit(t *testing.T) {
	t.Parallel()
	spec, err := scheduleSpec(contract.ScheduleSpec{Every: jobtype.Duration(90 * time.Minute), Offset: jobtype.Duration(10 * time.Minute), Jitter: jobtype.Duration(5 * time.Second)})
	require.NoError(t, err)
	assert.Equal(t, "every 90 min offset 10 min jitter 5 s", shortTimes(spec))
	assert.Equal(t, "every 1h30m offset 10m jitter 5s", timesText(spec))
	spec.Interval[0].Phase = durationpb.New(14563 * time.Second)
	assert.Equal(t, "every 90 min offset 4 h jitter 5 s", shortTimes(spec))
}

// TestTimesForPeopleAreBounded: a file of holidays makes hundreds of calendars, which differ all the same.
func TestTimesForPeopleAreBounded(t *testing.T) {
	t.Parallel()
	var crons []string
	for minute := range 50 {
		crons = append(crons, fmt.Sprintf("%d 2 * * *", minute))
	}
	spec, err := scheduleSpec(contract.ScheduleSpec{Cron: crons})
	require.NoError(t, err)
	text := shortTimes(spec)
	assert.True(t, strings.HasSuffix(text, " or 44 more"), text)
	assert.Contains(t, timesText(spec), "cron 49 2 * * *")
}

// Ranges have exactly their values, and the text is the same for all forms of the ranges.
func TestRangesKeepTheirValues(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfNDistinct(rapid.IntRange(0, 59), 1, 60, rapid.ID[int]).Draw(t, "values")
		slices.Sort(values)
		split := ranges(values)
		require.Equal(t, values, expand(split))
		single := make([]*schedulepb.Range, len(values))
		for i, value := range values {
			single[i] = &schedulepb.Range{Start: int32(value)}
		}
		assert.Equal(t, fieldText(single, 0, 59), fieldText(split, 0, 59))
	})
}

func TestDifferentTimesHaveDifferentTexts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) []*schedulepb.Range {
			values := rapid.SliceOfNDistinct(rapid.IntRange(0, 23), 1, 24, rapid.ID[int]).Draw(t, label)
			slices.Sort(values)
			return ranges(values)
		}
		a, b := draw("a"), draw("b")
		assert.Equal(t, slices.Equal(expand(a), expand(b)), fieldText(a, 0, 23) == fieldText(b, 0, 23),
			fmt.Sprint(expand(a), expand(b)))
	})
}

// TestCalendarsOfAScheduleHaveItsDays: the server knows no "last", so such days become calendars for each length of a month.
func TestCalendarsOfAScheduleHaveItsDays(t *testing.T) {
	t.Parallel()
	// A mask has the values of a field, and the years count from 2000.
	masks := func(list []*schedulepb.StructuredCalendarSpec) (all [][6]uint64) {
		mask := func(given []*schedulepb.Range, less int) (bits uint64) {
			for _, value := range expand(given) {
				bits |= 1 << (value - less)
			}
			return bits
		}
		for _, c := range list {
			years := mask(c.GetYear(), 2000)
			if len(c.GetYear()) == 0 {
				years = math.MaxUint64
			}
			all = append(all, [6]uint64{mask(c.GetMinute(), 0), mask(c.GetHour(), 0), mask(c.GetDayOfMonth(), 0), mask(c.GetMonth(), 0), mask(c.GetDayOfWeek(), 0), years})
		}
		return all
	}
	due := func(calendars [][6]uint64, at time.Time) bool {
		return slices.ContainsFunc(calendars, func(c [6]uint64) bool {
			for k, value := range [6]int{at.Minute(), at.Hour(), at.Day(), int(at.Month()), int(at.Weekday()), at.Year() - 2000} {
				if c[k]&(1<<value) == 0 {
					return false
				}
			}
			return true
		})
	}
	day := rapid.SampledFrom([]string{"mon", "sun", "last", "first sun", "last fri", "second tue", "1", "29", "31", "-1", "-2", "-31", "2028-02-29", "2027-12-31"})
	rapid.Check(t, func(t *rapid.T) {
		written := contract.ScheduleSpec{Cron: []string{"30 2 * * *", "0 23 * 2,12 *"}, Days: rapid.SliceOfN(day, 0, 3).Draw(t, "days"), Except: rapid.SliceOfN(day, 0, 2).Draw(t, "except")}
		on, err := window.On(written.Days)
		if err != nil {
			t.Skip(err)
		}
		off, err := window.On(written.Except)
		if err != nil {
			t.Skip(err)
		}
		spec, err := scheduleSpec(written)
		require.NoError(t, err)
		included, excluded := masks(spec.GetStructuredCalendar()), masks(spec.GetExcludeStructuredCalendar())
		first := time.Date(rapid.SampledFrom([]int{2026, 2027, 2028}).Draw(t, "year"), 1, 1, 0, 0, 0, 0, time.UTC)
		for n := range 366 {
			date := first.AddDate(0, 0, n)
			wanted := on(date) && (len(written.Except) == 0 || !off(date))
			winter := date.Month() == time.February || date.Month() == time.December
			for at, is := range map[time.Time]bool{date.Add(150 * time.Minute): wanted, date.Add(23 * time.Hour): wanted && winter, date.Add(3 * time.Hour): false} {
				require.Equal(t, is, due(included, at) && !due(excluded, at), "%s: %v", at, written)
			}
		}
	})
}
