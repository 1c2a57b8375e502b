package seaweede2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/seaweedfs/plan"
	"github.com/roundsman/roundsman/internal/seaweedfs/volumepb"
	"github.com/roundsman/roundsman/internal/seaweedfs/weed"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/realcluster"
	"github.com/roundsman/roundsman/testsuite/sites"
)

// call is one call of a job: skip others of its method come before it.
type call struct {
	method string
	skip   int
}

// step is a kill: a run of jobType is held at a call.
type step struct {
	call
	jobType string
	phase   realcluster.Phase
}

// TestRealWorkersAreKilled kills -9 the worker process at every call of every native handler, on a
// real cluster. Another worker process continues.
func TestRealWorkersAreKilled(t *testing.T) {
	for _, c := range []struct {
		handler, params string
		calls           []call
	}{
		{"vacuum", "garbage_threshold: 0.0001", []call{{"VacuumVolumeCheck", 0}, {"VacuumVolumeCompact", 0}, {"VacuumVolumeCommit", 0}}},
		{"volume_balance", "imbalance_threshold: 0.01, io_byte_per_second: 4000000", []call{{"VolumeMarkReadonly", 0}, {"VolumeCopy", 0}, {"VolumeMarkReadonly", 1}, {"VolumeTailReceiver", 0}, {"VolumeDelete", 0}}},
		{"erasure_coding", "quiet_for_seconds: 0, fullness_ratio: 0, min_size_mb: 1", []call{{"VolumeMarkReadonly", 0}, {"VolumeEcShardsGenerate", 0}, {"VolumeEcShardsCopy", 0}, {"VolumeEcShardsMount", 0}, {"VolumeDelete", 0}, {"VolumeEcShardsDelete", 0}}},
		{"ec_balance", "imbalance_threshold: 0, min_server_count: 2", []call{{"VolumeEcShardsCopy", 0}, {"VolumeEcShardsMount", 0}, {"VolumeEcShardsUnmount", 0}, {"VolumeEcShardsDelete", 0}}},
		{"admin_script", "", []call{{"LeaseAdminToken", 0}, {"VolumeListStream", 0}, {"VolumeListStream", 1}, {"ReleaseAdminToken", 0}}},
	} {
		t.Run(c.handler, func(t *testing.T) {
			t.Parallel()
			s := newRealSite(t)
			params := s.prepare(c.handler, c.params, 2*len(c.calls)+1)
			var steps []step
			config := fmt.Sprintf("%scluster: {masters: [%q], filers: [%q]}\njob_types:\n", sites.Scaled, s.gate.Master, s.gate.Master)
			for _, at := range c.calls {
				for _, phase := range []realcluster.Phase{realcluster.During, realcluster.After} {
					name := fmt.Sprintf("%s_%d", c.handler, len(steps)+1)
					config += fmt.Sprintf("  %s:\n    handler: %s\n    schedule: {every: 365d, first_run: scheduled}\n    policy: {max_jobs_per_detection: 1}\n    params: {%s}\n", name, c.handler, params)
					steps = append(steps, step{at, name, phase})
				}
			}
			s.Apply(config)
			for _, at := range steps {
				s.killAt(at)
			}
		})
	}
}

// realSite is a site whose cluster is a real one behind a gate.
type realSite struct {
	*sites.Site
	*realcluster.Cluster
	gate    *realcluster.Gate
	t       *testing.T
	workers int
}

func newRealSite(t *testing.T) *realSite {
	t.Helper()
	cluster := realcluster.New(t)
	s := &realSite{Site: sites.New(t), Cluster: cluster, gate: cluster.Gate(), t: t}
	s.Start("server")
	return s
}

// worker starts another worker process.
func (s *realSite) worker() *sites.Process {
	s.t.Helper()
	s.workers++
	id := fmt.Sprintf("node-%d", s.workers)
	p := s.Start("worker", "--id", id, "--data-dir", filepath.Join(s.Dir, id))
	s.AwaitFresh(id)
	return p
}

