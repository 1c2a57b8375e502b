package seaweedfs

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/seaweedfs/weed"
	"github.com/roundsman/roundsman/jobtype/jobtypetest"
	"github.com/roundsman/roundsman/testsuite/fakecluster"
)

// TestAnEmptyDetectionExplainsItself runs every native handler on a cluster without work.
func TestAnEmptyDetectionExplainsItself(t *testing.T) {
	t.Parallel()
	few := newFixture(t, 2, weed.KeeperOptions{})
	full := newFixture(t, 4, weed.KeeperOptions{})
	full.SetVolumeLimit(100)
	for i, server := range full.servers {
		full.Put(fakecluster.Volume{ID: uint32(i + 1), Objects: 10, Deleted: 1, ObjectSize: 1000}, server) //nolint:gosec // few
	}
	spread := newFixture(t, 2, weed.KeeperOptions{})
	for id := range uint32(6) {
		spread.Put(fakecluster.Volume{ID: id + 1, Collection: "keep", Objects: 1, ObjectSize: 10}, spread.servers[0])
	}
	for _, c := range []struct {
		on              *fixture
		handler, params string
		last            time.Duration
		want            string
	}{
		{few, "vacuum", `{}`, 0, "there are no volumes"},
		{full, "vacuum", `{}`, 0, "4 volumes below garbage_threshold 0.3; the most garbage has volume 1: 0.1"},
		{full, "vacuum", `{"garbage_threshold":0.01,"min_volume_age_seconds":4000000000}`, 0, "4 volumes younger than min_volume_age_seconds"},
		{full, "vacuum", `{"collection_filter":"photos"}`, 0, "4 volumes left out by the filters"},
		{few, "volume_balance", `{"min_server_count":3}`, 0, "hdd disks: 2 servers, at least 3 are needed"},
		{full, "volume_balance", `{}`, 0, "hdd disks: 4 servers are in balance"},
		{spread, "volume_balance", `{"collection_filter":"photos"}`, 0, "6 volumes left out by the filters"},
		{few, "erasure_coding", `{}`, 0, "2 servers, at least 4 are needed"},
		{full, "erasure_coding", `{}`, 0, "4 volumes smaller than 30.0 MiB; the largest is volume 1: 0.0 MiB"},
		{few, "ec_balance", `{}`, 0, "2 servers, at least 3 are needed"},
		{full, "ec_balance", `{}`, 0, "there are no shards"},
		{few, "admin_script", `{"script":"# none"}`, 0, "the script has no commands"},
		{few, "admin_script", `{}`, time.Minute, "it ran 1m0s ago, and runs again 15m30s later by run_interval_minutes 17"},
	} {
		in := c.on.input(c.params)
		if c.last > 0 {
			in.LastWithJobs = time.Now().Add(-c.last)
		}
		found := jobtypetest.Detect(t.Context(), c.on.handlers[c.handler], in)
		require.NoError(t, found.Err)
		require.Empty(t, found.Proposals, "%s %s", c.handler, c.params)
		assert.Contains(t, strings.Join(found.Explanations, "\n"), c.want, "%s %s", c.handler, c.params)
	}
}
