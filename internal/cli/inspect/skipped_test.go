package inspect

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
)

func TestSkippedRunsAreGrouped(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 24, 3, 0, 0, 0, time.UTC)
	one := func(jobType string, code contract.Code, run string, minutes int) skippedRuns {
		return skippedRuns{JobType: jobType, Code: code, Runs: 1, Last: run, At: at.Add(time.Duration(minutes) * time.Minute)}
	}
	assert.Equal(t, []skippedRuns{
		{JobType: "a", Code: contract.CodeNoWorker, Runs: 2, Last: "a-2", At: at.Add(2 * time.Minute)},
		{JobType: "a", Code: contract.CodeWindowClosed, Runs: 1, Last: "a-3", At: at.Add(3 * time.Minute)},
	}, grouped([]skippedRuns{one("a", contract.CodeNoWorker, "a-1", 1), one("a", contract.CodeWindowClosed, "a-3", 3), one("a", contract.CodeNoWorker, "a-2", 2)}))
	assert.Equal(t, "RESOURCES_PENDING db, 1 of 4 free", shortPool(map[string]int{"db": 2}, []contract.PoolUsage{{Name: "db", Size: 4, Used: 3}}))
	assert.Empty(t, shortPool(map[string]int{"db": 1}, []contract.PoolUsage{{Name: "db", Size: 4, Used: 3}}))
	assert.Empty(t, shortPool(map[string]int{"db": 9}, []contract.PoolUsage{{Name: "db", Size: 4}}), "a job takes what the pool has")
}
