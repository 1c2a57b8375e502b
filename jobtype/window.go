package jobtype

// Window is a weekly span in which jobs may start, by the wall clock of its time zone.
type Window struct {
	// Days are the days on which the window begins: mon … sun, or spans such as mon-fri. Empty means every day.
	Days []string `json:"days,omitempty"`
	// Times such as 22:00. A To not after From is on the next day; 24:00 is the end of the day.
	From string `json:"from"`
	To   string `json:"to"`
	// Timezone is an IANA name.
	Timezone string `json:"timezone,omitempty"`
}

// Blackout is a span without starts, even in an open window: recurring like a [Window], or single.
type Blackout struct {
	// Days apply to a recurring blackout; empty means every day.
	Days []string `json:"days,omitempty"`
	// Times such as 22:00 for a recurring blackout. A single one has dates, with an offset
	// (2026-12-24T12:00:00+01:00) or without (2026-12-24T12:00, wall clock of Timezone).
	From string `json:"from"`
	To   string `json:"to"`
	// Timezone is an IANA name.
	Timezone string `json:"timezone,omitempty"`
	// Note is the reason, for operators.
	Note string `json:"note,omitempty"`
}

// Calendar restricts the starts of jobs: within a window, if there are any, and outside all blackouts.
type Calendar struct {
	Windows   []Window   `json:"windows,omitempty"`
	Blackouts []Blackout `json:"blackouts,omitempty"`
}

// Empty reports whether the calendar is always open.
func (c *Calendar) Empty() bool { return c == nil || len(c.Windows)+len(c.Blackouts) == 0 }
