package duration_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/internal/engine/duration"
)

func TestDrain(t *testing.T) {
	t.Parallel()
	assert.Equal(t, duration.Drain{Jobs: []duration.DrainJob{}}, duration.DrainOf(night, nil, 0), "it is free now")

	since := night.Add(-10 * time.Minute)
	half := duration.Running{JobID: "half", WorkflowID: "r", StartedAt: since, Attempt: duration.Attempt{Percent: 50}, Limit: time.Hour}
	past := duration.Running{JobID: "past", WorkflowID: "r", StartedAt: since, Attempt: duration.Attempt{Percent: -1, Past: []time.Duration{time.Minute, 40 * time.Minute}}, Limit: 2 * time.Hour}
	unknown := duration.Running{JobID: "unknown", WorkflowID: "q", StartedAt: since, Attempt: duration.Attempt{Percent: -1}, Limit: time.Hour}

	drain := duration.DrainOf(night, []duration.Running{half, unknown, past}, 0)
	assert.Equal(t, duration.Drain{
		FreeAt: night.Add(30 * time.Minute), Unknown: 1, Latest: since.Add(2 * time.Hour),
		Jobs: []duration.DrainJob{
			{JobID: "unknown", WorkflowID: "q", Latest: since.Add(time.Hour)},
			{JobID: "past", WorkflowID: "r", EndsAt: night.Add(30 * time.Minute), Basis: duration.ByPast, Of: 2, Latest: since.Add(2 * time.Hour)},
			{JobID: "half", WorkflowID: "r", EndsAt: night.Add(10 * time.Minute), Basis: duration.ByProgress, Latest: since.Add(time.Hour)},
		},
	}, drain)

	unknown.Limit = 0
	assert.Zero(t, duration.DrainOf(night, []duration.Running{half, unknown}, 0).Latest, "one may run for ever")
	cut := duration.DrainOf(night, []duration.Running{half}, 3)
	assert.Equal(t, 3, cut.Unknown)
	assert.Zero(t, cut.Latest)
}
