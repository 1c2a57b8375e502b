package run

import "time"

// backoff doubles each pause between repeats, so that a run that waits for weeks does not fill its history.
type backoff struct {
	first, most, pause time.Duration
	// at is the time of the next repeat; zero for none.
	at time.Time
}

func (b *backoff) next(now time.Time) {
	b.pause = min(max(2*b.pause, b.first), b.most)
	b.at = now.Add(b.pause)
}

func (b *backoff) restart(now time.Time) {
	b.pause = 0
	b.next(now)
}

func (b *backoff) stop() { b.pause, b.at = 0, time.Time{} }

func (b *backoff) due(now time.Time) bool { return !b.at.IsZero() && !b.at.After(now) }
