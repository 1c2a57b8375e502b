package group

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/admission"
	"github.com/roundsman/roundsman/internal/engine/record"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/group/chunks"
	"github.com/roundsman/roundsman/internal/engine/run/source"
	"github.com/roundsman/roundsman/jobtype"
)

// rivals are groups of one job type and their admission. What they may do is checked with maps of full jobs: which key
// runs where, and how each job has ended.
type rivals struct {
	t       *testing.T
	rng     *rand.Rand
	now     time.Time
	core    *admission.Core
	parties []*party
	// running has the party and job that executes a key.
	running map[uint64]string
}

// party is a group with the part of its workflow that talks to admission.
type party struct {
	*script

	holder  contract.AdmissionHolder
	hashes  map[string][]uint64
	total   int
	reads   *chunks.ReadKeys
	waiting map[string]contract.AdmissionItem
	held    map[string]contract.AdmissionHeld
	next    contract.AdmissionRequest
	sends   bool
	inbox   []admission.Decision
	running map[int]StartJob
	ended   map[int]bool
	record  map[string][]byte
	kept    *kept
	// repeats: two of its jobs have one key.
	repeats bool
}

// kept is a moment to which a group is reset later.
type kept struct {
	data    []byte
	waiting map[string]contract.AdmissionItem
	held    map[string]contract.AdmissionHeld
	ended   map[int]bool
}

func (r *rivals) add(name string, window int, pages map[string][]uint64) {
	p := &party{
		holder: contract.AdmissionHolder{WorkflowID: name, FirstRunID: "r"}, hashes: pages, waiting: map[string]contract.AdmissionItem{},
		held: map[string]contract.AdmissionHeld{}, running: map[int]StartJob{}, ended: map[int]bool{}, record: map[string][]byte{},
	}
	seen := map[uint64]bool{}
	for _, hashes := range pages {
		for _, hash := range hashes {
			p.repeats = p.repeats || seen[hash]
			seen[hash] = true
		}
	}
	p.script = open(r.t, Config{Policy: wide(jobtype.Policy{MaxRuntime: seconds(1_000_000), RetryLimit: 1, RetryBackoff: seconds(1)}), Window: window, Claims: true}, nodes(node("a", 2), node("b", 1))...)
	p.now = r.now
	p.begin()
	send := func(page Page) {
		page.Attempt, page.Seq = 1, len(p.g.detect.session(1).Answers)
		require.NoError(r.t, p.g.CheckPage(page))
		p.g.TakePage(p.now, page)
	}
	send(Page{Proposals: make([]jobtype.Proposal, 2)})
	p.total = 2
	for _, page := range slices.Sorted(maps.Keys(pages)) {
		described := pageOf(page, len(pages[page]), contract.JobClass{Keyed: true}, contract.JobClass{Node: "a", Keyed: true}, contract.JobClass{Priority: jobtype.PriorityHigh, Keyed: true})
		send(Page{Paged: described})
		p.total += len(pages[page])
	}
	r.parties = append(r.parties, p)
	r.carryOut(p, p.step(DetectionEnded{Attempt: 1, Pages: 1 + len(pages), Emitted: p.total}))
}

func (p *party) hashOf(j StartJob) uint64 {
	if j.Ref == nil {
		return 0
	}
	return p.hashes[j.Ref.Page][j.Ref.Position]
}

func (p *party) ask(id string, hashes []uint64) {
	item := contract.AdmissionItem{ID: id, Keys: admission.PackKeys(hashes), Fences: 1 << 20}
	p.waiting[id] = item
	p.next.Items, p.sends = append(p.next.Items, item), true
}

func (p *party) release(id string) {
	_, waits := p.waiting[id]
	_, holds := p.held[id]
	if !waits && !holds {
		return
	}
	delete(p.waiting, id)
	delete(p.held, id)
	p.next.Items = slices.DeleteFunc(p.next.Items, func(item contract.AdmissionItem) bool { return item.ID == id })
	p.next.Held = slices.DeleteFunc(p.next.Held, func(held contract.AdmissionHeld) bool { return held.ID == id })
	p.next.Release, p.sends = append(p.next.Release, id), true
}

const ownerID = "backlog"

func chunkName(seq int) string { return fmt.Sprint("chunk-", seq) }

