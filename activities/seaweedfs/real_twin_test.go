package seaweedfs

import (
	"bytes"
	"fmt"
	"math/bits"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/seaweedfs/plan"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/realcluster"
)

// TestRealTwin: `weed shell` works on one cluster, the native handlers on another with the same volumes. Both
// clusters end in the same state, and no object changes.
func TestRealTwin(t *testing.T) {
	for _, placement := range []string{"000", "001", "010"} {
		for _, c := range []struct{ handler, command, settings string }{
			{"vacuum", "volume.vacuum -garbageThreshold=0.0001", `"garbage_threshold":0.0001`},
			{"volume_balance", "volume.balance -apply", `"imbalance_threshold":0.01`},
			{"erasure_coding", "ec.encode -fullPercent=0 -quietFor=0s", `"quiet_for_seconds":0,"fullness_ratio":0,"min_size_mb":1`},
		} {
			if placement == "001" && c.handler == "volume_balance" {
				continue // racks of two servers have no other place for one of two replicas
			}
			t.Run(placement+"/"+c.handler, func(t *testing.T) {
				s := newSite(t)
				_ = s.Weed()
				w := &twins{t: t, shell: realcluster.Twin(t), native: s, ids: map[*realcluster.Cluster][]uint32{}}
				w.fill(8, placement)
				before := w.compare("before")
				w.do(c.handler, c.command+" -collection="+w.shell.Collection, fmt.Sprintf(`"collection_filter":"^%s$",%s`, s.Collection, c.settings))
				after := w.compare("after")
				assert.NotEqual(t, before, after)
				// The shell balances by bytes and moves no small volumes, and its `ec.encode` left seven shards
				// on each of two servers.
				if c.handler == "volume_balance" {
					assert.LessOrEqual(t, after.load[0]-after.load[3], 1, "%v", after.load)
				}
				for _, v := range after.volumes {
					assert.True(t, v.allShards == 0 || v.shards[0] <= 4, "%+v", v)
					assert.True(t, c.handler != "vacuum" || v.garbage == 0, "%+v", v)
				}
			})
		}
	}
}

// twins are two clusters with the same volumes.
type twins struct {
	t      *testing.T
	shell  *realcluster.Cluster
	native *site
	// ids are the filled volumes.
	ids map[*realcluster.Cluster][]uint32
}

// fill makes the same volumes with the same objects on each cluster. A master grows volumes by itself if a rack
// has none, or fewer than were grown at once.
func (w *twins) fill(volumes int, placement string) {
	w.t.Helper()
	for _, cluster := range []*realcluster.Cluster{w.shell, w.native.Cluster} {
		servers := cluster.Servers()
		other := slices.IndexFunc(servers, func(s plan.Server) bool { return s.Rack != servers[0].Rack })
		for v := range volumes {
			on := servers[0]
			if v == 0 {
				on = servers[other]
			}
			cluster.Grow(1, placement, on)
		}
		cluster.Heartbeat()
		ids := volumesOf(cluster)
		require.Len(w.t, ids, volumes)
		w.ids[cluster] = ids
		for v, id := range ids {
			for key := range 20 {
				content := bytes.Repeat(fmt.Appendf(nil, "object %d of volume %d. ", key+1, v+1), 200*(1+(7*v+13*key)%40))
				fid := fmt.Sprintf("%d,%x0a0b0c0d", id, key+1)
				cluster.Put(fid, content)
				if key%10 == 9 {
					cluster.Remove(fid)
				}
			}
		}
		cluster.Heartbeat()
	}
}

// do runs the same work with the shell and with a native handler.
func (w *twins) do(handler, command, params string) {
	w.t.Helper()
	began := time.Now()
	said := w.shell.Shell(command)
	if handler == "vacuum" {
		// The master answers at once, and works on one volume after the other.
		testsuite.WaitFor(w.t, 2*time.Minute, "the master to have vacuumed", func() bool { return w.stateOf(w.shell).garbage() == 0 })
	}
	shell := time.Since(began)
	began = time.Now()
	jobs := w.native.run(handler, "{"+params+"}")
	native := time.Since(began)
	assert.NotZero(w.t, jobs, handler)
	w.t.Logf("%s: weed shell %.1f s, %d native jobs and detections %.1f s; weed shell: %s", handler, shell.Seconds(), jobs, native.Seconds(), said)
}

