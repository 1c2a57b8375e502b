package steps_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/internal/seaweedfs/steps"
	"github.com/roundsman/roundsman/testsuite/fakecluster"
)

// TestNothingIsLost interleaves moves, vacuums, encodings and shard moves with an operator's fix.replication,
// writes of clients, lost leases, kills at every call, and servers that fail, hang, answer falsely, restart,
// and vanish for a while or for good.
//
// At any moment every confirmed object can be read from the disks, and no shard is missing. In the end no
// volume is read-only, and none has a surplus copy or shard, except those that a job listed. `make property`
// runs it 10,000 times. TestSabotagesAreNoticed shows that it notices broken steps.
func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		m := newModel(rt)
		for range rapid.IntRange(20, 150).Draw(rt, "length") {
			m.act()
			m.nothingLost()
		}
		m.settle()
	})
}

const (
	leaseBelief = 7 * time.Second
	modelServer = 5
	// Volume 1 has one copy, 2 and 3 have two. 4 is encoded, with two copies of shard 2.
	encodeID, encodedID = 3, 4
)

type model struct {
	t       *rapid.T
	cluster *fakecluster.Cluster
	now     time.Time
	servers []string
	down    map[string]bool
	// gone is the server that vanished for good.
	gone    string
	objects map[uint32][]uint64
	// lost are the shards that vanished with a server.
	lost map[uint32]map[uint32]bool
	next uint64
	// The lease in the view of the process.
	token, since int64
	until        time.Time
	// epoch counts the leases: a job of an earlier lease must not continue under a later one, see weed.Hold.
	epoch int
	works []*work
	// calmness is the number of successful calls per four failures.
	calmness int
	// said are the leftovers that jobs listed, by volume, repaired the volumes that the operator copied.
	said     map[uint32][]steps.Leftover
	repaired map[uint32]bool
	trace    []string
}

// work is one job of the control plane over all its attempts.
type work struct {
	name   string
	volume uint32
	start  func() steps.Job
	// runs bounds how often the job is found again after its end.
	runs int
	// kept are the written checkpoints. A kill leaves any of them.
	kept    []json.RawMessage
	durable json.RawMessage
	job     steps.Job
	runner  *steps.Runner
	// hanging is a call without an answer yet, until the deadline of its lease.
	hanging  *steps.Call
	arrived  bool
	deadline time.Time
	calm     bool
	epoch    int
	ended    bool
}

func newModel(t *rapid.T) *model {
	m := &model{
		t: t, now: time.Unix(1_700_000_000, 0), down: map[string]bool{}, objects: map[uint32][]uint64{}, next: 1 << 40,
		said: map[uint32][]steps.Leftover{}, repaired: map[uint32]bool{}, lost: map[uint32]map[uint32]bool{},
	}
	m.calmness = rapid.SampledFrom([]int{5, 12, 25, 100}).Draw(t, "calmness")
	m.cluster = fakecluster.New(func() time.Time { return m.now })
	for i := range modelServer {
		address := fmt.Sprintf("s%d:8080", i)
		m.servers = append(m.servers, address)
		m.cluster.Add(fakecluster.Server{Address: address, Max: 20})
	}
	m.put(1, 0, m.servers[0])
	m.put(2, 1, m.servers[1], m.servers[2])
	m.put(encodeID, 1, m.servers[2], m.servers[3])
	m.put(encodedID, 1, m.servers[1], m.servers[3])
	m.encodeNow(encodedID)
	require.NoError(t, m.cluster.EcCopy(m.servers[4], m.servers[2], encodedID, []uint32{2}, 0))
	require.NoError(t, m.cluster.EcMount(m.servers[4], encodedID, []uint32{2}))
	m.focus()
	return m
}

// focus chooses the jobs of this run: few jobs make progress, many interfere.
func (m *model) focus() {
	s := m.servers
	all := [][]*work{
		{
			{name: "move1", volume: 1, start: m.move(1, s[0], s[rapid.IntRange(1, 4).Draw(m.t, "target")])},
			{name: "back1", volume: 1, start: m.move(1, s[2], s[0])},
			{name: "vacuum1", volume: 1, start: m.vacuum(1), runs: 2},
		},
		{
			{name: "move2", volume: 2, start: m.move(2, s[1], s[3])},
			{name: "vacuum2", volume: 2, start: m.vacuum(2), runs: 2},
		},
		{
			{name: "encode", volume: encodeID, start: m.encode(encodeID), runs: 1},
			{name: "moveEc", volume: encodeID, start: m.move(encodeID, s[2], s[0])},
			{name: "shardEc", volume: encodeID, start: m.shard(encodeID, 1, s[1], s[4])},
		},
		{
			{name: "shard", volume: encodedID, start: m.shard(encodedID, 0, s[0], s[4]), runs: 1},
			{name: "back", volume: encodedID, start: m.shard(encodedID, 0, s[4], s[0])},
			{name: "shard1", volume: encodedID, start: m.shard(encodedID, 1, s[1], s[2])},
			{name: "dedup", volume: encodedID, start: m.dedup(encodedID, 2, s[4], s[2])},
		},
	}
	picked := rapid.IntRange(0, len(all)).Draw(m.t, "focus")
	if picked < len(all) {
		all = all[picked : picked+1]
	}
	for _, works := range all {
		m.works = append(m.works, works...)
	}
}

