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
	}, "", now)
	found.lostAfter(5 * time.Minute)
	found.InFlight = 3
	found.Waiting = waitingFor(contract.GroupStatus{Pending: 20_004, Waits: []contract.WaitReason{
		{Code: "GLOBAL_LIMIT", Object: "h", Items: 20_000, Detail: "global_execution_concurrency of 3 is reached"},
		{Code: "RESOURCES_PENDING", Object: "job-00004.4", Items: 1},
		{Code: "RESOURCES_PENDING", Object: "job-00005.5", Items: 1},
		{Code: "NO_WORKER", Object: "h", Items: 1},
	}})
	lines := found.lines(now)
	assert.Equal(t, "3 running, 1 of them silent; 20000 wait for GLOBAL_LIMIT(h): global_execution_concurrency of 3 is reached; 2 wait for RESOURCES_PENDING; 1 waits for NO_WORKER(h); 1 waits for QUEUED", lines[0])
	assert.Contains(t, lines[1], "job-00002 on")
	assert.Contains(t, lines[1], "for 10m; silent for 4m, lost in 1m unless it reports")
	assert.Contains(t, lines[2], "job-00001")
	assert.Contains(t, lines[2], "copying")
	assert.Len(t, runningNow([]starter.ActiveItem{{ID: "a", Started: true}, {ID: "b", Started: true}}, "b", now).Running, 1)
	assert.Empty(t, (&activity{}).lines(now))
	assert.Empty(t, (*activity)(nil).lines(now))
}