// compare compares the two clusters, and their objects with the written ones.
func (w *twins) compare(when string) state {
	w.t.Helper()
	w.shell.Heartbeat()
	shell, native := w.stateOf(w.shell), w.stateOf(w.native.Cluster)
	w.t.Logf("%s: volumes by server: weed shell %v, native %v; first volume: weed shell %+v, native %+v", when, shell.load, native.load, shell.volumes[0], native.volumes[0])
	require.Equal(w.t, shell.placeless(), native.placeless(), when)
	for _, cluster := range []*realcluster.Cluster{w.shell, w.native.Cluster} {
		cluster.Verify()
		cluster.Whole()
	}
	return native
}

// state is the state of a test's volumes.
type state struct {
	// load is the number of replicas of each server, the largest first.
	load    []int
	volumes []volumeState
}

// placeless is the part that does not depend on the choice of servers.
func (s state) placeless() (volumes []volumeState) {
	for _, v := range s.volumes {
		v.shards = nil
		volumes = append(volumes, v)
	}
	return volumes
}

// garbage is the sum over all volumes.
func (s state) garbage() (sum uint64) {
	for _, v := range s.volumes {
		sum += v.garbage
	}
	return sum
}

// volumeState is a volume in the order of the ids.
type volumeState struct {
	copies, racks int
	size, garbage uint64
	readOnly      bool
	placement     uint32
	shards        []int // on each server with shards, the largest first
	allShards     uint32
	bytes         int64 // of shards
}

func (w *twins) stateOf(cluster *realcluster.Cluster) (sum state) {
	cluster.T.Helper()
	volumes := map[uint32]*volumeState{}
	for _, id := range w.ids[cluster] {
		volumes[id] = &volumeState{}
	}
	racks := map[string]bool{}
	for _, server := range cluster.Servers() {
		load := 0
		for _, disk := range server.Disks {
			for _, v := range disk.Volumes {
				if at := volumes[v.ID]; at != nil {
					load++
					at.replica(v)
					if place := fmt.Sprint(v.ID, server.DataCenter, server.Rack); !racks[place] {
						racks[place] = true
						at.racks++
					}
				}
			}
			for _, e := range disk.Shards {
				if at := volumes[e.ID]; at != nil {
					at.part(e)
				}
			}
		}
		sum.load = append(sum.load, load)
	}
	descending := func(a, b int) int { return b - a }
	slices.SortFunc(sum.load, descending)
	for _, id := range w.ids[cluster] {
		slices.SortFunc(volumes[id].shards, descending)
		sum.volumes = append(sum.volumes, *volumes[id])
	}
	return sum
}

func (s *volumeState) replica(v plan.Volume) {
	s.copies++
	s.size, s.garbage, s.placement = max(s.size, v.Size), max(s.garbage, v.DeletedBytes), v.Placement
	s.readOnly = s.readOnly || v.ReadOnly
}

func (s *volumeState) part(e plan.Shards) {
	s.shards = append(s.shards, bits.OnesCount32(e.Bits))
	s.allShards |= e.Bits
	for _, size := range e.Sizes {
		s.bytes += size
	}
}

// volumesOf lists the volumes of the collection, whole or encoded.
func volumesOf(cluster *realcluster.Cluster) (ids []uint32) {
	cluster.T.Helper()
	for _, server := range cluster.Servers() {
		for _, disk := range server.Disks {
			for _, v := range disk.Volumes {
				if v.Collection == cluster.Collection {
					ids = append(ids, v.ID)
				}
			}
			for _, e := range disk.Shards {
				if e.Collection == cluster.Collection {
					ids = append(ids, e.ID)
				}
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