func (r *rivals) carryOut(p *party, commands []source.Command) {
	for _, c := range commands {
		switch c := c.(type) {
		case StartJob:
			hash, name := p.hashOf(c), fmt.Sprintf("%s/%d", p.holder.WorkflowID, c.Item)
			require.NotContains(r.t, p.running, c.Item)
			require.False(r.t, p.ended[c.Item], "%s has ended", name)
			if hash != 0 {
				require.Empty(r.t, r.running[hash], "%s starts", name)
				r.running[hash] = name
			}
			p.running[c.Item] = c
		case StoreRecord:
			page := contract.PageName(c.Segment)
			p.record[page] = c.Segment
			r.carryOut(p, p.step(RecordStored{Page: page}))
		case chunks.ReadKeys:
			p.reads = &c
		case chunks.ClaimBacklog:
			p.ask(ownerID, []uint64{1})
		case chunks.LeaveBacklog:
			p.release(ownerID)
		case chunks.ClaimChunk:
			p.ask(chunkName(c.Seq), c.Hashes)
		case chunks.LeaveChunk:
			p.release(chunkName(c.Seq))
		case ReportEndings:
			p.next.Endings = append(p.next.Endings, contract.AdmissionEndings{
				At: p.now, Done: admission.PackKeys(c.DoneHashes), Settled: admission.PackKeys(c.SettledHashes),
			})
			p.sends = true
		case End:
			p.waiting, p.held = map[string]contract.AdmissionItem{}, map[string]contract.AdmissionHeld{}
			p.next, p.sends = contract.AdmissionRequest{ReleaseAll: true}, true
		}
	}
}

// step passes an event to a group.
func (r *rivals) step(p *party, event source.Event) {
	p.now = r.now
	r.carryOut(p, p.script.step(event))
}

// deliver sends what a group has to say, and admission's answers to all.
func (r *rivals) deliver(p *party) {
	if !p.sends {
		return
	}
	request := p.next
	request.Holder, request.JobType, request.Grace = p.holder, "jt", seconds(60)
	p.next, p.sends = contract.AdmissionRequest{}, false
	r.decide(admission.Requested(request))
}

func (r *rivals) decide(event admission.Event) {
	for _, decision := range r.core.Next(r.now, event) {
		var of contract.AdmissionHolder
		switch d := decision.(type) {
		case admission.Granted:
			of = d.Holder
		case admission.Refused:
			of = d.Holder
		case admission.Lost:
			of = d.Holder
		}
		for _, p := range r.parties {
			if p.holder == of {
				p.inbox = append(p.inbox, decision)
			}
		}
	}
}

func seqOf(id string) (seq int) {
	_, _ = fmt.Sscanf(id, "chunk-%d", &seq)
	return seq
}

func (r *rivals) answer(p *party) {
	if len(p.inbox) == 0 {
		return
	}
	decision := p.inbox[0]
	p.inbox = p.inbox[1:]
	switch d := decision.(type) {
	case admission.Granted:
		item, waits := p.waiting[d.ID]
		if !waits {
			return
		}
		delete(p.waiting, d.ID)
		item.Keys = nil
		p.held[d.ID] = contract.AdmissionHeld{AdmissionItem: item, Fence: d.Fence, Since: r.now}
		by := map[int]string{}
		for _, taken := range d.Taken {
			for _, i := range taken.Indexes {
				by[i] = taken.By
				require.True(r.t, p.repeats || taken.By != p.holder.WorkflowID, "a group takes a key from itself")
			}
		}
		if d.ID != ownerID {
			r.step(p, ChunkAnswered{chunks.Claimed{Seq: seqOf(d.ID), Fence: d.Fence, Fences: d.Fences, Taken: by}})
			return
		}
		if other, taken := by[0]; taken {
			p.release(ownerID)
			if other == "" {
				r.step(p, ChunkAnswered{chunks.Refused{Code: contract.RefusedFull, Reason: "again"}})
				return
			}
			r.step(p, ChunkAnswered{chunks.BacklogClaimed{By: other}})
			return
		}
		r.step(p, ChunkAnswered{chunks.BacklogClaimed{}})
	case admission.Refused:
		delete(p.waiting, d.ID)
		r.step(p, ChunkAnswered{chunks.Refused{Seq: seqOf(d.ID), Code: contract.Code(d.Code), Reason: "full"}})
	case admission.Lost:
		delete(p.waiting, d.ID)
		delete(p.held, d.ID)
		r.step(p, TurnLost{Reason: d.ID})
	}
}

