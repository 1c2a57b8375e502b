package steps_test

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/internal/seaweedfs/steps"
	"github.com/roundsman/roundsman/testsuite/fakecluster"
)

// step lets one job take one look or one call. It reports whether it took a look, so that more steps follow.
func (m *model) step(w *work, faulty bool) (looked bool) {
	if w.ended || w.runner == nil && !m.begin(w) {
		return false
	}
	if w.hanging != nil {
		m.hang(w)
		return false
	}
	if !m.now.Before(m.until) || w.epoch != m.epoch {
		m.abort(w) // the renewal is late, or was
		return false
	}
	look, step := w.runner.Next()
	switch {
	case look != nil:
		m.look(w, *look, faulty)
		return true
	case step.End != nil:
		m.end(w, *step.End)
		return false
	}
	if w.calm = step.Calm; step.Wait {
		w.runner.Again()
		return false
	}
	if step.Calm && rapid.IntRange(0, 5).Draw(m.t, "yield") == 0 && m.allCalm() {
		m.yield(w)
		return false
	}
	kept, err := json.Marshal(w.job)
	require.NoError(m.t, err)
	w.kept = append(w.kept, kept)
	w.calm = false
	m.call(w, *step.Call, faulty)
	return false
}

// begin starts the next attempt of a job, unless another job has its volume.
func (m *model) begin(w *work) bool {
	for _, other := range m.works {
		if other != w && other.volume == w.volume && (other.runner != nil || other.durable != nil && !other.ended) {
			return false
		}
	}
	if !m.now.Before(m.until) && !m.takeLease() {
		return false
	}
	w.job = w.start()
	if w.durable != nil {
		require.NoError(m.t, steps.Resume(w.job, w.durable))
	}
	m.log("%s begins with %s", w.name, w.durable)
	if w.durable == nil {
		w.durable = json.RawMessage(`{}`)
	}
	w.kept, w.calm, w.epoch, w.runner = nil, true, m.epoch, steps.NewRunner(w.job)
	return true
}

func (m *model) abort(w *work) {
	m.log("%s aborts", w.name)
	if len(w.kept) > 0 {
		w.durable = w.kept[len(w.kept)-1]
	}
	w.runner, w.job = nil, nil
}

func (m *model) allCalm() bool {
	return !slices.ContainsFunc(m.works, func(w *work) bool { return w.runner != nil && !w.calm })
}

func (m *model) yield(w *work) {
	m.log("%s yields", w.name)
	m.cluster.Release("shell", m.token, m.since)
	m.token, m.since, m.until = 0, 0, time.Time{}
	m.operator(w.volume)
	if !m.takeLease() {
		m.abort(w)
		return
	}
	for _, other := range m.works {
		if other.runner != nil && other.epoch == m.epoch-1 {
			other.epoch = m.epoch
			other.runner.Again()
		}
	}
}

func (m *model) look(w *work, look steps.Look, faulty bool) {
	unseen := faulty && rapid.IntRange(0, 4*m.calmness).Draw(m.t, "unseen") == 1
	if look.Index {
		index := lookAtIndex(m.cluster, look, w.volume)
		if unseen || m.down[look.Server] {
			index = steps.Index{Why: "no answer"}
		}
		w.runner.SawIndex(index)
		return
	}
	if !look.Shards {
		replica := lookAt(m.cluster, look.Server, w.volume)
		if unseen || m.down[look.Server] {
			replica = steps.Replica{Why: "no answer"}
		} else if look.Arrival && replica.Presence == steps.Absent && m.cluster.Arriving(look.Server, w.volume) {
			replica = steps.Replica{Why: "it is being copied", Arriving: true}
		}
		w.runner.SawReplica(replica)
		return
	}
	shards := lookAtShards(m.cluster, look.Server, w.volume)
	if unseen || m.down[look.Server] {
		shards = steps.Shards{Why: "no answer"}
	}
	w.runner.SawShards(shards)
}

func lookAt(c *fakecluster.Cluster, server string, id uint32) steps.Replica {
	status, err := c.Status(server, id)
	if err != nil {
		return steps.Replica{Presence: steps.Absent}
	}
	presence := steps.Present
	if status.Ghost {
		presence = steps.Unknown
	}
	return steps.Replica{Ghost: status.Ghost, Presence: presence, ReadOnly: status.ReadOnly, Dat: status.Dat, Idx: status.Idx, Revision: status.Revision}
}

