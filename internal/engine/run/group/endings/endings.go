// Package endings collects the endings of the jobs of a group, and decides when admission receives them.
package endings

import (
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/internal/engine/instant"
)

const (
	// settleEvery is how long endings are collected before admission frees their keys. A shorter
	// group reports when it ends.
	settleEvery = 10 * time.Second
	// FailEvery is the least time between two reports of failures, which must be
	// quick: a retry may have to be stopped.
	FailEvery = time.Second
	// heavy is a number of keys whose hashes need more than a message: 1 KB.
	heavy = 128
	// maxReported bounds the keys of the failures of one report; the oldest go first.
	maxReported = 2000
	// maxReportedError bounds the message of each. People read it next to a disabled key.
	maxReportedError = 160
)

// FailedAttempt is a failed attempt that counts against the retry budget.
type FailedAttempt struct {
	Job     int       `json:"j"`
	Attempt int       `json:"a"`
	Keys    []string  `json:"k,omitempty"`
	At      time.Time `json:"t"`
	Message string    `json:"m,omitempty"`
}

// Endings are those since the last report.
type Endings struct {
	// Done and Settled are the dedupe keys of jobs that completed, and that ended in
	// another way.
	Done    []string `json:"d,omitempty"`
	Settled []string `json:"s,omitempty"`
	// DoneHashes and SettledHashes are those of keys that are known by their hashes only.
	DoneHashes    []uint64 `json:"dh,omitempty"`
	SettledHashes []uint64 `json:"sh,omitempty"`
	// SuccessAt is the time of the last completion.
	SuccessAt time.Time `json:"o,omitzero"`
	// Failed are attempts that failed, in the order of time.
	Failed []FailedAttempt `json:"f,omitempty"`
}

// Reporter collects endings and decides when they are reported.
type Reporter struct {
	Endings Endings `json:"endings,omitzero"`
	// SentAt is the time of the last report, DueAt that of the next one; zero: there is nothing to
	// report.
	SentAt time.Time `json:"sent_at,omitzero"`
	DueAt  time.Time `json:"due_at,omitzero"`
}

func (r *Reporter) due(at time.Time) { r.DueAt = instant.Earlier(r.DueAt, at) }

// Due reports whether a report is due.
func (r *Reporter) Due(now time.Time) bool { return !r.DueAt.IsZero() && !r.DueAt.After(now) }

// Heavy reports whether the endings are worth a message before the group continues as new: they would travel in its state.
func (r *Reporter) Heavy() bool {
	return len(r.Endings.Done)+len(r.Endings.Settled)+len(r.Endings.DoneHashes)+len(r.Endings.SettledHashes) >= heavy
}

// Failed records an attempt that its handler failed.
func (r *Reporter) Failed(failed FailedAttempt) {
	failed.Message = strings.ToValidUTF8(failed.Message[:min(len(failed.Message), maxReportedError)], "")
	r.Endings.Failed = append(r.Endings.Failed, failed)
	r.trim()
	r.due(instant.Later(r.SentAt.Add(FailEvery), failed.At))
}

// Ended records the end of a job with these keys, or with the hash of a key.
func (r *Reporter) Ended(keys []string, hash uint64, done bool, now time.Time) {
	if done {
		r.Endings.SuccessAt = now
	}
	switch {
	case hash != 0 && done:
		r.Endings.DoneHashes = append(r.Endings.DoneHashes, hash)
	case hash != 0:
		r.Endings.SettledHashes = append(r.Endings.SettledHashes, hash)
	case len(keys) == 0:
		return
	case done:
		r.Endings.Done = append(r.Endings.Done, keys...)
	default:
		r.Endings.Settled = append(r.Endings.Settled, keys...)
	}
	r.due(now.Add(settleEvery))
}

// Dropped records that a key's item left its batch: its claim is free, even if the job
// has begun.
func (r *Reporter) Dropped(key string, now time.Time) {
	r.Endings.Settled = append(r.Endings.Settled, key)
	r.due(now.Add(settleEvery))
}

// Take returns the endings since the last report.
func (r *Reporter) Take(now time.Time) Endings {
	taken := r.Endings
	*r = Reporter{SentAt: now}
	return taken
}

// trim drops the oldest failures until the others fit into one report. Each is reported once for every key of its job.
func (r *Reporter) trim() {
	failed, keys := r.Endings.Failed, 0
	for i, f := range slices.Backward(failed) {
		if keys += max(len(f.Keys), 1); keys > maxReported {
			r.Endings.Failed = failed[i+1:]
			return
		}
	}
}
