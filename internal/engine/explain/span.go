package explain

import (
	"fmt"
	"math"
	"time"
)

const day = 24 * time.Hour

type unit struct {
	size, most time.Duration
	name       string
}

// units are the units of sentences. Each is kept up to most of it; days begin at 48 hours.
func units() []unit {
	return []unit{{time.Millisecond, 999, "ms"}, {time.Second, 120, "s"}, {time.Minute, 120, "min"}, {time.Hour, 47, "h"}, {day, math.MaxInt64, "days"}}
}

// Span returns a measured duration in whole numbers of one unit, as the console does: 41 s, 78 min, 36 h, 12 days.
func Span(d time.Duration) string {
	if d < 0 {
		return "-" + Span(-max(d, -math.MaxInt64)) // The least duration is its own negative.
	}
	for _, unit := range units() {
		if n := d / unit.size; n <= unit.most {
			return fmt.Sprintf("%d %s", n, unit.name)
		}
	}
	return d.String()
}

// Setting returns the duration of a setting in the largest unit that is exact: 90 s, 2 h, 24 h, 3 days.
func Setting(d time.Duration) string {
	text := Span(d)
	for _, unit := range units() {
		if d%unit.size == 0 && (unit.size < day || d >= 2*day) {
			text = fmt.Sprintf("%d %s", d/unit.size, unit.name)
		}
	}
	return text
}