func lookAtIndex(c *fakecluster.Cluster, look steps.Look, id uint32) steps.Index {
	sums := c.Index
	if look.Hidden {
		sums = c.HiddenIndex
	}
	live, digest, err := sums(look.Server, id)
	if err != nil {
		return steps.Index{Presence: steps.Absent}
	}
	head, _ := c.IndexHead(look.Server, id, look.Head)
	return steps.Index{Presence: steps.Present, Live: live, Digest: digest, Head: head}
}

func lookAtShards(c *fakecluster.Cluster, server string, id uint32) steps.Shards {
	info, err := c.EcInfo(server, id)
	if err != nil {
		return steps.Shards{Presence: steps.Absent}
	}
	seen := steps.Shards{Presence: steps.Present, Made: info.Made, Encoded: info.Encoded, Entries: info.Files + info.Deleted, Deleted: info.Deleted, Bytes: info.Sums, Sizes: map[uint32]int64{}}
	for _, shard := range info.Shards {
		seen.Sizes[shard.ID] = shard.Size
	}
	return seen
}

// call carries out a call, refuses it, loses its answer, answers without an effect, or leaves it without an
// answer.
func (m *model) call(w *work, c steps.Call, faulty bool) {
	fate := 0
	if faulty {
		fate = rapid.IntRange(0, m.calmness).Draw(m.t, "fate")
	}
	m.log("%s: %+v, fate %d", w.name, c, fate)
	switch fate {
	case 1:
		w.runner.Took(c, steps.Answer{Err: "refused"})
	case 2:
		m.carryOut(c)
		if c.Op == steps.Copy {
			m.cluster.LoseFiles(c.Server, c.Volume)
		}
		w.runner.Took(c, steps.Answer{Err: "the answer was lost"})
	case 3:
		// No look shows the file of an unmounted shard, so a false answer about its deletion cannot be noticed.
		if c.Op == steps.EcDelete || c.Op == steps.Cleanup {
			w.runner.Took(c, m.carryOut(c))
			return
		}
		w.runner.Took(c, steps.Answer{})
	case 4:
		w.hanging, w.arrived, w.deadline = &c, false, m.until
		if c.Op == steps.Copy {
			// A server continues a copy without its caller, and after its lease.
			w.arrived = true
			_ = m.cluster.BeginCopy(c.Server, c.Source, c.Volume)
		}
	default:
		w.runner.Took(c, m.carryOut(c))
	}
}

func (m *model) carryOut(c steps.Call) steps.Answer {
	answer, err := fakecluster.Do(m.cluster, c)
	if err != nil {
		m.log("  %v", err)
		return steps.Answer{Err: err.Error()}
	}
	return answer
}

// hang lets a call without an answer wait, arrive at its server, or end. A short call ends with the lease of
// its sending, a long one with the loss of the lease.
func (m *model) hang(w *work) {
	over := !m.now.Before(m.until) || w.epoch != m.epoch
	if !w.hanging.Long() {
		over = over || !m.now.Before(w.deadline)
	}
	choice := rapid.IntRange(0, 3).Draw(m.t, "hang")
	switch {
	case over || choice == 3:
		m.log("%s: %s does not answer", w.name, *w.hanging)
		c := *w.hanging
		w.hanging = nil
		w.runner.Took(c, steps.Answer{Err: "deadline exceeded"})
	case choice == 2 && w.hanging.Op == steps.Copy:
		m.log("copies end: %v", m.cluster.EndCopies())
	case choice == 2:
		m.arrive(w)
	}
}

// arrive carries out a call that hung, or drops it.
func (m *model) arrive(w *work) {
	inTime := w.hanging != nil && !w.arrived && m.now.Before(w.deadline)
	if inTime && rapid.Bool().Draw(m.t, "arrives") {
		m.log("%s: %s arrives late", w.name, *w.hanging)
		w.arrived = true
		m.carryOut(*w.hanging)
	}
}

