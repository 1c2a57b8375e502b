package authoring

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/lib/crontab"
	"github.com/roundsman/roundsman/starter/jobtypes"
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
	calendars, err := jobtypes.Calendars(schedule)
	if err != nil {
		return nil, fmt.Errorf("schedule: %w", err)
	}
	var instants []time.Time
	at := crontab.Next(calendars, after.In(zone))
	for looks := 0; !at.IsZero() && len(instants) < n && looks < mostLooks; looks++ {
		if !slices.Contains(schedule.Except, at.Format(time.DateOnly)) {
			instants = append(instants, at.UTC())
			at = crontab.Next(calendars, at)
			continue
		}
		next := crontab.Next(calendars, time.Date(at.Year(), at.Month(), at.Day()+1, 0, 0, 0, 0, zone).Add(-1))
		if !next.After(at) { // Clocks may leave out a midnight, and this day is not over.
			next = crontab.Next(calendars, at)
		}
		at = next
	}
	return instants, nil
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
