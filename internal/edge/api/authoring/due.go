package authoring

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/window"
	"github.com/roundsman/roundsman/internal/lib/crontab"
)

// mostLooks bounds the instants and the days that are looked at: 50 years of days without an instant.
const mostLooks = 20_000

// nextInstants returns up to n instants after a time, without jitter. A schedule of rare days may have fewer.
func nextInstants(schedule contract.ScheduleSpec, after time.Time, n int) ([]time.Time, error) {
	if schedule.Every > 0 {
		return ofInterval(schedule, after, n), nil
	}
	zone, err := time.LoadLocation(cmp.Or(schedule.Timezone, "UTC"))
	if err != nil {
		return nil, fmt.Errorf("schedule.timezone: %w", err)
	}
	on, err := window.On(schedule.Days)
	if err != nil {
		return nil, fmt.Errorf("schedule.days: %w", err)
	}
	except := func(date time.Time) bool { return slices.Contains(schedule.Except, date.Format(time.DateOnly)) }
	var instants []time.Time
	for _, text := range schedule.Cron {
		expression, err := crontab.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("schedule.cron: %w", err)
		}
		found := 0
		for at, looks := expression.Next(after.In(zone)), 0; !at.IsZero() && found < n && looks < mostLooks; looks++ {
			if !on(at) || except(at) {
				next := expression.Next(time.Date(at.Year(), at.Month(), at.Day()+1, 0, 0, 0, 0, zone).Add(-1))
				if !next.After(at) { // Clocks may leave out a midnight, and this day is not over.
					next = expression.Next(at)
				}
				at = next
				continue
			}
			instants, found = append(instants, at.UTC()), found+1
			at = expression.Next(at)
		}
	}
	slices.SortFunc(instants, time.Time.Compare)
	instants = slices.Compact(instants)
	return instants[:min(n, len(instants))], nil
}

// ofInterval counts in whole seconds from 1970, as Temporal does.
func ofInterval(schedule contract.ScheduleSpec, after time.Time, n int) []time.Time {
	every, offset := max(1, int64(schedule.Every.Std()/time.Second)), int64(schedule.Offset.Std()/time.Second)
	last := after.Unix() - (after.Unix()-offset)%every
	if last > after.Unix() { // Before 1970 the remainder is negative.
		last -= every
	}
	instants := make([]time.Time, n)
	for i := range instants {
		instants[i] = time.Unix(last+int64(i+1)*every, 0).UTC()
	}
	return instants
}