// prepare makes volumes with work for a handler, and returns its params.
func (s *realSite) prepare(handler, params string, volumes int) string {
	s.t.Helper()
	on := s.Servers()[0]
	if handler == "ec_balance" || handler == "admin_script" {
		volumes = 2
	}
	s.Grow(volumes, "000", on)
	s.Write(40*volumes, 60_000, "000")
	s.Heartbeat()
	s.Verify()
	filter := fmt.Sprintf("collection_filter: \"^%s$\", %s", s.Collection, params)
	switch handler {
	case "ec_balance":
		s.encodeOn(on)
	case "admin_script":
		mark := fmt.Sprintf("volume.mark -collection %s", s.Collection)
		return fmt.Sprintf("weed: %q, run_interval_minutes: 1, script: %q", s.Weed(), mark+" -readonly\n"+mark+" -writable\n")
	}
	return filter
}

// encodeOn encodes the volumes of the collection and leaves all their shards on one server.
func (s *realSite) encodeOn(on plan.Server) {
	s.t.Helper()
	target, err := weed.ParseAddress(on.Address)
	require.NoError(s.t, err)
	conn, err := grpc.NewClient("passthrough:///"+target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(s.t, err)
	defer conn.Close()
	server, ctx := volumepb.NewVolumeServerClient(conn), s.t.Context()
	all := make([]uint32, 14)
	for i := range all {
		all[i] = uint32(i) //nolint:gosec // below 14
	}
	for _, disk := range s.Servers()[0].Disks {
		for _, v := range disk.Volumes {
			if v.Collection != s.Collection {
				continue
			}
			_, err = server.VolumeMarkReadonly(ctx, &volumepb.MarkReadonlyRequest{VolumeId: v.ID, Persist: true})
			require.NoError(s.t, err)
			_, err = server.VolumeEcShardsGenerate(ctx, &volumepb.EcGenerateRequest{VolumeId: v.ID, Collection: s.Collection})
			require.NoError(s.t, err)
			_, err = server.VolumeEcShardsMount(ctx, &volumepb.EcMountRequest{VolumeId: v.ID, Collection: s.Collection, ShardIds: all})
			require.NoError(s.t, err)
			_, err = server.VolumeDelete(ctx, &volumepb.VolumeDeleteRequest{VolumeId: v.ID})
			require.NoError(s.t, err)
		}
	}
	s.Heartbeat()
	s.Verify()
}

// killAt runs one job, kills its worker at a call and starts another worker.
func (s *realSite) killAt(at step) {
	s.t.Helper()
	victim := s.worker()
	hit := s.gate.Hold(at.method, at.skip, at.phase)
	ref := s.begin(at.jobType, hit)
	victim.Kill()
	killed := time.Now()
	next := s.worker()
	result := s.Result(ref)
	took := time.Since(killed)
	next.Stop(s.t)
	assert.Equal(s.t, contract.OutcomeCompleted, result.Outcome)
	assert.Equal(s.t, 1, result.Counts.Completed, "%+v", result.Counts)
	jobs := s.Command("jobs", ref.WorkflowID, "--limit", "0", "--output", "json")
	assert.NotContains(s.t, jobs, "left behind")
	s.Heartbeat()
	s.Verify()
	s.Whole()
	s.t.Logf("| %s | %s %d | %s | completed by another worker after %.1f s, %d objects the same | %s", at.jobType, at.method, at.skip+1, at.phase, took.Seconds(), len(s.Objects), summaryOf(jobs))
}

// begin starts a run and waits until a call of it is held at the gate.
func (s *realSite) begin(jobType string, hit <-chan struct{}) starter.RunRef {
	s.t.Helper()
	ref := s.Begin(jobType)
	testsuite.WaitFor(s.t, 2*time.Minute, "a call of "+jobType+" to be held", func() bool {
		select {
		case <-hit:
			return true
		default:
			return false
		}
	})
	return ref
}

// summaryOf is the line with the summary in a list of jobs.
func summaryOf(jobs string) string {
	for line := range strings.Lines(jobs) {
		if strings.Contains(line, `"summary"`) {
			return strings.TrimSpace(line)
		}
	}
	return ""
}
