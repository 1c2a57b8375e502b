package steps

import "github.com/roundsman/roundsman/internal/lib/lists"

// Move brings a volume from Source to Target:
//
//	mark the source read-only → copy → persist the mark → tail → see that the target
//	has as much → delete the source
//
// An existing copy is never deleted, also one by another client. A writable copy is completed: a tail from the
// beginning makes any copy complete. A failure makes the source writable again after the copy became read-only, because
// two writable copies diverge.
type Move struct {
	Volume     uint32 `json:"volume"`
	Collection string `json:"collection,omitempty"`
	Source     string `json:"source"`
	Target     string `json:"target"`
	// Others also hold the volume. Copies is the number of its placement.
	Others   []string `json:"others,omitempty"`
	Copies   int      `json:"copies"`
	DiskType string   `json:"disk_type,omitempty"`
	IOLimit  int64    `json:"io_limit,omitempty"`

	// Repair: a lost job began the move. An existing copy is completed, and no new one is made.
	Repair bool `json:"repair,omitempty"`
	// Noted: the source was writable. Without a copy it becomes writable again.
	Noted bool `json:"noted,omitempty"`

	moveProgress

	// The rest belongs to one attempt.
	attempt
	tailed   bool
	waits    int
	arriving bool
	// head is the number of bytes of the indexes that are compared, 0 for none.
	head     uint64
	fenced   bool
	restored bool
	stopped  *End
}

// moveProgress is the part of a move that the next attempt continues.
type moveProgress struct {
	// Marked: the source was writable before this job.
	Marked bool `json:"marked,omitempty"`
	// Fenced: the mark of the source may be persisted.
	Fenced bool `json:"fenced,omitempty"`
	// Copying: a copy by this job may have begun. Copied: the copy ended well, with SinceNS.
	Copying bool   `json:"copying,omitempty"`
	Copied  bool   `json:"copied,omitempty"`
	SinceNS uint64 `json:"since_ns,omitempty"`
}

// Looks implements [Job].
func (m *Move) Looks() []Look {
	looks := []Look{{Server: m.Source, Seal: m.Noted, Collection: m.Collection}, {Server: m.Target, Arrival: true, Collection: m.Collection}}
	for _, other := range m.Others {
		looks = append(looks, Look{Server: other})
	}
	if m.head > 0 {
		looks = append(looks, Look{Server: m.Source, Index: true, Head: m.head}, Look{Server: m.Target, Index: true, Head: m.head})
	}
	return looks
}

// Decide implements [Job].
func (m *Move) Decide(seen View) Step {
	source, target := seen.Replicas[m.Source], seen.Replicas[m.Target]
	switch {
	case target.Arriving && m.waits < maxStoppedWaits:
		return m.await()
	case target.Arriving:
		return ended(m.leave(failed(CopyUnfinished).at(m.Target, m.stopped.Cause), source, target))
	case target.Ghost:
		return m.ghost(source, target)
	case source.Presence == Unknown:
		return ended(m.leave(failed(CannotRead).at(m.Source, source.Why), source, target))
	case target.Presence == Unknown && m.Marked && !m.Copying && !m.earlier && source.ReadOnly && m.may(MarkWritable, m.Source):
		m.failure = failed(CannotRead).at(m.Target, target.Why)
		return m.writable()
	case target.Presence == Unknown:
		return ended(m.leave(failed(CannotRead).at(m.Target, target.Why), source, target))
	case source.Presence == Absent && target.Presence == Present && m.Repair:
		return ended(m.leaveFence(done(Completed), target))
	case source.Presence == Absent && target.Presence == Present && m.Copied && !m.Marked && !m.earlier:
		return ended(done(Moved)) // the mark of the target comes from the source, from before this job
	case source.Presence == Absent && target.Presence == Present:
		return ended(m.leaveFence(done(Moved), target))
	case source.Presence == Absent:
		return ended(failed(VolumeGone).at(m.Source, "").final())
	case target.Presence == Present:
		return m.both(seen, source, target)
	}
	return m.alone(seen, source, target)
}

// maxStoppedWaits bounds the looks of a stopped job for the end of a copy.
const maxStoppedWaits = 10

// A second copy would overwrite the files of the first, and remove both if the source is gone by then.
func (m *Move) await() Step {
	if m.stopped != nil {
		m.waits++
	}
	m.Copying, m.arriving = true, true
	return calmly(Step{Wait: true})
}

// ghost removes a copy whose files are gone, so that it can be made again.
func (m *Move) ghost(source, target Replica) Step {
	switch {
	case source.Presence == Unknown:
		return ended(m.leave(failed(CannotRead).at(m.Source, source.Why), source, target))
	case source.Presence == Absent || source.Revision != target.Revision || !source.covers(target):
		return ended(m.leave(failed(FilesGone).at(m.Target, target.Why).final(), source, target))
	case !m.may(Delete, m.Target):
		return ended(m.leave(m.failedCall(m.Target), source, target))
	}
	m.Copying = true
	return call(Call{Op: Delete, Server: m.Target, Volume: m.Volume, Collection: m.Collection})
}