func (m *model) put(id, placement uint32, servers ...string) {
	m.cluster.Put(fakecluster.Volume{ID: id, Placement: placement}, servers...)
	for range 3 {
		m.write(id)
	}
}

func (m *model) write(id uint32) {
	m.next++
	// Sizes are far apart, so that two different volumes never have equal sizes.
	stored := m.cluster.Write(id, m.next, 1000+m.next*2654435761%100_000_007)
	if stored {
		m.objects[id] = append(m.objects[id], m.next)
	}
	m.log("a client writes object %d to volume %d: %v", m.next, id, stored)
}

func (m *model) erase(id uint32) {
	if keys := m.objects[id]; len(keys) > 1 && m.cluster.Erase(id, keys[0]) {
		m.objects[id] = keys[1:]
		m.log("a client deletes object %d of volume %d", keys[0], id)
	}
}

func (m *model) move(id uint32, source, target string) func() steps.Job {
	return func() steps.Job {
		job := &steps.Move{Volume: id, Source: source, Target: target, Copies: 1}
		if id != 1 {
			job.Copies = 2
		}
		holders, _ := m.cluster.Replicas(id)
		for _, holder := range holders {
			if holder != source && holder != target {
				job.Others = append(job.Others, holder)
			}
		}
		return job
	}
}

func (m *model) vacuum(id uint32) func() steps.Job {
	return func() steps.Job {
		holders, _ := m.cluster.Replicas(id)
		return &steps.Vacuum{Volume: id, Servers: holders, Threshold: 0.01}
	}
}

// encode uses the current replicas, and those of its detection.
func (m *model) encode(id uint32) func() steps.Job {
	detected, _ := m.cluster.Replicas(id)
	return func() steps.Job {
		holders, _ := m.cluster.Replicas(id)
		for _, server := range detected {
			if !slices.Contains(holders, server) && server != m.gone {
				holders = append(holders, server)
			}
		}
		return encodeOf(m.cluster, id, holders, m.servers[:4])
	}
}

// encodeOf deals the shards to the servers in turn.
func encodeOf(c *fakecluster.Cluster, id uint32, replicas, servers []string) *steps.Encode {
	job := &steps.Encode{Volume: id, Replicas: replicas}
	for i, server := range servers {
		placed := steps.Placement{Server: server}
		for shard := i; shard < steps.TotalShards; shard += len(servers) {
			placed.Shards = append(placed.Shards, uint32(shard))
		}
		job.Targets = append(job.Targets, placed)
	}
	for server := range c.ShardHolders(id) {
		job.Holders = append(job.Holders, server)
	}
	slices.Sort(job.Holders)
	return job
}

func (m *model) shard(id, shard uint32, source, target string) func() steps.Job {
	return func() steps.Job {
		return &steps.MoveShard{Volume: id, Shard: shard, Source: source, Target: target}
	}
}

func (m *model) dedup(id, shard uint32, source, target string) func() steps.Job {
	return func() steps.Job {
		return &steps.MoveShard{Volume: id, Shard: shard, Source: source, Target: target, Duplicate: true}
	}
}

// encodeNow encodes the volume before any fault.
func (m *model) encodeNow(id uint32) {
	w := &work{name: "before", volume: id, start: m.encode(id)}
	w.job = w.start()
	w.runner = steps.NewRunner(w.job)
	for !w.ended {
		switch look, step := w.runner.Next(); {
		case look != nil:
			m.look(w, *look, false)
		case step.End != nil:
			require.True(m.t, step.End.OK, "%+v", step.End)
			w.ended = true
		default:
			w.runner.Took(*step.Call, m.carryOut(*step.Call))
		}
	}
}

// act runs one action of one actor.
func (m *model) act() {
	switch rapid.IntRange(0, 49).Draw(m.t, "actor") {
	case 0:
		m.advance(time.Duration(rapid.IntRange(1, 4).Draw(m.t, "seconds"))*time.Second, true)
	case 1:
		m.advance(time.Duration(rapid.IntRange(8, 15).Draw(m.t, "stall"))*time.Second, false)
	case 2:
		m.kill()
	case 3, 4, 5:
		m.operator(uint32(rapid.IntRange(1, 3).Draw(m.t, "fix")))
	case 6, 7, 8:
		m.write(uint32(rapid.IntRange(1, 3).Draw(m.t, "write")))
	case 9:
		m.erase(uint32(rapid.IntRange(1, 3).Draw(m.t, "erase")))
	case 10, 11:
		m.flip(m.servers[rapid.IntRange(0, modelServer-1).Draw(m.t, "server")])
	case 12:
		if m.gone == "" && rapid.IntRange(0, 9).Draw(m.t, "vanish") == 0 {
			m.vanish(m.servers[rapid.IntRange(0, modelServer-1).Draw(m.t, "server")])
		}
	case 13:
		m.log("copies end: %v", m.cluster.EndCopies())
	default:
		w := m.works[rapid.IntRange(0, len(m.works)-1).Draw(m.t, "work")]
		for range rapid.IntRange(1, 10).Draw(m.t, "burst") {
			// Few runs stop between a look and the call that follows it.
			for m.step(w, true) && rapid.IntRange(0, 15).Draw(m.t, "look") != 0 {
			}
			m.nothingLost()
		}
	}
}

