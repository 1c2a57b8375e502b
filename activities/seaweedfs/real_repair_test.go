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
)

// TestRealRepairKeepsNewerWrites: clients overwrite and delete objects of the copy that a killed
// worker left. The repair must not bring the older ones back.
func TestRealRepairKeepsNewerWrites(t *testing.T) {
	s := newSite(t)
	on := s.servers()[0]
	s.grow(3, "000", on)
	s.write(60, 60_000, "000")
	s.heartbeat()
	params := fmt.Sprintf(`{"collection_filter":"^%s$","imbalance_threshold":0.01}`, s.collection)
	found := jobtypetest.Detect(t.Context(), s.handlers["volume_balance"], s.input(params))
	require.NoError(t, found.Err)
	require.NotEmpty(t, found.Proposals)
	job, err := jobtypetest.JobOf(s.input(params), found.Proposals[0], nil)
	require.NoError(t, err)
	ctx, kill := context.WithCancelCause(t.Context())
	killed := jobtypetest.Execute(ctx, &killer{Handler: s.process()["volume_balance"], stage: "tail", kill: kill}, job)
	t.Log(killed.Err)
	s.heartbeat()
	volume := strings.Split(found.Proposals[0].DedupeKey, ":")[1]
	target := s.writable(volume)
	var mine []string
	for fid := range s.objects {
		if strings.HasPrefix(fid, volume+",") {
			mine = append(mine, fid)
		}
	}
	require.GreaterOrEqual(t, len(mine), 2)
	newer := []byte("the newer content of an object")
	_, err = fetch(t.Context(), http.MethodPost, "http://"+target+"/"+mine[0], newer)
	require.NoError(t, err)
	s.objects[mine[0]] = sha256.Sum256(newer)
	_, err = fetch(t.Context(), http.MethodDelete, "http://"+target+"/"+mine[1], nil)
	require.NoError(t, err)
	delete(s.objects, mine[1])
	s.run("volume_balance", params)
	s.heartbeat()
	s.verify()
	_, err = fetch(t.Context(), http.MethodGet, "http://"+target+"/"+mine[1], nil)
	require.Error(t, err, "it was deleted")
}

// writable returns the HTTP address of the server whose replica of a volume takes writes.
func (s *site) writable(volume string) string {
	s.t.Helper()
	for _, server := range s.servers() {
		for _, v := range server.Disks[0].Volumes {
			if fmt.Sprint(v.ID) == volume && !v.ReadOnly {
				host, port, _ := strings.Cut(server.Address, ":")
				port, _, _ = strings.Cut(port, ".")
				return host + ":" + port
			}
		}
	}
	s.t.Fatalf("no replica of volume %s takes writes", volume)
	return ""
}
