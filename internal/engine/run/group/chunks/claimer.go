package chunks

import (
	"maps"
	"slices"
	"time"
)

// Step is what a claim waits for.
type Step string

// The steps of a claim.
const (
	Idle Step = ""
	// Owning: the right to work on the backlog of the job type is claimed.
	Owning Step = "own"
	// Reading: the keys of the next chunk are read.
	Reading Step = "read"
	// Asking: they are claimed.
	Asking Step = "ask"
)

const (
	// firstPause is the wait before a claim is repeated that admission had no room for. It doubles up to mostPause.
	firstPause = 5 * time.Second
	mostPause  = 5 * time.Minute
)

// Claimer is the state of the claims.
type Claimer struct {
	// Seq is the number of the last chunk.
	Seq  int  `json:"seq,omitempty"`
	Step Step `json:"step,omitempty"`
	// Jobs are those of the chunk without an answer, by number.
	Jobs []int `json:"jobs,omitempty"`
	// Owns: the group has the backlog of its job type. TakenBy is the group that has it instead.
	Owns    bool   `json:"owns,omitempty"`
	TakenBy string `json:"taken_by,omitempty"`
	// Since is when the step began. With RetryAt the step is repeated then, because of Why.
	Since   time.Time `json:"since,omitzero"`
	RetryAt time.Time `json:"retry_at,omitzero"`
	Why     string    `json:"why,omitempty"`
	Tries   int       `json:"tries,omitempty"`
	// open counts the open jobs of each chunk with an answer.
	open map[int]int
}

// Begin begins a step.
func (c *Claimer) Begin(step Step, now time.Time) {
	c.Step, c.Since, c.RetryAt, c.Why, c.Tries = step, now, time.Time{}, "", 0
}

// End ends the claim.
func (c *Claimer) End() {
	c.Begin(Idle, time.Time{})
	c.Jobs = nil
}

// Later repeats the step after a pause.
func (c *Claimer) Later(why string, now time.Time) {
	c.RetryAt = now.Add(min(firstPause<<min(c.Tries, 10), mostPause))
	c.Why, c.Tries = why, c.Tries+1
}

// Again reports whether it is time to repeat the step, once.
func (c *Claimer) Again(now time.Time) bool {
	if c.RetryAt.IsZero() || now.Before(c.RetryAt) {
		return false
	}
	c.RetryAt = time.Time{}
	return true
}

// Busy reports whether an activity is under way that a new workflow run would lose.
func (c *Claimer) Busy() bool { return c.Step == Reading && c.RetryAt.IsZero() }

// Awaits reports whether an answer is to this step of this chunk.
func (c *Claimer) Awaits(step Step, seq int) bool {
	return c.Step == step && c.RetryAt.IsZero() && (step == Owning || c.Seq == seq)
}

// Opened adds n open jobs to a chunk.
func (c *Claimer) Opened(seq, n int) {
	if n == 0 {
		return
	}
	if c.open == nil {
		c.open = map[int]int{}
	}
	c.open[seq] += n
}

// Closed takes an open job from a chunk. It reports whether that was the last one.
func (c *Claimer) Closed(seq int) bool {
	if c.open[seq]--; c.open[seq] > 0 {
		return false
	}
	delete(c.open, seq)
	return true
}

// release ends all chunks and returns their numbers.
func (c *Claimer) release() []int {
	list := slices.Sorted(maps.Keys(c.open))
	c.open, c.Owns = nil, false
	return list
}
