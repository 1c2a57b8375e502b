package runend

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
)

func resultWith(jobType string, ended time.Time, values *contract.Values) contract.JobGroupResult {
	return contract.JobGroupResult{JobType: jobType, Outcome: contract.OutcomeCompleted, EndedAt: ended, Record: contract.RunRecord{Sequence: 1, Values: values}}
}

func TestNumbersOfJobsAreMetrics(t *testing.T) {
	t.Parallel()
	p, at := newPlay(t), time.Unix(1_700_000_000, 0)
	first := &contract.Values{Runs: 1, At: at, Dropped: 2, Series: []contract.ValueSeries{
		{Key: "crm", Name: "bytes", Points: []float64{7}}, {Key: "shop", Name: "bytes", Points: []float64{1, 1.5}},
	}}
	p.answer("group/dump-1", nil, completed(t, resultWith("dump", at, first)))
	later := &contract.Values{Runs: 2, At: at.Add(30 * time.Second), Series: []contract.ValueSeries{{Key: "shop \"x\"\\", Name: "bytes", Points: []float64{1, 1.5, 2}}}}
	p.answer("group/dump-2", nil, failed(t, resultWith("dump", at.Add(time.Minute), later)))
	p.answer("group/dump-1", nil, completed(t, resultWith("dump", at, first))) // It is late and of an older run.
	p.answer("group/none-1", nil, completed(t, resultWith("none", at, nil)))
	assert.Equal(t, map[string]float64{"dump shop \"x\"\\ bytes": 2}, p.values("roundsman_job_value"))
	assert.Equal(t, map[string]float64{"dump": 0}, p.values("roundsman_job_values_dropped"))
	assert.Equal(t, map[string]float64{"dump": 1_700_000_030}, p.values("roundsman_job_values_timestamp_seconds"),
		"the run that ended later returned no numbers")
}

// Numbers above the bound are counted as dropped. A number that a job type no longer returns makes room.
func TestNumbersOfAllJobTypesAreBounded(t *testing.T) {
	t.Parallel()
	p, at := newPlay(t), time.Unix(1_700_000_000, 0)
	full := &contract.Values{Runs: 1}
	for n := range contract.MaxSeries {
		full.Series = append(full.Series, contract.ValueSeries{Key: fmt.Sprint(n), Name: "n", Points: []float64{1}})
	}
	for n := range maxValues/contract.MaxSeries + 1 {
		p.numbers.set(fmt.Sprintf("type-%03d", n), full, at)
	}
	assert.Len(t, p.values("roundsman_job_value"), maxValues)
	assert.InDelta(t, contract.MaxSeries, p.values("roundsman_job_values_dropped")["type-100"], 0)
	p.numbers.set("type-000", &contract.Values{Runs: 2}, at.Add(1))
	p.numbers.set("type-100", full, at.Add(1))
	assert.Len(t, p.values("roundsman_job_value"), maxValues)
	assert.InDelta(t, 0, p.values("roundsman_job_values_dropped")["type-100"], 0)
}
