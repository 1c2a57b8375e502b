package run

import "time"

// backoff spaces repetitions of what may have been lost: each pause is twice the
// one before. A run that waits for weeks must not fill its history with them.
type backoff struct {
	first, most, pause time.Duration
	// at is the time of the next repetition; zero: none is planned.
	at time.Time
}

// next plans a repetition.
func (b *backoff) next(now time.Time) {
	b.pause = min(max(2*b.pause, b.first), b.most)
	b.at = now.Add(b.pause)
}

// restart plans a repetition after the shortest pause.
func (b *backoff) restart(now time.Time) {
	b.pause = 0
	b.next(now)
}

// stop plans none.
func (b *backoff) stop() { b.pause, b.at = 0, time.Time{} }

// due reports whether the time of the repetition has come.
func (b *backoff) due(now time.Time) bool { return !b.at.IsZero() && !b.at.After(now) }
