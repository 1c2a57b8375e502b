package group

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
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

// rivals are groups of one job type and their admission. The checks use maps of full jobs: the place of each running
// key, and the end of each job.
type rivals struct {
	t       *testing.T
	rng     *rand.Rand
	now     time.Time
	core    *admission.Core
	parties []*party
	// running has the party and job that executes a key.
	running map[uint64]string
	zombies []zombie
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
	// own are the keys of the proposals that the group itself has, pages those with the others.
	own   []string
	pages []Page
	// prepares: it looks up its workers. claims are those of its last claim of all open jobs.
	prepares bool
	claims   []Claim
	// left counts the proposals that were left out before they were jobs.
	left int
	// dead: the group was terminated.
	dead bool
}

// zombie is an attempt of a group that was terminated. It ends within the grace.
type zombie struct {
	hash  uint64
	name  string
	until time.Time
}

// kept is a moment to which a group is reset later.
type kept struct {
	data    []byte
	waiting map[string]contract.AdmissionItem
	held    map[string]contract.AdmissionHeld
	ended   map[int]bool
	claims  []Claim
	left    int
}

// plan has the proposals of the detection of a group.
type plan struct {
	window int
	own    []string
	pages  map[string][]uint64
	lane   bool
	last   int
}

func (r *rivals) add(name string, plan plan) {
	pages := plan.pages
	p := &party{
		holder: contract.AdmissionHolder{WorkflowID: name, FirstRunID: "r"}, hashes: pages, waiting: map[string]contract.AdmissionItem{},
		held: map[string]contract.AdmissionHeld{}, running: map[int]StartJob{}, ended: map[int]bool{}, record: map[string][]byte{}, own: plan.own,
	}
	seen := map[uint64]bool{}
	for _, key := range plan.own {
		hash := contract.DedupeHash("jt", key)
		p.repeats = p.repeats || seen[hash]
		seen[hash] = true
	}
	for _, hashes := range pages {
		for _, hash := range hashes {
			p.repeats = p.repeats || hash != 0 && seen[hash]
			seen[hash] = true
		}
	}
	cfg := Config{Policy: wide(jobtype.Policy{MaxRuntime: seconds(plan.last), RetryLimit: 1, RetryBackoff: seconds(1)}), Window: plan.window, Claims: true, Sequence: 1}
	if plan.lane {
		cfg.Turn, cfg.Lane = true, "l"
	}
	p.script = open(r.t, cfg, nodes(node("a", 2), node("b", 1))...)
	found := make([]jobtype.Proposal, 2, 2+len(plan.own))
	for _, key := range plan.own {
		found = append(found, jobtype.Proposal{DedupeKey: key})
	}
	p.pages = []Page{{Proposals: found}}
	p.total = len(found)
	for _, page := range slices.Sorted(maps.Keys(pages)) {
		p.pages = append(p.pages, Page{Paged: pageOf(page, len(pages[page]), contract.JobClass{Keyed: true}, contract.JobClass{Node: "a", Keyed: true}, contract.JobClass{Priority: jobtype.PriorityHigh, Keyed: true}, contract.JobClass{})})
		p.total += len(pages[page])
	}
	r.parties = append(r.parties, p)
	r.step(p, run.Tick{})
}

// detect sends the pages of a detection.
func (r *rivals) detect(p *party) {
	for seq, page := range p.pages {
		page.Attempt, page.Seq = p.g.detect.Attempt, seq
		require.NoError(r.t, p.g.CheckPage(page))
		p.g.TakePage(r.now, page)
	}
	r.step(p, DetectionEnded{Attempt: p.g.detect.Attempt, Pages: len(p.pages), Emitted: p.total})
}

func (p *party) hashOf(j StartJob) uint64 {
	switch {
	case j.Ref == nil && j.Proposal.DedupeKey != "":
		return contract.DedupeHash("jt", j.Proposal.DedupeKey)
	case j.Ref == nil:
		return 0
	}
	return p.hashes[j.Ref.Page][j.Ref.Position]
}