// alone decides while only the source has the volume.
func (m *Move) alone(seen View, source, target Replica) Step {
	m.Copied, m.SinceNS, m.tailed = false, 0, false
	if m.arriving {
		// A server removes its note before it loads the volume.
		m.arriving = false
		return calmly(Step{Wait: true})
	}
	if m.Repair {
		return m.restore(seen, source, target)
	}
	if m.failure == nil && m.stopped != nil {
		m.failure = m.stopped
	}
	if m.failure == nil && m.tried(Copy, m.Target) >= 1 {
		m.failure = m.failedCall(m.Target)
	}
	if m.failure != nil {
		return m.abandon(false, source, target)
	}
	if !source.ReadOnly {
		if !m.may(MarkReadOnly, m.Source) {
			return ended(m.failedCall(m.Source))
		}
		m.Marked = true
		return calmly(m.readOnly(m.Source, false))
	}
	if m.Fenced && m.Marked && m.may(MarkWritable, m.Source) {
		// A copy would carry the mark.
		return m.writable()
	}
	m.Copying = true
	return calmly(call(Call{Op: Copy, Server: m.Target, Volume: m.Volume, Collection: m.Collection, Source: m.Source, DiskType: m.DiskType, IOLimit: m.IOLimit}))
}

// A move persists its mark only after the copy, so a persisted mark is an operator's.
func (m *Move) restore(seen View, source, target Replica) Step {
	copies := 1 + lists.Count(m.Others, func(other string) bool { return seen.Replicas[other].Presence != Absent })
	switch {
	case m.restored:
		return ended(m.leave(done(Restored), source, target))
	case !m.Noted || !source.ReadOnly || source.Sealed || copies > m.Copies:
		return ended(m.leave(done(Stale), source, target))
	case !m.may(MarkWritable, m.Source):
		return ended(m.leave(m.failedCall(m.Source), source, target))
	}
	return m.writable()
}

// both decides while source and target have the volume.
func (m *Move) both(seen View, source, target Replica) Step {
	copies := 2
	for _, other := range m.Others {
		switch replica := seen.Replicas[other]; {
		case replica.Presence == Unknown && !m.Copying:
			return ended(m.leave(failed(CannotRead).at(other, replica.Why), source, target))
		case replica.Presence != Absent:
			copies++
		}
	}
	surplus := copies > m.Copies
	if !surplus && !m.Copying {
		// The target has a replica of its own, placed there by another client.
		return m.keep(done(Stale), source, target)
	}
	if m.failure != nil {
		return m.abandon(surplus, source, target)
	}
	if target.ReadOnly && !m.inherited(source) {
		// A tail is a write. A copy made writable for it could take a client's write before it is complete.
		return m.fail(surplus, failed(TargetReadOnly).at(m.Target, "").final(), source, target)
	}
	if !source.ReadOnly && surplus {
		return m.markAgain(source, target)
	}
	if surplus && m.Marked && !m.fenced && m.may(MarkReadOnly, m.Source) {
		// Otherwise a restart of the source makes two writable copies.
		m.Fenced = true
		return m.readOnly(m.Source, true)
	}
	if !m.tailed && (!m.Copied || m.earlier || m.Repair) {
		if step, tails := m.compare(surplus, seen, source, target); !tails {
			return step
		}
	}
	if !m.tailed {
		if !m.may(Tail, m.Target) {
			return m.fail(surplus, m.failedCall(m.Target), source, target)
		}
		return call(Call{Op: Tail, Server: m.Target, Volume: m.Volume, Collection: m.Collection, Source: m.Source, SinceNS: m.SinceNS})
	}
	return m.complete(surplus, source, target)
}

// A tail appends the writes of the source over newer writes and deletions of the copy. A copy starts with the index
// of its source, so the common head of both indexes shows later writes. If both took some, a person must compare them.
func (m *Move) compare(surplus bool, seen View, source, target Replica) (step Step, tails bool) {
	head := min(source.Idx, target.Idx)
	if head != m.head {
		m.head = head
		return Step{Again: true}, false
	}
	from, into := seen.Indexes[m.Source], seen.Indexes[m.Target]
	m.head = 0
	switch {
	case head > 0 && from.Presence != Present:
		return m.fail(surplus, failed(CannotRead).at(m.Source, from.Why), source, target), false
	case head > 0 && into.Presence != Present:
		return m.fail(surplus, failed(CannotRead).at(m.Target, into.Why), source, target), false
	case head > 0 && from.Head != into.Head:
		return m.fail(surplus, failed(ReplicasDiffer).at(m.Target, m.Source).final(), source, target), false
	case target.Idx >= source.Idx:
		m.tailed = true
		return m.complete(surplus, source, target), false
	}
	return Step{}, true
}

