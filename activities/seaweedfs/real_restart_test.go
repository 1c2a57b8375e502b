package seaweedfs

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/roundsman/roundsman/internal/seaweedfs/volumepb"
	"github.com/roundsman/roundsman/internal/seaweedfs/weed"
)

// TestRealCountsAfterSIGKILL: a killed server counts the deleted objects of a read-only volume twice. Moves and
// encodings do not use that count. The count of shards stays the same.
func TestRealCountsAfterSIGKILL(t *testing.T) {
	s := newSite(t)
	on := s.Servers()[0].Address
	s.Grow(4, "000", s.Servers()[0])
	s.Write(160, 60_000, "000")
	volumes := volumesOf(s.Cluster)
	for _, id := range volumes {
		_, err := s.server(on).VolumeMarkReadonly(t.Context(), &volumepb.MarkReadonlyRequest{VolumeId: id, Persist: true})
		require.NoError(t, err)
	}
	counts := func() (sum uint64) {
		for _, id := range volumes {
			status, err := s.server(on).ReadVolumeFileStatus(t.Context(), &volumepb.VolumeRequest{VolumeId: id})
			require.NoError(t, err)
			sum += status.GetFileCount()
		}
		return sum
	}
	before := counts()
	s.Restart(on)
	s.Heartbeat()
	t.Logf("%d objects, %d counted, %d after SIGKILL", len(s.Objects), before, counts())
	assert.NotEqual(t, before, counts(), "this server does not need the test")

	filter := fmt.Sprintf(`"collection_filter":"^%s$"`, s.Collection)
	require.NotZero(t, s.run("volume_balance", `{`+filter+`,"imbalance_threshold":0.01}`))
	s.Verify()
	require.Equal(t, 4, s.run("erasure_coding", `{`+filter+`,"quiet_for_seconds":0,"fullness_ratio":0,"min_size_mb":1}`))
	s.Verify()
	s.Whole()
	shards := func() (sums []string) {
		for _, id := range volumes {
			info, err := s.server(on).VolumeEcShardsInfo(t.Context(), &volumepb.VolumeRequest{VolumeId: id})
			require.NoError(t, err)
			sums = append(sums, fmt.Sprint(info.GetFileCount(), info.GetFileDeletedCount(), info.GetVolumeSize()))
		}
		return sums
	}
	encoded := shards()
	s.Restart(on)
	s.Heartbeat()
	assert.Equal(t, encoded, shards())
	s.Verify()
}

func (s *site) server(address string) volumepb.VolumeServerClient {
	s.t.Helper()
	target, err := weed.ParseAddress(address)
	require.NoError(s.t, err)
	conn, err := grpc.NewClient("passthrough:///"+target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = conn.Close() })
	return volumepb.NewVolumeServerClient(conn)
}
