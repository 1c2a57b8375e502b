package seaweedfs

import (
	"context"
	"fmt"
	"math/bits"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/jobtype/jobtypetest"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/realcluster"
)

// TestRealServersAreKilled kills -9 a volume server in every step of an encoding, and starts it again: the
// server of the replica, or the called one. The next attempt ends the job. Without an attempt the next
// detections do.
func TestRealServersAreKilled(t *testing.T) {
	for _, next := range []string{"attempt", "detection"} {
		for _, victim := range []string{"replica", "called"} {
			for _, stage := range []string{"ec-generate", "ec-copy", "ec-mount", "delete", "ec-delete"} {
				for _, placement := range []string{"000", "010"} {
					t.Run(fmt.Sprintf("%s/%s/%s/%s", next, victim, stage, placement), func(t *testing.T) {
						s := newSite(t)
						s.Grow(1, placement, s.Servers()[0])
						s.Write(40, 250_000, placement)
						s.Heartbeat()
						params := fmt.Sprintf(`{"collection_filter":"^%s$","quiet_for_seconds":0,"fullness_ratio":0,"min_size_mb":1}`, s.Collection)
						found := jobtypetest.Detect(t.Context(), s.handlers["erasure_coding"], s.input(params))
						require.NoError(t, found.Err)
						require.NotEmpty(t, found.Proposals)
						job, err := jobtypetest.JobOf(s.input(params), found.Proposals[0], nil)
						require.NoError(t, err)
						k := &serverKiller{Handler: s.handlers["erasure_coding"], site: s, stage: stage}
						if victim == "replica" {
							k.victim = s.Servers()[0].Address
						}
						killed := jobtypetest.Execute(t.Context(), k, job)
						k.done.Wait()
						s.Heartbeat()
						t.Logf("first attempt: %q %v", killed.Result.Summary, killed.Err)
						s.Verify()
						if next == "attempt" && killed.Err != nil {
							job.Attempt, job.Checkpoint = 2, killed.LastCheckpoint()
							done := jobtypetest.Execute(t.Context(), s.handlers["erasure_coding"], job)
							t.Logf("second attempt: %q", done.Result.Summary)
							assert.NoError(t, done.Err)
							assert.NotContains(t, done.Result.Summary, "read-only on")
							assert.NotContains(t, done.Result.Summary, "shards on")
							s.Heartbeat()
							s.settle()
							s.Verify()
						}
						s.run("erasure_coding", params)
						if next == "detection" {
							// Only this spreads the shards of a server that hides the only replica. Each
							// detection moves one of a volume. The test reads nothing between detections,
							// because a server caches the places of 14 shards for 37 minutes and of 10 for 7,
							// and cannot read with five wrong places. Detections every half an hour move fewer
							// shards.
							for moved := 1; moved > 0; {
								moved = s.run("ec_balance", fmt.Sprintf(`{"collection_filter":"^%s$","imbalance_threshold":0,"min_server_count":2}`, s.Collection))
							}
						}
						s.settle()
						s.Verify()
						s.Whole()
						s.spread()
					})
				}
			}
		}
	}
}

// settle waits until every server of the master answers for every object, because a server caches the places of
// shards.
func (s *site) settle() {
	s.t.Helper()
	began := time.Now()
	testsuite.WaitFor(s.t, time.Minute, "all objects to be readable", func() bool {
		for fid := range s.Objects {
			for _, server := range s.Locate(fid) {
				if _, err := realcluster.Fetch(s.t.Context(), http.MethodGet, "http://"+server+"/"+fid, nil); err != nil {
					return false
				}
			}
		}
		return true
	})
	s.t.Logf("all objects could be read after %.1f s", time.Since(began).Seconds())
}

// spread fails the test if a volume is not encoded, or a server has more of its shards than may be lost.
func (s *site) spread() {
	s.t.Helper()
	for _, server := range s.Servers() {
		for _, disk := range server.Disks {
			for _, v := range disk.Volumes {
				assert.True(s.t, v.Collection != s.Collection || v.Size < 1<<20, "volume %d is not encoded", v.ID)
			}
			for _, e := range disk.Shards {
				if e.Collection == s.Collection {
					assert.LessOrEqual(s.t, bits.OnesCount32(e.Bits), 4, "shards of volume %d on %s", e.ID, server.Address)
				}
			}
		}
	}
}

// serverKiller kills a server when a stage is reported.
type serverKiller struct {
	jobtype.Handler
	site  *site
	stage string
	// victim is the server to kill, the called one if empty.
	victim string
	once   sync.Once
	done   sync.WaitGroup
}

// Execute implements [jobtype.Handler].
func (k *serverKiller) Execute(ctx context.Context, job jobtype.Job, progress jobtype.Progress) (jobtype.Result, error) {
	return k.Handler.Execute(ctx, job, &serverStages{progress, k})
}

type serverStages struct {
	jobtype.Progress
	killer *serverKiller
}

// Report implements [jobtype.Progress].
func (p *serverStages) Report(percent float64, stage, message string) {
	p.Progress.Report(percent, stage, message)
	if k := p.killer; stage == k.stage {
		k.once.Do(func() {
			victim := k.victim
			if victim == "" {
				victim = message
			}
			k.done.Go(func() { k.site.Restart(victim) })
		})
	}
}
