package seaweedfs_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/activities/seaweedfs"
)

// TestIntervals: every handler can be a job type without a schedule.
func TestIntervals(t *testing.T) {
	t.Parallel()
	intervals := map[string]time.Duration{}
	for _, handler := range seaweedfs.New(nil, nil) {
		d := handler.Descriptor()
		require.NoError(t, d.Validate())
		intervals[d.Name] = d.DefaultInterval.Std()
	}
	assert.Equal(t, map[string]time.Duration{
		"vacuum": 2 * time.Hour, "volume_balance": 30 * time.Minute, "ec_balance": 30 * time.Minute,
		"erasure_coding": 5 * time.Minute, "admin_script": 17 * time.Minute,
	}, intervals)
}
