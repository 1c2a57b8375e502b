package admission

import "time"

func (a *Activities) Hurry() *Activities {
	a.interval, a.pause, a.late = time.Millisecond, time.Millisecond, []time.Duration{time.Millisecond, 2 * time.Millisecond}
	return a
}
