package seaweedfs

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/jobtype/jobtypetest"
	"github.com/roundsman/roundsman/testsuite/realcluster"
)

// TestRealRepairKeepsNewerWrites: clients overwrite and delete objects in the copy of a killed worker. The
// repair must not restore the older ones.
func TestRealRepairKeepsNewerWrites(t *testing.T) {
	s := newSite(t)
	on := s.Servers()[0]
	s.Grow(3, "000", on)
	s.Write(60, 60_000, "000")
	s.Heartbeat()
	params := fmt.Sprintf(`{"collection_filter":"^%s$","imbalance_threshold":0.01}`, s.Collection)
	found := jobtypetest.Detect(t.Context(), s.handlers["volume_balance"], s.input(params))
	require.NoError(t, found.Err)
	require.NotEmpty(t, found.Proposals)
	job, err := jobtypetest.JobOf(s.input(params), found.Proposals[0], nil)
	require.NoError(t, err)
	ctx, kill := context.WithCancelCause(t.Context())
	killed := jobtypetest.Execute(ctx, &killer{Handler: s.process()["volume_balance"], stage: "tail", kill: kill}, job)
	t.Log(killed.Err)
	s.Heartbeat()
	volume := strings.Split(found.Proposals[0].DedupeKey, ":")[1]
	target := s.Writable(volume)
	var mine []string
	for fid := range s.Objects {
		if strings.HasPrefix(fid, volume+",") {
			mine = append(mine, fid)
		}
	}
	require.GreaterOrEqual(t, len(mine), 2)
	newer := []byte("the newer content of an object")
	_, err = realcluster.Fetch(t.Context(), http.MethodPost, "http://"+target+"/"+mine[0], newer)
	require.NoError(t, err)
	s.Objects[mine[0]] = sha256.Sum256(newer)
	_, err = realcluster.Fetch(t.Context(), http.MethodDelete, "http://"+target+"/"+mine[1], nil)
	require.NoError(t, err)
	delete(s.Objects, mine[1])
	s.run("volume_balance", params)
	s.Heartbeat()
	s.Verify()
	_, err = realcluster.Fetch(t.Context(), http.MethodGet, "http://"+target+"/"+mine[1], nil)
	require.Error(t, err, "it was deleted")
}
