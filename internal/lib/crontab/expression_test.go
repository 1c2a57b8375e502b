package crontab_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/internal/lib/crontab"
)

func TestParseRefusesWithAWayOut(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                        "empty",
		"   ":                     "empty",
		"@every 5m":               "use schedule.every",
		"@reboot":                 "use schedule.every",
		"@fortnightly":            "unrecognized descriptor",
		"TZ=Europe/Berlin":        "use schedule.timezone",
		"CRON_TZ=UTC 0 2 * * *":   "use schedule.timezone",
		"0 2 * *":                 "has 4 fields, it needs 5",
		"0 0 2 * * *":             "has 6 fields, it needs 5",
		"0 2 * * 7":               "Sunday is 0 or sun",
		"60 2 * * *":              "above maximum (59)",
		"0 0 31 2 *":              "never comes",
		"0 0 30 feb *":            "never comes",
		"0 0 31 4,6,9,11 *":       "never comes",
		", 2 * * *":               "minute names no value",
		"0 2 , * *":               "day of month names no value",
		"nonsense":                "has 1 fields",
		"a b c d e":               "failed to parse int",
		strings.Repeat("1,", 400): "the limit is 512",
	} {
		_, err := crontab.Parse(text)
		require.Error(t, err, text)
		assert.ErrorContains(t, err, want, text)
	}
}

func TestParseAcceptsRareDates(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"0 0 29 2 *", "0 0 31 2 1", "@yearly", "@daily", " 0 2 * * mon-fri ", "? * * * ?"} {
		_, err := crontab.Parse(text)
		assert.NoError(t, err, text)
	}
}

func TestGap(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"* * * * *":             time.Minute,
		"*/5 * * * *":           5 * time.Minute,
		"0 2 * * *":             24 * time.Hour,
		"0 2,3 * * *":           time.Hour,
		"0 0 1 * *":             28 * 24 * time.Hour,
		"0 0 29 2 *":            (4*365 + 1) * 24 * time.Hour,
		"@weekly":               7 * 24 * time.Hour,
		"0 2 * * *|10 2 * * *":  10 * time.Minute,
		"0 2 * * *|0 2 * * mon": 24 * time.Hour,
	} {
		var expressions []crontab.Expression
		for part := range strings.SplitSeq(text, "|") {
			expressions = append(expressions, parse(t, part))
		}
		assert.Equal(t, want, crontab.Gap(expressions), text)
	}
}

func TestBothDaysRestrictedMeansEither(t *testing.T) {
	t.Parallel()
	calendars := parse(t, "0 2 13 * fri").Calendars()
	require.Len(t, calendars, 2)
	assert.Equal(t, []int{13}, calendars[0].DayOfMonth)
	assert.Len(t, calendars[0].DayOfWeek, 7)
	assert.Len(t, calendars[1].DayOfMonth, 31)
	assert.Equal(t, []int{5}, calendars[1].DayOfWeek)
	assert.Len(t, parse(t, "0 2 13 * *").Calendars(), 1)
	assert.Len(t, parse(t, "0 2 * * fri").Calendars(), 1)
}

// The union of the calendars, interpreted like a Temporal server does, ticks exactly when robfig/cron does.
func TestCalendarsTickAsCronDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join([]string{
			fieldGenerator(0, 59).Draw(t, "minute"), fieldGenerator(0, 23).Draw(t, "hour"),
			fieldGenerator(1, 31).Draw(t, "day of month"), fieldGenerator(1, 12).Draw(t, "month"),
			fieldGenerator(0, 6).Draw(t, "day of week"),
		}, " ")
		expression, err := crontab.Parse(text)
		if err != nil {
			require.ErrorContains(t, err, "never comes", text)
			return
		}
		oracle, err := cron.ParseStandard(text)
		require.NoError(t, err)
		at := time.Unix(rapid.Int64Range(946684800, 2524608000).Draw(t, "from"), 0).UTC()
		for range 4 {
			want := oracle.Next(at)
			require.Equal(t, want, nextMatch(expression.Calendars(), at, want), "%s after %s", text, at)
			if want.IsZero() {
				return
			}
			at = want
		}
	})
}

// nextMatch walks by minute over matching days up to want. It finds early and missing ticks.
func nextMatch(calendars []crontab.Calendar, after, want time.Time) time.Time {
	at := after.Truncate(time.Minute).Add(time.Minute)
	for !at.After(want) {
		if !anyMatches(calendars, at, dayMatches) {
			at = at.Truncate(24 * time.Hour).Add(24 * time.Hour)
			continue
		}
		if anyMatches(calendars, at, fullyMatches) {
			return at
		}
		at = at.Add(time.Minute)
	}
	return time.Time{}
}

func anyMatches(calendars []crontab.Calendar, at time.Time, matches func(crontab.Calendar, time.Time) bool) bool {
	return slices.ContainsFunc(calendars, func(c crontab.Calendar) bool { return matches(c, at) })
}

func dayMatches(c crontab.Calendar, at time.Time) bool {
	return slices.Contains(c.Month, int(at.Month())) && slices.Contains(c.DayOfMonth, at.Day()) &&
		slices.Contains(c.DayOfWeek, int(at.Weekday()))
}

func fullyMatches(c crontab.Calendar, at time.Time) bool {
	return dayMatches(c, at) && slices.Contains(c.Hour, at.Hour()) && slices.Contains(c.Minute, at.Minute())
}

// fieldGenerator draws a realistic field: stars, steps, ranges and lists of them.
func fieldGenerator(low, high int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		item := func() string {
			start := rapid.IntRange(low, high).Draw(t, "start")
			end := rapid.IntRange(start, high).Draw(t, "end")
			step := rapid.IntRange(1, high).Draw(t, "step")
			switch rapid.IntRange(0, 5).Draw(t, "shape") {
			case 0:
				return "*"
			case 1:
				return fmt.Sprintf("*/%d", step)
			case 2:
				return fmt.Sprintf("%d-%d", start, end)
			case 3:
				return fmt.Sprintf("%d-%d/%d", start, end, step)
			case 4:
				return fmt.Sprintf("%d/%d", start, step)
			default:
				return fmt.Sprint(start)
			}
		}
		items := []string{item()}
		for range rapid.IntRange(0, 2).Draw(t, "more") {
			items = append(items, item())
		}
		return strings.Join(items, ",")
	})
}

func parse(t *testing.T, text string) crontab.Expression {
	t.Helper()
	expression, err := crontab.Parse(text)
	require.NoError(t, err)
	return expression
}
