package pace_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/internal/pace"
)

func TestDrain(t *testing.T) {
	t.Parallel()
	assert.Equal(t, pace.Drain{Jobs: []pace.DrainJob{}}, pace.DrainOf(night, nil, 0), "it is free now")

	since := night.Add(-10 * time.Minute)
	half := pace.Running{JobID: "half", WorkflowID: "r", StartedAt: since, Attempt: pace.Attempt{Percent: 50}, Limit: time.Hour}
	past := pace.Running{JobID: "past", WorkflowID: "r", StartedAt: since, Attempt: pace.Attempt{Percent: -1, Past: []time.Duration{time.Minute, 40 * time.Minute}}, Limit: 2 * time.Hour}
	unknown := pace.Running{JobID: "unknown", WorkflowID: "q", StartedAt: since, Attempt: pace.Attempt{Percent: -1}, Limit: time.Hour}

	drain := pace.DrainOf(night, []pace.Running{half, unknown, past}, 0)
	assert.Equal(t, pace.Drain{
		FreeAt: night.Add(30 * time.Minute), Unknown: 1, Latest: since.Add(2 * time.Hour),
		Jobs: []pace.DrainJob{
			{JobID: "unknown", WorkflowID: "q", Latest: since.Add(time.Hour)},
			{JobID: "past", WorkflowID: "r", EndsAt: night.Add(30 * time.Minute), Basis: pace.ByPast, Of: 2, Latest: since.Add(2 * time.Hour)},
			{JobID: "half", WorkflowID: "r", EndsAt: night.Add(10 * time.Minute), Basis: pace.ByProgress, Latest: since.Add(time.Hour)},
		},
	}, drain)

	unknown.Limit = 0
	assert.Zero(t, pace.DrainOf(night, []pace.Running{half, unknown}, 0).Latest, "one may run for ever")
	cut := pace.DrainOf(night, []pace.Running{half}, 3)
	assert.Equal(t, 3, cut.Unknown)
	assert.Zero(t, cut.Latest)
}
