package cli

import (
	"fmt"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

const day = 24 * time.Hour

// ago tells a time relative to now, as people say it: "3m ago", "in 2h". The
// zero time is "-". JSON output has the exact time.
func ago(at, now time.Time) string {
	if at.IsZero() {
		return "-"
	}
	distance := now.Sub(at)
	switch {
	case distance >= time.Second:
		return span(distance) + " ago"
	case distance <= -time.Second:
		return "in " + span(-distance)
	}
	return "now"
}

// span rounds a duration to the unit that matters: 850ms, 12s, 4m10s, 3h5m, 2d4h.
func span(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + span(-d)
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

// stamp is an exact time for people: local, to the second. Zero is empty.
func stamp(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.Local().Format("2006-01-02 15:04:05 MST")
}

// parseDuration reads what configuration files accept, days included.
func parseDuration(written string) (time.Duration, error) {
	parsed, err := jobtype.ParseDuration(written)
	return parsed.Std(), err
}