// reassert tells admission all that the group holds and waits for.
func (p *party) reassert(reset bool) {
	endings := p.next.Endings
	p.next = contract.AdmissionRequest{Reassert: true, Reset: reset, Endings: endings}
	if p.g.Phase() == PhaseEnded {
		p.next.ReleaseAll, p.next.Reassert = true, false
	}
	for _, id := range slices.Sorted(maps.Keys(p.waiting)) {
		p.next.Items = append(p.next.Items, p.waiting[id])
	}
	for _, id := range slices.Sorted(maps.Keys(p.held)) {
		held := p.held[id]
		held.Keys = admission.PackKeys([]uint64{1})
		if id != ownerID {
			held.Keys = admission.PackKeys(p.g.ChunkHashes(seqOf(id)))
		}
		p.next.Held = append(p.next.Held, held)
	}
	p.sends = true
}

func (p *party) read(lost bool) source.Event {
	reads := p.reads
	p.reads = nil
	if lost {
		return ChunkAnswered{chunks.KeysRead{Seq: reads.Seq}}
	}
	event := chunks.KeysRead{Seq: reads.Seq}
	for _, ref := range reads.Refs {
		event.Hashes = append(event.Hashes, p.hashes[ref.Page][ref.Position:ref.Position+ref.Count]...)
	}
	return ChunkAnswered{event}
}

func (r *rivals) end(p *party) {
	if len(p.running) == 0 {
		return
	}
	list := slices.Sorted(maps.Keys(p.running))
	job := p.running[list[r.rng.IntN(len(list))]]
	delete(p.running, job.Item)
	delete(r.running, p.hashOf(job))
	failure := []run.Failure{FailureNone, FailureNone, FailurePermanent, FailureFailed}[r.rng.IntN(4)]
	if p.g.stopping != stopNone {
		failure = FailureCanceled
	}
	r.step(p, run.Ended{Item: job.Item, Attempt: job.Attempt, Ending: run.Ending{Failure: failure}})
	_, open := p.g.engine.View(job.Item)
	p.ended[job.Item] = !open
}

func (p *party) restore(data []byte) {
	var err error
	p.g, err = Restore(data, p.now)
	require.NoError(p.t, err)
}

func (r *rivals) act() {
	r.now = r.now.Add(time.Duration(r.rng.IntN(50)) * time.Millisecond)
	p := r.parties[r.rng.IntN(len(r.parties))]
	p.now = r.now
	open := p.g.Phase() != PhaseEnded
	switch n := r.rng.IntN(40); {
	case n < 8:
		r.deliver(p)
	case n < 16:
		r.answer(p)
	case n < 20 && p.reads != nil && open:
		r.step(p, p.read(n == 19))
	case n < 28 && open:
		r.end(p)
	case n == 28 && open:
		r.step(p, JobCanceled{Job: 1 + r.rng.IntN(p.total)})
	case n == 29 && open && p.reads == nil:
		data, err := p.g.Snapshot()
		require.NoError(r.t, err)
		if len(p.running) == 0 && p.kept == nil {
			p.kept = &kept{data: data, waiting: maps.Clone(p.waiting), held: maps.Clone(p.held), ended: maps.Clone(p.ended)}
		}
		p.restore(data)
		r.step(p, run.Tick{})
	case n == 30:
		saved := r.core.Snapshot()
		core, err := admission.Restore(saved)
		require.NoError(r.t, err)
		r.core = core
	case n == 31 && r.rng.IntN(4) == 0:
		r.lose()
	case n == 32 && open && p.kept != nil:
		r.reset(p)
	case n == 33 && len(p.next.Items) > 0 && p.next.Items[0].ID != ownerID:
		full := p.next.Items[0]
		p.next.Items = p.next.Items[1:]
		p.inbox = append(p.inbox, admission.Refused{Holder: p.holder, AdmissionRefusal: contract.AdmissionRefusal{ID: full.ID, Code: contract.RefusedFull}})
	case n == 34:
		r.now = r.now.Add(10 * time.Second)
		r.decide(admission.Tick{})
		r.tick()
	case n == 35 && open && r.rng.IntN(200) == 0:
		r.step(p, source.Canceled{Reason: "enough"})
	case n == 36 && open:
		r.step(p, source.Paused{})
		r.step(p, source.Resumed{})
	case n == 37 && open:
		p.checkWaits()
	default:
		r.tick()
	}
}