func (m *model) end(w *work, end steps.End) {
	m.log("%s ends %+v", w.name, end)
	if move, ok := w.job.(*steps.MoveShard); ok && m.toldOf(w.volume, steps.LeftShards, move.Source) {
		// A shard that an encoding left is a surplus on its new server too.
		m.said[w.volume] = append(m.said[w.volume], steps.Leftover{Kind: steps.LeftShards, Server: move.Target})
	}
	if move, ok := w.job.(*steps.Move); ok && m.toldOf(w.volume, steps.LeftReadOnly, move.Source) {
		// The copy has the mark that an encoding left.
		m.said[w.volume] = append(m.said[w.volume], steps.Leftover{Kind: steps.LeftReadOnly, Server: move.Target})
	}
	w.ended, w.runner, w.job = true, nil, nil
	m.said[w.volume] = append(m.said[w.volume], end.Left...)
	if w.runs > 0 {
		w.runs--
		w.ended, w.durable = false, nil
	}
}

func (m *model) nothingLost() {
	for id, keys := range m.objects {
		for _, key := range keys {
			if !m.cluster.Readable(id, key) {
				m.t.Fatalf("object %d of volume %d is lost after\n%s", key, id, joined(m.trace))
			}
		}
	}
	for _, id := range []uint32{encodeID, encodedID} {
		holders, _ := m.cluster.Replicas(id)
		if have := m.shardsThatAre(id); len(holders) == 0 && len(have)+len(m.lost[id]) < steps.TotalShards && len(m.objects[id]) > 0 {
			m.t.Fatalf("volume %d has only the shards %v after\n%s", id, have, joined(m.trace))
		}
	}
}

// settle lets every job end by itself on working servers, then checks the leftovers.
func (m *model) settle() {
	m.log("settle")
	for _, server := range m.servers {
		if m.down[server] {
			m.flip(server)
		}
	}
	m.log("copies end: %v", m.cluster.EndCopies())
	for round := 0; ; round++ {
		if round > 3000 {
			m.t.Fatalf("jobs do not end:\n%s", joined(m.trace))
		}
		open := false
		for _, w := range m.works {
			if w.ended || w.runner == nil && w.durable == nil {
				continue // it ended, or never began
			}
			open = true
			for m.step(w, false) {
			}
			m.nothingLost()
		}
		if !open {
			break
		}
		if !m.now.Before(m.until) {
			m.now = m.now.Add(time.Second)
		} else {
			m.takeLease()
		}
	}
	for id := uint32(1); id <= encodedID; id++ {
		m.nothingHidden(id)
		m.noShardHidden(id)
	}
}

func (m *model) toldOf(id uint32, kind steps.LeftoverKind, server string) bool {
	return slices.Contains(m.said[id], steps.Leftover{Kind: kind, Server: server})
}

func (m *model) nothingHidden(id uint32) {
	holders, readOnly := m.cluster.Replicas(id)
	for _, server := range readOnly {
		if !m.toldOf(id, steps.LeftReadOnly, server) {
			m.t.Fatalf("volume %d is read-only on %s and no job said so:\n%s", id, server, joined(m.trace))
		}
	}
	want := 2
	if id == 1 {
		want = 1
	}
	copied := slices.ContainsFunc(m.said[id], func(l steps.Leftover) bool { return l.Kind == steps.LeftCopy })
	if len(holders) > want && !copied && !m.repaired[id] {
		m.t.Fatalf("volume %d is on %v and no job said so:\n%s", id, holders, joined(m.trace))
	}
}

// noShardHidden: a volume is replicas or shards, each shard is on one server, and all files on disk are
// mounted.
func (m *model) noShardHidden(id uint32) {
	replicas, _ := m.cluster.Replicas(id)
	mounted := m.cluster.ShardHolders(id)
	where := map[uint32]string{}
	for _, server := range m.servers {
		for _, shard := range m.cluster.ShardFiles(id)[server] {
			if m.toldOf(id, steps.LeftShards, server) || m.untouched(server, shard, id) {
				continue
			}
			switch {
			case len(replicas) > 0:
				m.t.Fatalf("volume %d has replicas, and shard %d on %s, and no job said so:\n%s", id, shard, server, joined(m.trace))
			case !slices.Contains(mounted[server], shard):
				m.t.Fatalf("shard %d of volume %d is not mounted on %s and no job said so:\n%s", shard, id, server, joined(m.trace))
			case where[shard] != "":
				m.t.Fatalf("shard %d of volume %d is on %s and %s and no job said so:\n%s", shard, id, where[shard], server, joined(m.trace))
			}
			where[shard] = server
		}
	}
}

// untouched is the duplicate that was there from the beginning.
func (m *model) untouched(server string, shard, id uint32) bool {
	return id == encodedID && shard == 2 && server == m.servers[4]
}
