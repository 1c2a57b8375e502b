package app

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/internal/temporal/retention"
)

// The metrics show whether old runs are deleted.
func TestRetentionMetrics(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	require.NoError(t, registry.Register(newRetentionMetrics(retention.New(retention.Options{After: time.Hour}))))
	gathered, err := registry.Gather()
	require.NoError(t, err)
	require.Len(t, gathered, 2)
	assert.Equal(t, "roundsman_retention_failed", gathered[0].GetName())
	assert.Equal(t, "roundsman_runs_deleted_total", gathered[1].GetName())
	assert.Nil(t, sweeperParts(newSweeper(nil, config.Retention{}, nil)), "without retention.runs nothing looks for old runs")
}
