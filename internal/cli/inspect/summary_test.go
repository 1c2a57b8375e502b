package inspect

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
)

// TestTheSummaryNamesWhatIsSilentAndWhatWaits: a job without a report for four minutes is shown as silent, and
// does not "wait for nothing".
func TestTheSummaryNamesWhatIsSilentAndWhatWaits(t *testing.T) {
	t.Parallel()
	now := explainedAt
	found := runningNow([]starter.ActiveItem{
		{ID: "job-00001", Started: true, StartedAt: now.Add(-time.Minute), BeatAt: now.Add(-time.Second), Progress: &contract.Heartbeat{Percent: 40, Message: "copying"}},
		{ID: "job-00002", Started: true, StartedAt: now.Add(-10 * time.Minute), BeatAt: now.Add(-4 * time.Minute)},
		{ID: "job-00003"},
	}, "", 5*time.Minute, now)
	wait := func(code, object string) starter.Item {
		return starter.Item{Wait: &contract.WaitReason{Code: code, Object: object}}
	}
	found.Waiting = waitingFor([]starter.Item{{}, wait("RESOURCES_PENDING", "job-00004.4"), wait("RESOURCES_PENDING", "job-00005.5"), wait("NO_WORKER", "h")})
	lines := found.lines(now)
	assert.Equal(t, "2 running, 1 of them silent; 2 wait for RESOURCES_PENDING; 1 wait for QUEUED; 1 wait for NO_WORKER(h)", lines[0])
	assert.Contains(t, lines[1], "job-00002 on")
	assert.Contains(t, lines[1], "for 10m; silent for 4m, lost in 1m unless it reports")
	assert.Contains(t, lines[2], "job-00001")
	assert.Contains(t, lines[2], "copying")
	assert.Len(t, runningNow([]starter.ActiveItem{{ID: "a", Started: true}, {ID: "b", Started: true}}, "b", 0, now).Running, 1)
	assert.Empty(t, (&activity{}).lines(now))
	assert.Empty(t, (*activity)(nil).lines(now))
}
