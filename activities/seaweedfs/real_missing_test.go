package seaweedfs

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/seaweedfs/plan"
	"github.com/roundsman/roundsman/internal/seaweedfs/volumepb"
)

// TestRealMissingReplica: one of two replicas of each volume is gone. No handler deletes or encodes the other
// one.
func TestRealMissingReplica(t *testing.T) {
	s := newSite(t)
	s.Grow(6, "010", s.Servers()[0])
	s.Write(120, 60_000, "010")
	s.Heartbeat()
	s.Verify()
	gone := map[uint32]bool{}
	for _, server := range s.Servers() {
		for _, disk := range server.Disks {
			for _, v := range disk.Volumes {
				if v.Collection == s.Collection && !gone[v.ID] {
					gone[v.ID] = true
					_, err := s.server(server.Address).VolumeDelete(t.Context(), &volumepb.VolumeDeleteRequest{VolumeId: v.ID})
					require.NoError(t, err)
				}
			}
		}
	}
	s.Heartbeat()
	s.Verify()
	filter := fmt.Sprintf(`"collection_filter":"^%s$"`, s.Collection)
	vacuums := s.run("vacuum", `{`+filter+`,"garbage_threshold":0.0001}`)
	moves := s.run("volume_balance", `{`+filter+`,"imbalance_threshold":0.01}`)
	assert.Zero(t, s.run("erasure_coding", `{`+filter+`,"quiet_for_seconds":0,"fullness_ratio":0,"min_size_mb":1}`))
	s.Verify()
	copies := map[uint32]int{}
	for _, server := range s.Servers() {
		for _, disk := range server.Disks {
			for _, v := range disk.Volumes {
				if v.Collection == s.Collection {
					assert.False(t, v.ReadOnly)
					copies[v.ID]++
				}
			}
		}
	}
	t.Logf("%d vacuums, %d moves: copies of each volume %v", vacuums, moves, copies)
	for id := range gone {
		assert.GreaterOrEqual(t, copies[id], 1)
		assert.LessOrEqual(t, copies[id], plan.Copies(10))
	}
}
