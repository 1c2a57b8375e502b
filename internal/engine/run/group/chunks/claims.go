package chunks

import (
	"cmp"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/group/openjobs"
)

// Claims are those of one group.
type Claims struct {
	Claimer

	jobs *openjobs.Jobs
}

// New returns the claims of jobs, in the state that a snapshot has of them.
func New(jobs *openjobs.Jobs, saved Claimer) Claims { return Claims{Claimer: saved, jobs: jobs} }

// Event is an answer: [BacklogClaimed], [KeysRead], [Claimed] or [Refused].
type Event interface {
	apply(c *Claims, turn int, now time.Time) Result
}

// Result is the effect of an answer on the group.
type Result struct {
	// Do has the next commands.
	Do []any
	// Begin may start. Ended have ended without their keys. Lost fail: their page is lost, so their keys are unknown.
	Begin, Lost []*openjobs.Job
	Ended       []Ended
	// Taken: another group has the backlog; its jobs with keys do not begin.
	Taken bool
	// Refused: the group gets no claim at all.
	Refused       *Refused
	Fence, Fences int64
}

// Ended is a job whose key the group does not get.
type Ended struct {
	*openjobs.Job

	Code   contract.Code
	Detail string
}

// Count counts the job as if it had not been accepted, unless an operator has ended it.
func (e Ended) Count(counts *contract.GroupCounts) {
	if e.Canceling != "" {
		*e.State.In(counts)++
		return
	}
	counts.Accepted--
	switch e.Code { //nolint:exhaustive // the others are holds
	case contract.CodeDuplicate:
		counts.Duplicates++
	case contract.CodeDeduped:
		counts.AlreadyActive++
	case contract.HoldRetryBudget:
		counts.HeldBack++
		counts.Disabled++
	default:
		counts.Disabled++
	}
}

// Notes are those on the jobs whose keys others have, or that are held: one for each code.
func (r *Result) Notes() []run.Note {
	var notes []run.Note
	for _, one := range r.Ended {
		i := slices.IndexFunc(notes, func(n run.Note) bool { return n.Code == one.Code })
		switch {
		case one.Code == contract.CodeDuplicate:
		case i < 0:
			notes = append(notes, run.Note{Verdict: run.Rejected, Code: one.Code, Item: run.WholeRun, Detail: one.Detail, Count: 1})
		default:
			notes[i].Detail = one.Detail
			notes[i].Count++
		}
	}
	return notes
}

// Apply takes an answer. One to an older request has no effect.
func (c *Claims) Apply(event Event, turn int, now time.Time) Result {
	return settled(event.apply(c, turn, now))
}

// settled marks the jobs of a result as those whose claims have an answer.
func settled(r Result) Result {
	for _, j := range slices.Concat(r.Begin, r.Lost) {
		j.Claiming = false
	}
	for _, one := range r.Ended {
		one.Claiming = false
	}
	return r
}

// More returns the next command, or nil. It opens the next chunk when there is room for it.
func (c *Claims) More(turn int, now time.Time) any {
	todo := c.jobs.Backlog
	switch {
	case c.Again(now):
	case c.Step != Idle:
		return nil
	case c.Owns && todo.Keyed() == 0:
		c.Owns = false
		return LeaveBacklog{Turn: turn, Claim: c.Claim}
	case !todo.Due(contract.MaxChunk):
		return nil
	case !c.Owns && todo.Keyed() > c.jobs.Window:
		c.Claim++
		c.Begin(Owning, now)
	default:
		c.open(now)
	}
	return c.command(turn)
}

func (c *Claims) open(now time.Time) {
	for len(c.Jobs) < contract.MaxChunk {
		next, ok := c.jobs.Backlog.Next(true)
		if !ok {
			break
		}
		j := c.jobs.Paged(next)
		j.Claiming = true
		c.jobs.Open.Put(j)
		c.Jobs = append(c.Jobs, j.N)
	}
	slices.Sort(c.Jobs)
	c.Seq++
	c.Begin(Reading, now)
}

// command carries out the step, for the first time or again.
func (c *Claims) command(turn int) any {
	switch c.Step {
	case Owning:
		return ClaimBacklog{Turn: turn, Claim: c.Claim}
	case Reading:
		return ReadKeys{Seq: c.Seq, Refs: refsOf(c.Asked())}
	case Asking:
		ask := ClaimChunk{Turn: turn, Seq: c.Seq}
		for _, j := range c.Asked() {
			ask.Hashes = append(ask.Hashes, j.Hash)
		}
		return ask
	case Idle:
	}
	return nil
}

// Asked lists the jobs of the chunk without an answer.
func (c *Claims) Asked() []*openjobs.Job {
	list := make([]*openjobs.Job, 0, len(c.Jobs))
	for _, n := range c.Jobs {
		if j := c.jobs.Open.Get(n); j != nil {
			list = append(list, j)
		}
	}
	return list
}

func refsOf(jobs []*openjobs.Job) []contract.ProposalRun {
	var refs []contract.ProposalRun
	for _, j := range jobs {
		if last := len(refs) - 1; last >= 0 && refs[last].Page == j.Ref.Page && refs[last].Position+refs[last].Count == j.Ref.Position {
			refs[last].Count++
			continue
		}
		refs = append(refs, contract.ProposalRun{Page: j.Ref.Page, Position: j.Ref.Position, Count: 1})
	}
	return refs
}

func (v BacklogClaimed) apply(c *Claims, _ int, _ time.Time) (out Result) {
	if !c.Awaits(Owning, 0) {
		return out
	}
	c.End()
	c.Owns, out.Taken = v.By == "", v.By != ""
	if out.Taken {
		c.TakenBy = v.By
	}
	return out
}

