package seaweede2e

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/testsuite/realcluster"
	"github.com/roundsman/roundsman/testsuite/sites"
)

// TestRealLoneSource kills -9 the worker between the mark of a source and its copy. The run has no attempt
// left. The next run makes the source writable again.
func TestRealLoneSource(t *testing.T) {
	s := newRealSite(t)
	filer := s.gate.Pass(s.Filer())
	params := s.prepare("volume_balance", "imbalance_threshold: 0.01", 3)
	config := fmt.Sprintf("%scluster: {masters: [%q], filers: [%q]}\njob_types:\n", sites.Scaled, s.gate.Master, filer)
	config += fmt.Sprintf("  move:\n    handler: volume_balance\n    schedule: {every: 365d, first_run: scheduled}\n    policy: {max_jobs_per_detection: 1, recovery: fail}\n    params: {%s}\n", params)
	config += fmt.Sprintf("  repair:\n    handler: volume_balance\n    schedule: {every: 365d, first_run: scheduled}\n    params: {collection_filter: \"^%s$\", min_server_count: 1000}\n", s.Collection)
	s.Apply(config)
	victim := s.worker()
	ref := s.begin("move", s.gate.Hold("VolumeCopy", 0, realcluster.Before))
	victim.Kill()
	next := s.worker()
	assert.NotEqual(t, contract.OutcomeCompleted, s.Result(ref).Outcome)
	require.Len(t, s.readOnly(), 1)
	assert.Subset(t, s.gate.Calls(), []string{"KvPut", "VolumeMarkReadonly"})

	ref = s.Begin("repair")
	assert.Equal(t, contract.OutcomeCompleted, s.Result(ref).Outcome)
	jobs := s.Command("jobs", ref.WorkflowID, "--limit", "0", "--output", "json")
	assert.Contains(t, jobs, "make it writable again on")
	assert.Subset(t, s.gate.Calls(), []string{"KvGet", "VolumeMarkWritable", "KvPut"})
	next.Stop(t)
	s.Heartbeat()
	s.Verify()
	s.Whole()
	t.Log(summaryOf(jobs))
}

// readOnly lists the read-only volumes of the collection.
func (s *realSite) readOnly() (volumes []uint32) {
	s.t.Helper()
	for _, server := range s.Servers() {
		for _, disk := range server.Disks {
			for _, v := range disk.Volumes {
				if v.Collection == s.Collection && v.ReadOnly {
					volumes = append(volumes, v.ID)
				}
			}
		}
	}
	return volumes
}