// complete decides about a tailed target.
func (m *Move) complete(surplus bool, source, target Replica) Step {
	switch {
	case !surplus:
		return m.keep(done(KeptSource), source, target)
	case source.Revision != target.Revision:
		// After a compaction sizes prove nothing.
		return m.fail(surplus, failed(ReplicasDiffer).at(m.Target, m.Source).final(), source, target)
	case !target.covers(source):
		return m.fail(surplus, failed(TargetSmaller).at(m.Target, "").final(), source, target)
	case !m.may(Delete, m.Source):
		// Source and target are complete and the source takes no writes, so both stay.
		return ended(m.leave(m.failedCall(m.Source), source, target))
	}
	return call(Call{Op: Delete, Server: m.Source, Volume: m.Volume, Collection: m.Collection})
}

func (m *Move) keep(end *End, source, target Replica) Step {
	if m.Marked && source.ReadOnly && m.may(MarkWritable, m.Source) {
		return m.writable()
	}
	return ended(m.leaveFence(m.leave(end, source, Replica{Presence: Absent}), target))
}

func (m *Move) markAgain(source, target Replica) Step {
	if !m.may(MarkReadOnly, m.Source) {
		return m.fail(true, m.failedCall(m.Source), source, target)
	}
	m.Marked, m.Fenced, m.tailed = true, true, false
	return m.readOnly(m.Source, true)
}

func (m *Move) fail(surplus bool, end *End, source, target Replica) Step {
	m.failure = end
	return m.abandon(surplus, source, target)
}

// S6: only after a surplus copy is read-only, and only if that copy took no write before.
func (m *Move) abandon(surplus bool, source, target Replica) Step {
	undo := source.ReadOnly && m.Marked && m.may(MarkWritable, m.Source)
	if surplus && target.Presence == Present {
		if !target.ReadOnly && (undo || !source.ReadOnly) && m.may(MarkReadOnly, m.Target) {
			return m.readOnly(m.Target, true)
		}
		undo = undo && target.ReadOnly && source.Revision == target.Revision && source.covers(target)
	}
	if undo {
		return m.writable()
	}
	return ended(m.leave(m.failure, source, target))
}

// A copy inherits a persisted mark, and no client wrote to either since.
func (m *Move) inherited(source Replica) bool {
	return m.Copied && !m.Marked && source.ReadOnly
}

// A copy inherits a persisted mark and would refuse its tail, so the mark of the source is persisted only after the copy.
func (m *Move) readOnly(server string, persist bool) Step {
	return call(Call{Op: MarkReadOnly, Server: server, Volume: m.Volume, Collection: m.Collection, Persist: persist})
}

func (m *Move) writable() Step {
	return call(Call{Op: MarkWritable, Server: m.Source, Volume: m.Volume, Collection: m.Collection})
}

func (m *Move) may(op Op, server string) bool {
	limit := maxTries
	if op == MarkReadOnly && m.fenced {
		limit++ // a persisted mark is not part of a failure
	}
	return m.tried(op, server) < limit
}

func (m *Move) leaveFence(end *End, target Replica) *End {
	fenced := m.earlier || m.tried(MarkReadOnly, m.Target) > 0
	if target.Presence == Present && target.ReadOnly || target.Presence == Unknown && fenced {
		end.leaves(LeftReadOnly, m.Target)
	}
	return end
}

// leave lists the leftovers. An unreadable server may still have changes by this job, or by the one it repairs.
func (m *Move) leave(end *End, source, target Replica) *End {
	if source.Presence == Present && source.ReadOnly || source.Presence == Unknown && (m.Marked || m.earlier || m.Repair) {
		end.leaves(LeftReadOnly, m.Source)
	}
	if target.Presence == Present || target.Presence == Unknown && (m.Copying || m.earlier) {
		end.leaves(LeftCopy, m.Target)
	}
	return m.leaveFence(end, target)
}

// Stop makes the job end before the copy. A copied volume is completed, which takes the time of a tail.
func (m *Move) Stop(cause string) { m.stopped = failed(Stopped).at("", cause) }

// Took implements [Job].
func (m *Move) Took(c Call, answer Answer) {
	if !m.took(c, answer) {
		return
	}
	switch c.Op {
	case Copy:
		m.Copied, m.SinceNS, m.tailed = true, answer.SinceNS, false
	case Tail:
		m.tailed = true
	case MarkReadOnly:
		m.fenced = m.fenced || c.Server == m.Source && c.Persist
	case MarkWritable:
		m.Fenced, m.fenced, m.restored = false, false, m.Repair
	case Check, Compact, Commit, Cleanup, Delete, EcGenerate, EcCopy, EcMount, EcUnmount, EcDelete:
	}
}
