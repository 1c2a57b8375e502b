package seaweede2e

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/roundsman/roundsman/internal/seaweedfs/masterpb"
	"github.com/roundsman/roundsman/internal/seaweedfs/plan"
	"github.com/roundsman/roundsman/internal/seaweedfs/steps"
	"github.com/roundsman/roundsman/internal/seaweedfs/weed"
	"github.com/roundsman/roundsman/starter/jobtypes"
	"github.com/roundsman/roundsman/testsuite"
)

// TestAKilledMoveIsCompletedByAnotherWorker kills the worker in the middle of a move and does not restart it.
func TestAKilledMoveIsCompletedByAnotherWorker(t *testing.T) {
	t.Parallel()
	s := newSite(t, "node-a", "node-b")
	s.apply("volume_balance")
	started, err := jobtypes.Of(s.Client).RunNow(t.Context(), "volume_balance")
	require.NoError(t, err)

	testsuite.WaitFor(t, time.Minute, "a copy next to its source", func() bool { return len(s.holders(1)) == 2 })
	holder := s.holder()
	victim := ""
	for id, p := range s.workers {
		if strings.HasSuffix(holder, fmt.Sprintf("/%d", p.Process.Pid)) {
			victim = id
		}
	}
	require.NotEmpty(t, victim, "%s is a worker", holder)
	killed := time.Now()
	s.workers[victim].Kill()

	testsuite.WaitFor(t, 30*time.Second, "the lease to be free", func() bool { return s.holder() != holder })
	free := time.Since(killed)
	testsuite.WaitFor(t, 2*time.Minute, "the volume to be on its target only", func() bool {
		on := s.holders(1)
		return len(on) == 1 && strings.HasPrefix(on[0], "127.0.0.1:8081")
	})
	moved := time.Since(killed)
	t.Logf("the lease was free after %.1f s, the volume moved after %.1f s", free.Seconds(), moved.Seconds())

	result, err := s.Client.Runs().Result(t.Context(), started.RunRef)
	require.NoError(t, err)
	assert.Zero(t, result.Counts.Failed, "%+v", result)
	total := 0
	for id := uint32(1); id <= 3; id++ {
		on := s.holders(id)
		require.Len(t, on, 1, "volume %d", id)
		replica := s.cluster.Replica(t.Context(), on[0], id)
		assert.Equal(t, steps.Present, replica.Presence)
		assert.False(t, replica.ReadOnly, "volume %d", id)
		total += int(s.cluster.Index(t.Context(), on[0], id).Live) //nolint:gosec // few
	}
	assert.Equal(t, 3*objects, total)
}

// holders lists the servers that the master shows a volume on.
func (s *site) holders(id uint32) []string {
	s.T.Helper()
	topology, err := s.cluster.Volume(s.T.Context(), id)
	require.NoError(s.T, err)
	on, _, _ := plan.Topology.Find(topology, id)
	return on
}

// holder requests the shell lease as an operator's shell does, and returns its holder if the lease is held. A
// granted lease is released at once.
func (s *site) holder() string {
	s.T.Helper()
	target, err := weed.ParseAddress(s.master)
	require.NoError(s.T, err)
	_, _, err = net.SplitHostPort(target)
	require.NoError(s.T, err)
	conn, err := grpc.NewClient("passthrough:///"+target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(s.T, err)
	defer conn.Close()
	master := masterpb.NewSeaweedClient(conn)
	held, err := master.LeaseAdminToken(s.T.Context(), &masterpb.LeaseRequest{LockName: "shell", ClientName: "operator"})
	if err != nil {
		_, by, found := strings.Cut(err.Error(), "already locked by ")
		require.True(s.T, found, "%v", err)
		return by
	}
	_, err = master.ReleaseAdminToken(s.T.Context(), &masterpb.ReleaseRequest{PreviousToken: held.GetToken(), PreviousLockTime: held.GetLockTsNs(), LockName: "shell"})
	require.NoError(s.T, err)
	return ""
}