func (v KeysRead) apply(c *Claims, turn int, now time.Time) (out Result) {
	jobs := c.Asked()
	switch {
	case !c.Awaits(Reading, v.Seq):
		return out
	case len(v.Hashes) != len(jobs):
		c.Later(explain.TextKeysUnread(v.Reason), now)
		return out
	}
	c.Jobs = nil
	seen := map[uint64]bool{}
	for i, j := range jobs {
		switch hash := v.Hashes[i]; {
		case hash == 0:
			out.Lost = append(out.Lost, j)
		case seen[hash]:
			out.Ended = append(out.Ended, Ended{Job: j, Code: contract.CodeDuplicate, Detail: explain.TextDuplicate})
		default:
			seen[hash], j.Hash = true, hash
			c.Jobs = append(c.Jobs, j.N)
		}
	}
	if len(c.Jobs) == 0 {
		c.End()
		return out
	}
	c.Begin(Asking, now)
	out.Do = []any{c.command(turn)}
	return out
}

func (v Claimed) apply(c *Claims, turn int, _ time.Time) (out Result) {
	if !c.Awaits(Asking, v.Seq) {
		return out
	}
	out.Fence, out.Fences = v.Fence, v.Fences
	for i, j := range c.Asked() {
		by, taken := v.Taken[i]
		hold, held := v.HeldBack[i]
		switch {
		case taken:
			out.Ended = append(out.Ended, Ended{Job: j, Code: contract.CodeDeduped, Detail: explain.TextKeyActive(by)})
		case held:
			out.Ended = append(out.Ended, Ended{Job: j, Code: contract.Code(hold.Code), Detail: explain.TextKeyHeld + hold.Detail})
		default:
			j.Chunk = c.Seq
			out.Begin = append(out.Begin, j)
		}
	}
	c.Opened(c.Seq, len(out.Begin)) // Before one of them ends at once.
	if len(out.Begin) == 0 {
		out.Do = []any{LeaveChunk{Turn: turn, Seq: c.Seq}}
	}
	c.End()
	return out
}

func (v Refused) apply(c *Claims, _ int, now time.Time) (out Result) {
	switch {
	case c.Step != Owning && c.Step != Asking || !c.Awaits(c.Step, v.Seq) || c.Step == Owning && v.Seq > 0:
	case v.Code == contract.RefusedFull:
		c.Later(v.Reason, now)
	default:
		out.Refused = &v
	}
	return out
}

// Left returns the command after the end of a job, or nil: a chunk is given back with its last job.
func (c *Claims) Left(j *openjobs.Job, turn int) any {
	if j.Chunk > 0 && c.Closed(j.Chunk) {
		return LeaveChunk{Turn: turn, Seq: j.Chunk}
	}
	return nil
}

// Stop ends the claim without an answer. Its jobs begin in a group that has stopped.
func (c *Claims) Stop(turn int) (out Result) {
	out.Begin = c.Asked()
	if c.Step == Asking {
		out.Do = append(out.Do, LeaveChunk{Turn: turn, Seq: c.Seq})
	}
	if c.Owns || c.Step == Owning {
		out.Do = append(out.Do, LeaveBacklog{Turn: turn, Claim: c.Claim})
	}
	c.Owns = false
	c.End()
	for _, j := range out.Begin {
		j.Hash = 0 // Its key was not claimed.
	}
	return settled(out)
}

// Leave ends all chunks with the turn. It returns their numbers and the number of the claim on the backlog. The next
// claim is one of all open jobs.
func (c *Claims) Leave() (released []int, claim int) {
	if c.Step == Owning {
		c.End()
	}
	for _, j := range c.jobs.Open.Sorted() {
		j.Chunk = 0
	}
	claim, c.Claim = c.Claim, 0
	return c.release(), claim
}

// Hashes are the keys of the open jobs of a chunk.
func (c *Claims) Hashes(seq int) (hashes []uint64) {
	for _, j := range c.jobs.Open.Sorted() {
		if j.Chunk == seq {
			hashes = append(hashes, j.Hash)
		}
	}
	return hashes
}

// AwaitsBacklog reports whether all jobs wait for the claim on the backlog of the job type.
func (c *Claims) AwaitsBacklog() bool {
	return c.Step == Owning && c.jobs.Open.Len() == 0 && c.jobs.Backlog.Len() > 0
}

// Wait explains the wait of the jobs without an answer.
func (c *Claims) Wait() run.Wait {
	return run.Wait{Code: contract.CodeClaims, Since: c.Since, Until: c.RetryAt, Detail: cmp.Or(c.Why, explain.TextClaiming)}
}

// Restore opens the jobs that [Pack] has packed, and marks those of the chunk without an answer.
func (c *Claims) Restore(packed []byte) ([]*openjobs.Job, error) {
	list, err := unpack(packed)
	if err != nil {
		return nil, err
	}
	var jobs []*openjobs.Job
	for _, one := range list {
		next, ok := c.jobs.Backlog.Opened(one.number, one.queue)
		if !ok || c.jobs.Open.Get(one.number) != nil {
			return nil, errDamaged
		}
		j := c.jobs.Paged(next)
		j.Chunk, j.Hash = one.chunk, one.hash
		c.jobs.Open.Put(j)
		jobs = append(jobs, j)
	}
	if len(c.Asked()) != len(c.Jobs) {
		return nil, errDamaged
	}
	for _, j := range c.Asked() {
		j.Claiming = true
	}
	for _, j := range c.jobs.Open.Sorted() {
		if j.Chunk > 0 {
			c.Opened(j.Chunk, 1)
		}
	}
	return jobs, nil
}
