package jobtype

// Window is a span of every week, or of some days of it, in which jobs may
// start, by the wall clock of its time zone.
type Window struct {
	// Days on which the window begins: mon … sun, or spans like mon-fri. Empty:
	// every day.
	Days []string `json:"days,omitempty"`
	// From and To are like 22:00. A To that is not after From lies on the next
	// day; 24:00 ends with the day.
	From string `json:"from"`
	To   string `json:"to"`
	// Timezone is an IANA name.
	Timezone string `json:"timezone,omitempty"`
}

// Blackout is a span in which nothing starts although a window is open: one
// that comes back like a [Window], or a single one.
type Blackout struct {
	// Days are for one that comes back; empty: every day.
	Days []string `json:"days,omitempty"`
	// From and To are both like 22:00 for one that comes back. For a single one
	// both carry a date, with an offset (2026-12-24T12:00:00+01:00) or without
	// one (2026-12-24T12:00, by the wall clock of Timezone).
	From string `json:"from"`
	To   string `json:"to"`
	// Timezone is an IANA name.
	Timezone string `json:"timezone,omitempty"`
	// Note says why, for operators.
	Note string `json:"note,omitempty"`
}

// Calendar says when jobs may start: in one of the windows, if there are any,
// and in none of the blackouts.
type Calendar struct {
	Windows   []Window   `json:"windows,omitempty"`
	Blackouts []Blackout `json:"blackouts,omitempty"`
}

// Empty reports whether the calendar is open all the time.
func (c *Calendar) Empty() bool { return c == nil || len(c.Windows)+len(c.Blackouts) == 0 }
