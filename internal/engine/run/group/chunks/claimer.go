package chunks

import (
	"maps"
	"slices"
	"time"
)

// Step is a step of a claim.
type Step string

// The steps of a claim.
const (
	Idle Step = ""
	// Owning: the right to work on the backlog of the job type is claimed.
	Owning Step = "own"
	// Reading: the keys of the next chunk are read.
	Reading Step = "read"
	// Asking: the keys of the chunk are being claimed.
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
	// Claim is the number of the last claim on the backlog in this turn.
	Claim int `json:"claim,omitempty"`
	// Since is when the step began.
	Since time.Time `json:"since,omitzero"`
	Backoff
	// open counts the open jobs of each chunk with an answer.
	open map[int]int
}

// Backoff is a pause before a claim is repeated.
type Backoff struct {
	// RetryAt is its end; zero: there is none, or it is over. Why and Tries stay.
	RetryAt time.Time `json:"retry_at,omitzero"`
	Why     string    `json:"why,omitempty"`
	Tries   int       `json:"tries,omitempty"`
}

// Begin begins a step.
func (c *Claimer) Begin(step Step, now time.Time) { c.Step, c.Since, c.Backoff = step, now, Backoff{} }

// End ends the claim.
func (c *Claimer) End() {
	c.Begin(Idle, time.Time{})
	c.Jobs = nil
}

// Later begins a pause.
func (p *Backoff) Later(why string, now time.Time) {
	p.RetryAt = now.Add(min(firstPause<<min(p.Tries, 10), mostPause))
	p.Why, p.Tries = why, p.Tries+1
}

// Again reports whether the pause is over, once.
func (p *Backoff) Again(now time.Time) bool {
	if p.RetryAt.IsZero() || now.Before(p.RetryAt) {
		return false
	}
	p.RetryAt = time.Time{}
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
