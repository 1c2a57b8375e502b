// Package due computes the next instants of a schedule that is not applied yet. Those of an applied job type
// come from its Schedule.
package due

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/window"
	"github.com/roundsman/roundsman/internal/lib/crontab"
)

// mostLooks bounds the instants that are looked at for those on days of the schedule.
const mostLooks = 20_000

// Next returns up to n instants after a time, without jitter. A schedule of rare days may have fewer.
func Next(schedule contract.ScheduleSpec, after time.Time, n int) ([]time.Time, error) {
	if schedule.Every > 0 {
		every, offset := schedule.Every.Std(), schedule.Offset.Std()
		first := after.Add(-offset).Truncate(every).Add(offset)
		for !first.After(after) {
			first = first.Add(every)
		}
		instants := make([]time.Time, n)
		for i := range instants {
			instants[i] = first.Add(time.Duration(i) * every).UTC()
		}
		return instants, nil
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
		for at, looks := expression.Next(after.In(zone)), 0; !at.IsZero() && found < n && looks < mostLooks; at, looks = expression.Next(at), looks+1 {
			if on(at) && !except(at) {
				instants, found = append(instants, at.UTC()), found+1
			}
		}
	}
	slices.SortFunc(instants, time.Time.Compare)
	instants = slices.Compact(instants)
	return instants[:min(n, len(instants))], nil
}
