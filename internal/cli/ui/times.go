package ui

import (
	"fmt"
	"math"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// ParseTime reads RFC 3339 or a duration before now.
func ParseTime(flag, written string, now time.Time) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, written); err == nil {
		return at, nil
	}
	switch written {
	case "now":
		return now, nil
	case "yesterday":
		y, m, d := now.Local().Date()
		return time.Date(y, m, d-1, 0, 0, 0, 0, time.Local), nil
	}
	if at, err := time.ParseInLocation(time.DateOnly, written, time.Local); err == nil {
		return at, nil
	}
	if before, err := ParseDuration(written); err == nil && before >= 0 {
		return now.Add(-before), nil
	}
	return time.Time{}, fmt.Errorf("%s %q: write it like 2026-11-20T09:00:00Z, or like 48h or 7d before now", flag, written)
}

const day = 24 * time.Hour

// Ago returns a time relative to now: "3m ago", "in 2h". The zero time is "-". JSON output has the exact time.
func Ago(at, now time.Time) string {
	if at.IsZero() {
		return "-"
	}
	distance := now.Sub(at)
	switch {
	case distance >= time.Second:
		return Span(distance) + " ago"
	case distance <= -time.Second:
		return "in " + Span(-max(distance, -math.MaxInt64))
	}
	return "now"
}

// Span rounds a duration to the unit that matters: 850ms, 12s, 4m10s, 3h5m, 2d4h.
func Span(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + Span(-max(d, -math.MaxInt64)) // The least duration is its own negative.
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return twoUnits(d, time.Minute, "m", time.Second, "s")
	case d < 2*day:
		return twoUnits(d, time.Hour, "h", time.Minute, "m")
	}
	return twoUnits(d, day, "d", time.Hour, "h")
}

func twoUnits(d, large time.Duration, largeName string, small time.Duration, smallName string) string {
	first, second := d/large, d%large/small
	if second == 0 {
		return fmt.Sprintf("%d%s", first, largeName)
	}
	return fmt.Sprintf("%d%s%d%s", first, largeName, second, smallName)
}

// Stamp is an exact time for people: local, to the second. Zero is empty.
func Stamp(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.Local().Format("2006-01-02 15:04:05 MST")
}

// ParseDuration reads durations of configuration files, days included.
func ParseDuration(written string) (time.Duration, error) {
	parsed, err := jobtype.ParseDuration(written)
	return parsed.Std(), err
}