func (p *party) ask(id string, hashes []uint64) {
	item := contract.AdmissionItem{ID: id, Keys: admission.PackKeys(hashes), Fences: 1 << 20}
	if strings.HasPrefix(id, laneID) {
		item.Lane = "l"
	}
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

const ownerID, laneID, claimsID = "backlog", "lane", "claims"

func turnName(id string, turn int) string { return fmt.Sprint(id, "-", turn) }

func chunkName(turn, seq int) string { return fmt.Sprint("chunk-", turn, "-", seq) }

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
			p.ask(turnName(ownerID, c.Turn), []uint64{1})
		case chunks.LeaveBacklog:
			p.release(turnName(ownerID, c.Turn))
		case chunks.ClaimChunk:
			p.ask(chunkName(c.Turn, c.Seq), c.Hashes)
		case chunks.LeaveChunk:
			p.release(chunkName(c.Turn, c.Seq))
		case Prepare:
			p.prepares = true
		case TakeTurn:
			p.ask(turnName(laneID, c.Turn), nil)
		case LeaveTurn:
			for _, id := range []string{laneID, claimsID, ownerID} {
				p.release(turnName(id, c.Turn))
			}
			for _, seq := range c.Chunks {
				p.release(chunkName(c.Turn, seq))
			}
		case ClaimKeys:
			p.claims = p.g.Claims(false)
			p.ask(turnName(claimsID, c.Turn), hashesOf(p.claims))
		case ReportEndings:
			p.next.Endings = append(p.next.Endings, contract.AdmissionEndings{
				At: p.now, Done: packedKeys(c.Done, c.DoneHashes), Settled: packedKeys(c.Settled, c.SettledHashes),
			})
			p.sends = true
		case End:
			p.waiting, p.held = map[string]contract.AdmissionItem{}, map[string]contract.AdmissionHeld{}
			p.next, p.sends = contract.AdmissionRequest{ReleaseAll: true}, true
		}
	}
}

func hashesOf(claims []Claim) (hashes []uint64) {
	for _, claim := range claims {
		hashes = append(hashes, claim.Hash)
	}
	return hashes
}

func packedKeys(keys []string, hashes []uint64) []byte {
	all := slices.Clone(hashes)
	for _, key := range keys {
		all = append(all, contract.DedupeHash("jt", key))
	}
	return admission.PackKeys(all)
}

// step passes an event to a group.
func (r *rivals) step(p *party, event source.Event) {
	p.now = r.now
	r.carryOut(p, p.script.step(event))
}

// deliver sends the requests of a group, and the answers of admission to all groups.
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
		case admission.Stopped:
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
	turn := 0
	_, _ = fmt.Sscanf(id, "chunk-%d-%d", &turn, &seq)
	return seq
}

func isOf(id, kind string) bool { return strings.HasPrefix(id, kind) }

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
		switch {
		case isOf(d.ID, laneID):
			r.step(p, TurnGranted{Fence: d.Fence, Fences: d.Fences})
		case isOf(d.ID, claimsID):
			r.claimed(p, d, by)
		case isOf(d.ID, "chunk"):
			held := map[int]chunks.Hold{}
			for _, one := range d.HeldBack {
				held[one.Index] = chunks.Hold{Code: one.Code}
			}
			r.step(p, ChunkAnswered{chunks.Claimed{Seq: seqOf(d.ID), Fence: d.Fence, Fences: d.Fences, Taken: by, HeldBack: held}})
		case len(by) == 0:
			r.step(p, ChunkAnswered{chunks.BacklogClaimed{}})
		default:
			p.release(d.ID)
			if by[0] == "" {
				r.step(p, ChunkAnswered{chunks.Refused{Code: contract.RefusedFull, Reason: "again"}})
				return
			}
			r.step(p, ChunkAnswered{chunks.BacklogClaimed{By: by[0]}})
		}
	case admission.Stopped:
		r.step(p, KeyStopped{DedupeKey: d.DedupeKey, Done: d.Code == contract.HoldMarkedDone, Reason: "it is held"})
	case admission.Refused:
		delete(p.waiting, d.ID)
		r.step(p, ChunkAnswered{chunks.Refused{Seq: seqOf(d.ID), Code: contract.Code(d.Code), Reason: "full"}})
	case admission.Lost:
		delete(p.waiting, d.ID)
		delete(p.held, d.ID)
		r.step(p, TurnLost{Reason: d.ID})
	}
}

