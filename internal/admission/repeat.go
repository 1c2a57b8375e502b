package admission

import "time"

// The bounds of [NextRepeat].
const (
	firstRepeat   = time.Minute
	longestRepeat = 6 * time.Hour
)

// NextRepeat is how long a holder waits for an answer before it repeats a request
// for the attempt-th time, from 1: a minute, then twice as long each time, at most
// six hours. A repeat is only needed when a message was lost: admission that
// restarts asks every holder, and the keeper restarts it within seconds. A wait of
// 90 days costs 370 repeats.
func NextRepeat(attempt int) time.Duration {
	wait := firstRepeat
	for range attempt - 1 {
		if wait *= 2; wait >= longestRepeat {
			return longestRepeat
		}
	}
	return wait
}
