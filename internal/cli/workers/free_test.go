package workers

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/starter/workerview"
)

func TestFreeText(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 2, 0, 0, 0, time.UTC)
	in := func(minutes int) time.Time { return now.Add(time.Duration(minutes) * time.Minute) }
	jobs := []workerview.DrainJob{{JobID: "job-00001"}}
	assert.Equal(t, "at once: nothing runs there", freeText(workerview.Drain{}, false, now))
	assert.Equal(t, "at once, by the runs: none has an attempt there; the process does not answer", freeText(workerview.Drain{}, true, now))
	assert.Equal(t, "about in 12m; at the latest in 30m, by the time limits", freeText(workerview.Drain{FreeAt: in(12), Latest: in(30), Jobs: jobs}, false, now))
	assert.Equal(t, "not before in 12m: the end of 2 jobs is unknown", freeText(workerview.Drain{FreeAt: in(12), Unknown: 2, Jobs: jobs}, false, now))
	assert.Equal(t, "at an unknown time: the end of 1 job is unknown; at the latest in 30m, by the time limits",
		freeText(workerview.Drain{Unknown: 1, Latest: in(30), Jobs: jobs}, false, now))
}