// claimed answers the claim of all open jobs.
func (r *rivals) claimed(p *party, grant admission.Granted, by map[int]string) {
	event := KeysClaimed{Fence: grant.Fence, Fences: grant.Fences}
	for i, claim := range p.claims {
		if other, taken := by[i]; taken {
			event.Active = append(event.Active, Active{Job: claim.Job, Key: claim.Key, By: other})
		}
	}
	for _, one := range grant.HeldBack {
		claim := p.claims[one.Index]
		event.HeldBack = append(event.HeldBack, HeldBack{Job: claim.Job, Key: claim.Key, Code: one.Code})
	}
	before, begun := p.g.Counts(), p.g.begun
	r.step(p, event)
	if !begun {
		p.left = before.Accepted - p.g.Counts().Accepted
	}
}

// reassert reports the group's grants and requests to admission.
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
		switch {
		case isOf(id, ownerID):
			held.Keys = admission.PackKeys([]uint64{1})
		case isOf(id, claimsID):
			held.Keys = admission.PackKeys(hashesOf(p.g.Claims(false)))
		case isOf(id, "chunk"):
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
	if p.g.halt.On() {
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
	if p.dead {
		return
	}
	p.now = r.now
	open := p.g.Phase() != PhaseEnded
	rests := p.reads == nil && !p.prepares && p.g.Phase() != PhaseDetecting
	switch n := r.rng.IntN(50); {
	case n < 8:
		r.deliver(p)
	case n < 16:
		r.answer(p)
	case n < 20 && open:
		r.call(p, n == 19)
	case n < 28 && open:
		r.end(p)
	case n == 28 && open:
		r.operate(p)
	case n == 29 && open && rests:
		data, err := p.g.Snapshot()
		require.NoError(r.t, err)
		if len(p.running) == 0 && p.kept == nil {
			p.kept = &kept{data: data, waiting: maps.Clone(p.waiting), held: maps.Clone(p.held), ended: maps.Clone(p.ended), claims: p.claims, left: p.left}
		}
		p.restore(data)
		if p.g.Phase() == PhaseClaiming { // As the workflow does.
			p.claims = p.g.Claims(false)
		}
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
	case n == 33 && len(p.next.Items) > 0 && len(p.next.Items[0].Keys) > 0 && !isOf(p.next.Items[0].ID, claimsID):
		full := p.next.Items[0]
		p.next.Items = p.next.Items[1:]
		p.inbox = append(p.inbox, admission.Refused{Holder: p.holder, AdmissionRefusal: contract.AdmissionRefusal{ID: full.ID, Code: contract.RefusedFull}})
	case n == 34:
		r.pass(10 * time.Second)
	case n == 35 && open && r.rng.IntN(200) == 0:
		r.step(p, source.Canceled{Reason: "enough"})
	case n == 36 && open:
		r.step(p, source.Paused{})
		r.step(p, source.Resumed{})
	case n == 37 && open:
		p.checkClaims()
		p.checkWaits()
	case n == 38 && r.rng.IntN(10) == 0:
		r.decide(admission.MarkedDone{MarkDoneInput: contract.MarkDoneInput{JobType: "jt", DedupeKey: keyName(r.rng.IntN(80))}, Until: r.now.Add(time.Minute)})
	case n == 39 && open && r.rng.IntN(300) == 0:
		r.step(p, TypeStopped{Reason: "disabled"})
	case n == 40 && open:
		r.step(p, PolicySet{Policy: wide(jobtype.Policy{MaxRuntime: p.g.cfg.Policy.MaxRuntime, RetryLimit: r.rng.IntN(2), RetryBackoff: seconds(1)}).WithDefaults()})
	case n == 41 && open && len(p.running) == 0:
		r.strand(p)
	case n == 42 && r.rng.IntN(400) == 0:
		r.kill(p)
	default:
		r.tick()
	}
}

// call answers a call of a group.
func (r *rivals) call(p *party, lost bool) {
	switch {
	case p.prepares:
		p.prepares = false
		r.step(p, Prepared{Workers: p.workers})
	case p.g.Phase() == PhaseDetecting && p.g.detect.running():
		r.detect(p)
	case p.reads != nil:
		r.step(p, p.read(lost))
	}
}

// operate ends a job by its number or its key.
func (r *rivals) operate(p *party) {
	number, key := 1+r.rng.IntN(p.total), ""
	if r.rng.IntN(3) == 0 {
		number, key = 0, keyName(r.rng.IntN(80))
	}
	if r.rng.IntN(2) == 0 {
		r.step(p, source.CancelItem{Item: number, Key: key})
		return
	}
	var expired []int
	for n, start := range p.running {
		if n == number || key != "" && p.hashOf(start) == contract.DedupeHash("jt", key) {
			expired = append(expired, n)
		}
	}
	r.step(p, source.CancelItem{Item: number, Key: key, Force: true})
	for _, n := range expired { // It ends at once, without its handler.
		if _, open := p.g.engine.View(n); !open {
			delete(r.running, p.hashOf(p.running[n]))
			delete(p.running, n)
			p.ended[n] = true
		}
	}
}

// strand takes the workers of a group away, or brings them back.
func (r *rivals) strand(p *party) {
	switch {
	case p.workers[0].State == contract.WorkerOnline:
		p.workers = nodes(offline("a"), offline("b"))
	case r.rng.IntN(10) > 0:
		return
	default:
		p.workers = nodes(node("a", 2), node("b", 1))
	}
	r.step(p, run.WorkersChanged{Workers: p.workers})
}

// kill terminates a group. Its attempts end within the grace.
func (r *rivals) kill(p *party) {
	p.dead = true
	for _, n := range slices.Sorted(maps.Keys(p.running)) {
		if hash := p.hashOf(p.running[n]); hash != 0 {
			r.zombies = append(r.zombies, zombie{hash: hash, name: r.running[hash], until: r.now.Add(time.Duration(r.rng.IntN(59)) * time.Second)})
		}
	}
	r.decide(admission.Closed{Holder: p.holder})
}

// pass lets time pass.
func (r *rivals) pass(d time.Duration) {
	r.now = r.now.Add(d)
	for _, z := range r.zombies {
		if !z.until.After(r.now) && r.running[z.hash] == z.name {
			delete(r.running, z.hash)
		}
	}
	r.decide(admission.Tick{})
	r.tick()
}

func keyName(n int) string { return fmt.Sprint("k", n) }

// checkClaims: each held chunk has open jobs, and each open job has its claim.
func (p *party) checkClaims() {
	c := &p.g.chunks
	for id := range p.held {
		switch {
		case isOf(id, ownerID):
			require.True(p.t, c.Owns)
		case isOf(id, "chunk"):
			require.NotEmpty(p.t, p.g.ChunkHashes(seqOf(id)), id)
		}
	}
	for id := range p.waiting {
		switch {
		case isOf(id, ownerID):
			require.Equal(p.t, chunks.Owning, c.Step)
		case isOf(id, "chunk"):
			require.Equal(p.t, []any{chunks.Asking, c.Seq}, []any{c.Step, seqOf(id)})
		}
	}
	for _, j := range p.g.jobs.Sorted() {
		if j.Chunk > 0 {
			require.Contains(p.t, p.held, chunkName(p.g.turn.Number, j.Chunk))
		}
	}
}

// checkWaits: each job that does not run has one of the reasons.
func (p *party) checkWaits() {
	if p.g.Phase() != PhaseRunning || p.g.halt.On() {
		return
	}
	quiet := p.reads == nil && !p.prepares && !p.sends && len(p.waiting)+len(p.inbox)+len(p.running) == 0
	require.False(p.t, quiet && p.g.NextWake().IsZero() && p.workers[0].State == contract.WorkerOnline, "it stands still: %+v", p.g.Status(p.now))
	status, n := p.g.Status(p.now), 0
	for _, wait := range status.Waits {
		n += wait.Items
	}
	require.Equal(p.t, status.Pending, n, "%+v", status.Waits)
}

func (r *rivals) tick() {
	for _, p := range r.parties {
		if p.g.Phase() != PhaseEnded && !p.dead {
			r.step(p, run.Tick{})
		}
	}
}

// lose is an admission that was terminated: the next one has no state. Answers in transit arrive before its requests,
// because the server delivers none of a workflow that has ended.
func (r *rivals) lose() {
	if len(r.zombies) > 0 {
		return // Attempts of a terminated group would live on unseen.
	}
	r.core = admission.New(r.now, admission.Durable{})
	named := admission.Expected{Final: true}
	for _, p := range r.parties {
		if p.dead {
			continue // The server does not list it.
		}
		for len(p.inbox) > 0 {
			r.answer(p)
		}
		named.IDs = append(named.IDs, p.holder.WorkflowID)
		p.reassert(false)
	}
	r.decide(named)
}

// reset takes a group back. Its attempts since are gone, and it waits for the answers to its assertions.
func (r *rivals) reset(p *party) {
	for _, job := range p.running {
		delete(r.running, p.hashOf(job))
	}
	p.running, p.reads, p.inbox, p.next = map[int]StartJob{}, nil, nil, contract.AdmissionRequest{}
	p.waiting, p.held, p.ended, p.claims, p.left = p.kept.waiting, p.kept.held, p.kept.ended, p.kept.claims, p.kept.left
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

// TestRivalsNeverExecuteOneKeyAtOnce: groups of one job type with the same keys, lanes, operators, marks, lost workers, restores, resets, kills, a
// full admission and one that was terminated, at random. Each accepted job ends in one state.
func TestRivalsNeverExecuteOneKeyAtOnce(t *testing.T) {
	t.Parallel()
	for seed := range uint64(rivalSeeds) {
		simulateRivals(t, seed)
	}
}

const rivalSeeds = 60

func simulateRivals(t *testing.T, seed uint64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 7)) //nolint:gosec // a test
	r := &rivals{t: t, rng: rng, now: epoch, running: map[uint64]string{}}
	r.core = admission.New(epoch, admission.Durable{})
	r.decide(admission.Expected{Final: true})
	for i := range 2 + rng.IntN(2) {
		keys := rng.Perm(80)
		next := func() string {
			key := keyName(keys[0])
			if rng.IntN(60) > 0 { // Else there is a duplicate.
				keys = keys[1:]
			}
			return key
		}
		plan := plan{window: 4 + rng.IntN(60), pages: map[string][]uint64{}, lane: rng.IntN(2) == 0, last: []int{600, 1_000_000}[rng.IntN(2)]}
		for range rng.IntN(5) {
			if key := next(); !slices.Contains(plan.own, key) {
				plan.own = append(plan.own, key)
			}
		}
		for _, name := range []string{"p", "q"} {
			var hashes []uint64
			for n := range 5 + rng.IntN(30) {
				hash := uint64(0)
				if n%4 != 3 {
					hash = contract.DedupeHash("jt", next())
				}
				hashes = append(hashes, hash)
			}
			plan.pages[name] = hashes
		}
		r.add(fmt.Sprint("group/", i), plan)
	}
	open := func() bool {
		return slices.ContainsFunc(r.parties, func(p *party) bool { return p.g.Phase() != PhaseEnded && !p.dead })
	}
	for steps := 0; open(); steps++ {
		require.Less(t, steps, 200_000, "seed %d stands still", seed)
		r.act()
	}
	for _, p := range r.parties {
		if p.dead {
			continue
		}
		c := p.g.Counts()
		require.Equal(t, c.Accepted, c.Ended(), "seed %d: %+v", seed, c)
		if !p.g.begun { // It was given up before.
			continue
		}
		require.Equal(t, p.total, c.Accepted+c.AlreadyActive+c.Duplicates+c.Disabled, "seed %d: %+v", seed, c)
		found := p.remembered()
		require.Len(t, found, p.total-p.left)
		for n, times := range found {
			require.Equal(t, 1, times, "seed %d: job %d", seed, n)
		}
		for p.sends {
			r.deliver(p)
		}
	}
	r.pass(2 * time.Minute)
	require.Zero(t, r.core.View(contract.AdmissionFilter{Limit: 1}).Keys, "seed %d", seed)
}
