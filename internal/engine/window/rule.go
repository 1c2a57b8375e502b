package window

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// Zones finds a time zone by its IANA name, as [time.LoadLocation] does.
type Zones func(name string) (*time.Location, error)

const (
	day       = 24 * time.Hour
	week      = 7 * day
	clockForm = "15:04"
	endOfDay  = "24:00"
)

// Fault is a fault of a window or blackout. Key is the field's name in the configuration.
type Fault struct{ Key, Message string }

// Error implements error.
func (f *Fault) Error() string { return f.Key + ": " + f.Message }

type rule struct {
	days days
	// Since the midnight with which the day begins; to may lie on the next day.
	from, to time.Duration
	zone     *time.Location
	note     string
}

type once struct {
	Span

	note string
}

var errClock = errors.New("is not a time of day: write it like 22:00, in quotes")

func clock(text string) (time.Duration, error) {
	at, err := time.Parse(clockForm, text)
	if err != nil || len(text) != len(clockForm) {
		return 0, fmt.Errorf("%q %w", text, errClock)
	}
	return time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute, nil
}

func newRule(w jobtype.Window, zones Zones) (rule, error) {
	var r rule
	var faults []error
	fault := func(key string, err error) {
		if err != nil {
			faults = append(faults, &Fault{key, err.Error()})
		}
	}
	var err error
	r.days, err = readDays(w.Days)
	fault("days", err)
	r.from, err = clock(w.From)
	fault("from", err)
	if w.To == endOfDay {
		r.to = day
	} else {
		r.to, err = clock(w.To)
		fault("to", err)
	}
	if len(faults) == 0 && r.from == r.to {
		fault("to", fmt.Errorf("%s is the same as from: write from \"00:00\" to \"24:00\" for whole days, or leave the entry out", w.To))
	}
	if r.to < r.from {
		r.to += day
	}
	r.zone, err = zone(w.Timezone, zones)
	fault("timezone", err)
	return r, errors.Join(faults...)
}

func zone(name string, zones Zones) (*time.Location, error) {
	switch name {
	case "":
		return time.UTC, nil
	case "Local":
		return nil, errors.New("\"Local\" means another zone on every machine: name one, like Europe/Berlin")
	}
	found, err := zones(name)
	if err != nil {
		return nil, fmt.Errorf("there is no time zone %q: use an IANA name like Europe/Berlin or UTC", name)
	}
	return found, nil
}

func newOnce(b jobtype.Blackout, zones Zones) (once, error) {
	var faults []error
	fault := func(key string, err error) {
		if err != nil {
			faults = append(faults, &Fault{key, err.Error()})
		}
	}
	where, err := zone(b.Timezone, zones)
	fault("timezone", err)
	if len(b.Days) > 0 {
		fault("days", errors.New("has no meaning for a blackout with dates: leave it out, or write from and to like 22:00"))
	}
	where = cmp.Or(where, time.UTC)
	from, err := date(b.From, where, false)
	fault("from", err)
	to, err := date(b.To, where, true)
	fault("to", err)
	if len(faults) == 0 && !from.Before(to) {
		fault("to", fmt.Errorf("%s is not after from, %s: the blackout would end before it begins", b.To, b.From))
	}
	return once{Span{from, to}, b.Note}, errors.Join(faults...)
}

// last chooses the second of two moments for a time without an offset.
func date(text string, where *time.Location, last bool) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at.UTC(), nil
	}
	for _, form := range []string{"2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02 15:04:05"} {
		if wall, err := time.Parse(form, text); err == nil {
			return instant(wall, where, last), nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is neither a date with a time, like 2026-12-24T12:00 or 2026-12-24T12:00:00+01:00, nor a time of day, like 22:00", text)
}

// instant is when the clock shows wall, written as UTC, or the end of the gap that skips it.
func instant(wall time.Time, where *time.Location, last bool) time.Time {
	var found []time.Time
	gapEnd := time.Time{}
	for _, s := range segments(where, Span{wall.Add(-2 * day), wall.Add(2 * day)}) {
		at := wall.Add(-s.offset)
		if s.contains(at) {
			found = append(found, at)
		}
		if gapEnd.IsZero() && !s.From.Before(at) {
			gapEnd = s.From
		}
	}
	switch {
	case len(found) == 0:
		return gapEnd
	case last:
		return found[len(found)-1]
	}
	return found[0]
}

// Recurs reports whether a blackout comes back: its times carry no date.
func Recurs(b jobtype.Blackout) bool {
	return !slices.ContainsFunc([]string{b.From, b.To}, func(text string) bool { return len(text) > len(clockForm) })
}

// CheckWindow returns the faults of a window: a join of [*Fault], or nil.
func CheckWindow(w jobtype.Window, zones Zones) error {
	_, err := newRule(w, zones)
	return err
}

// CheckBlackout returns the faults of a blackout: a join of [*Fault], or nil.
func CheckBlackout(b jobtype.Blackout, zones Zones) error {
	if Recurs(b) {
		return CheckWindow(asWindow(b), zones)
	}
	_, err := newOnce(b, zones)
	return err
}

func asWindow(b jobtype.Blackout) jobtype.Window {
	return jobtype.Window{Days: b.Days, From: b.From, To: b.To, Timezone: b.Timezone}
}
