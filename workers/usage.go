package workers

import (
	"time"

	"github.com/roundsman/roundsman/contract"
)

// usageStep is the length of one span, usageSpans the number of stored spans: twelve hours.
const (
	usageStep  = 5 * time.Minute
	usageSpans = 144
)

// usage sums up the use of slots, in spans of the clock. Its size is bounded.
type usage struct {
	began, last time.Time
	// spans ends with the span of last.
	spans []usageSpan
}

type usageSpan struct {
	at time.Time
	// busy is the time of all slots together, full the time without a free slot.
	busy, full time.Duration
	slots      int
}

func (u *usage) pass(now time.Time, used, slots int) {
	if u.began.IsZero() {
		u.began, u.last = now, now
		u.spans = append(u.spans, usageSpan{at: now.Truncate(usageStep), slots: slots})
	}
	// A process that was stopped for long has no data of that time.
	if oldest := now.Add(-usageStep * usageSpans); u.last.Before(oldest) {
		u.began, u.last = oldest, oldest
		u.spans = append(u.spans[:0], usageSpan{at: oldest.Truncate(usageStep), slots: slots})
	}
	for {
		span := &u.spans[len(u.spans)-1]
		end := span.at.Add(usageStep)
		until := end
		if now.Before(end) {
			until = now
		}
		if passed := until.Sub(u.last); passed > 0 {
			span.busy += passed * time.Duration(used)
			if used >= slots {
				span.full += passed
			}
			u.last = until
		}
		span.slots = slots
		if now.Before(end) {
			return
		}
		if len(u.spans) >= usageSpans {
			u.spans = append(u.spans[:0], u.spans[len(u.spans)-usageSpans+1:]...)
		}
		u.spans = append(u.spans, usageSpan{at: end, slots: slots})
	}
}

func (u *usage) told() []contract.WorkerUsageSpan {
	told := make([]contract.WorkerUsageSpan, 0, len(u.spans))
	for i, span := range u.spans {
		from, to := span.at, span.at.Add(usageStep)
		if i == 0 && u.began.After(from) {
			from = u.began
		}
		if to.After(u.last) {
			to = u.last
		}
		if lasted := to.Sub(from); lasted > 0 {
			told = append(told, contract.WorkerUsageSpan{
				From: from.UTC(), To: to.UTC(), Used: float64(span.busy) / float64(lasted), Full: float64(span.full) / float64(lasted), Slots: span.slots,
			})
		}
	}
	return told
}