// checkWaits: each job that does not run has one of the reasons.
func (p *party) checkWaits() {
	status, n := p.g.Status(p.now), 0
	for _, wait := range status.Waits {
		n += wait.Items
	}
	require.Equal(p.t, status.Pending, n, "%+v", status.Waits)
}

func (r *rivals) tick() {
	for _, p := range r.parties {
		if p.g.Phase() != PhaseEnded {
			r.step(p, run.Tick{})
		}
	}
}

// lose is an admission that was terminated: the next one knows nothing. Answers on their way arrive.
func (r *rivals) lose() {
	r.core = admission.New(r.now, admission.Durable{})
	named := admission.Expected{Final: true}
	for _, p := range r.parties {
		named.IDs = append(named.IDs, p.holder.WorkflowID)
		p.reassert(false)
	}
	r.decide(named)
}

// reset takes a group back. Its attempts since are gone, and it waits for the answers to what it asserts.
func (r *rivals) reset(p *party) {
	for _, job := range p.running {
		delete(r.running, p.hashOf(job))
	}
	p.running, p.reads, p.inbox, p.next = map[int]StartJob{}, nil, nil, contract.AdmissionRequest{}
	p.waiting, p.held, p.ended = p.kept.waiting, p.kept.held, p.kept.ended
	p.restore(p.kept.data)
	p.kept = nil
	p.reassert(true)
	r.deliver(p)
	for len(p.inbox) > 0 {
		r.answer(p)
	}
	if p.g.Phase() != PhaseEnded {
		r.step(p, run.Tick{})
	}
}

// remembered counts the ends of each job in the record.
func (p *party) remembered() map[int]int {
	found := map[int]int{}
	add := func(jobs []record.Job) {
		for _, j := range jobs {
			for n := j.N; n <= j.N+j.More; n++ {
				found[n]++
			}
		}
	}
	items := p.g.ItemRecord()
	if items == nil {
		return found
	}
	for _, page := range items.Pages {
		jobs, err := record.Read(p.record[page.Page])
		require.NoError(p.t, err)
		add(jobs)
	}
	rest, err := p.g.jobs.Record.Jobs()
	require.NoError(p.t, err)
	add(rest)
	return found
}

// TestRivalsNeverExecuteOneKeyAtOnce: groups of one job type with the same keys, ends, cancels, restores, resets, a
// full admission and one that was terminated, at random. Each accepted job ends in one state.
func TestRivalsNeverExecuteOneKeyAtOnce(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 7)) //nolint:gosec // a test
		r := &rivals{t: t, rng: rng, now: epoch, running: map[uint64]string{}}
		r.core = admission.New(epoch, admission.Durable{})
		r.decide(admission.Expected{Final: true})
		for i := range 2 + rng.IntN(2) {
			keys := rng.Perm(80)
			pages := map[string][]uint64{}
			for _, name := range []string{"p", "q"} {
				var hashes []uint64
				for range 5 + rng.IntN(30) {
					hashes = append(hashes, 100+uint64(keys[0]))
					if rng.IntN(60) > 0 { // Else there is a duplicate.
						keys = keys[1:]
					}
				}
				pages[name] = hashes
			}
			r.add(fmt.Sprint("group/", i), 4+rng.IntN(60), pages)
		}
		open := func() bool {
			return slices.ContainsFunc(r.parties, func(p *party) bool { return p.g.Phase() != PhaseEnded })
		}
		for steps := 0; open(); steps++ {
			require.Less(t, steps, 200_000, "seed %d stands still", seed)
			r.act()
		}
		for _, p := range r.parties {
			c := p.g.Counts()
			require.Equal(t, c.Accepted, c.Ended(), "seed %d: %+v", seed, c)
			require.Equal(t, p.total, c.Accepted+c.AlreadyActive+c.Duplicates, "seed %d: %+v", seed, c)
			found := p.remembered()
			require.Len(t, found, p.total)
			for n, times := range found {
				require.Equal(t, 1, times, "seed %d: job %d", seed, n)
			}
		}
	}
}