func (m *model) log(format string, args ...any) {
	m.trace = append(m.trace, fmt.Sprintf(format, args...))
}

func (m *model) advance(by time.Duration, renew bool) {
	m.now = m.now.Add(by)
	m.log("%s pass, renewed %v", by, renew)
	if renew && m.now.Before(m.until) {
		m.takeLease()
	}
}

func (m *model) takeLease() bool {
	token, since, err := m.cluster.Lease("shell", "roundsman", m.token, m.since)
	if err != nil {
		m.until = time.Time{}
		return false
	}
	if !m.now.Before(m.until) {
		m.epoch++
	}
	m.token, m.since, m.until = token, since, m.now.Add(leaseBelief)
	return true
}

// kill ends the process. Its jobs lose unwritten state. Its lease stays, and so do the calls that reached their
// servers.
func (m *model) kill() {
	m.log("kill")
	m.token, m.since, m.until = 0, 0, time.Time{}
	for _, w := range m.works {
		if w.runner == nil {
			continue
		}
		m.arrive(w)
		w.runner, w.job, w.hanging = nil, nil, nil
		if at := rapid.IntRange(0, len(w.kept)).Draw(m.t, "checkpoint"); at > 0 {
			w.durable = w.kept[at-1]
		}
	}
}

// operator runs volume.fix.replication. After a copy during the absence of a server it runs volume.check.disk
// first, because that server's replica and the copy diverge without any job, see TestWithoutJobsAnObjectIsLost.
// Leftovers of a job need no check.
func (m *model) operator(id uint32) {
	token, since, err := m.cluster.Lease("shell", "operator", 0, 0)
	if err != nil {
		return
	}
	before, _ := m.cluster.Replicas(id)
	if m.repaired[id] {
		m.cluster.CheckDisk(id)
	}
	m.cluster.FixReplication(id)
	after, readOnly := m.cluster.Replicas(id)
	if len(after) > len(before) {
		m.repaired[id] = true
		for _, server := range readOnly {
			if !slices.Contains(before, server) {
				// The operator's copy has the mark of a job that works on the volume.
				m.said[id] = append(m.said[id], steps.Leftover{Kind: steps.LeftReadOnly, Server: server})
			}
		}
	}
	m.log("operator fixes %d: %v to %v", id, before, after)
	m.cluster.Release("shell", token, since)
}

func (m *model) flip(server string) {
	if server == m.gone {
		return
	}
	m.down[server] = !m.down[server]
	m.log("%s down %v", server, m.down[server])
	m.cluster.SetDown(server, m.down[server])
	m.cluster.RemoveNotes(server) // as COPY_UNFINISHED advises; jobs cannot distinguish such a note from the note of a copy in progress
	holders, readOnly := m.cluster.Replicas(1)
	if !m.down[server] && len(holders)-len(readOnly) > 1 {
		// The source restarted after the copy and before its mark was persisted, and the job is gone. As its
		// error advises, its leftovers need volume.check.disk first.
		m.repaired[1] = true
	}
}

// vanish removes a server with its disks. No job is responsible for data that only that server had. No loss
// falls between a look and its call, because a job cannot detect it.
func (m *model) vanish(server string) {
	m.log("%s vanishes", server)
	for _, w := range m.works {
		if w.arrived = true; w.runner != nil && w.hanging == nil {
			w.runner.Again()
		}
	}
	before := map[uint32]map[uint32]bool{}
	for id := range m.objects {
		before[id] = m.shardsThatAre(id)
	}
	m.gone, m.down[server] = server, true
	m.cluster.Remove(server)
	for id, keys := range m.objects {
		m.objects[id] = slices.DeleteFunc(slices.Clone(keys), func(key uint64) bool { return !m.cluster.Readable(id, key) })
		left := m.shardsThatAre(id)
		for shard := range before[id] {
			if !left[shard] {
				if m.lost[id] == nil {
					m.lost[id] = map[uint32]bool{}
				}
				m.lost[id][shard] = true
			}
		}
	}
}

// shardsThatAre are the shards of a volume with a file on any disk.
func (m *model) shardsThatAre(id uint32) map[uint32]bool {
	all := map[uint32]bool{}
	for _, shards := range m.cluster.ShardFiles(id) {
		for _, shard := range shards {
			all[shard] = true
		}
	}
	return all
}

func joined(lines []string) string { return strings.Join(lines, "\n") + "\n" }
