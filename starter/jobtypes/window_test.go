package jobtypes

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
)

func TestWindowAt(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 5, 12, 0, 0, 0, time.UTC)
	spec := contract.JobTypeSpec{Name: "scrub", Lane: "night"}
	assert.Nil(t, WindowAt(spec, now), "no windows, nothing to tell")

	spec.Calendar = &jobtype.Calendar{Windows: []jobtype.Window{{From: "10:00", To: "14:00", Timezone: "UTC"}}}
	view := WindowAt(spec, now)
	assert.True(t, view.Open)
	assert.Equal(t, now.Add(2*time.Hour), view.Until)
	assert.Len(t, view.Next, contract.MaxWindows)

	view = WindowAt(spec, now.Add(3*time.Hour))
	assert.False(t, view.Open)
	assert.Equal(t, "job type scrub: outside its windows", view.Closed)
	assert.Equal(t, now.Add(2*time.Hour), view.Since)
	assert.Equal(t, now.Add(22*time.Hour), view.Until)

	spec.LaneCalendar = &jobtype.Calendar{Blackouts: []jobtype.Blackout{{From: "00:00", To: "24:00"}}}
	view = WindowAt(spec, now)
	assert.False(t, view.Open)
	assert.Equal(t, "lane night: a blackout", view.Closed)
	assert.True(t, view.Until.IsZero() && view.Since.IsZero(), "never")

	spec.LaneCalendar = &jobtype.Calendar{Windows: []jobtype.Window{{From: "late", To: "14:00"}}}
	view = WindowAt(spec, now)
	assert.False(t, view.Open)
	assert.Contains(t, view.Fault, "lane night: windows[0]: from: ")
}

func TestLearnedOf(t *testing.T) {
	t.Parallel()
	var record contract.RunRecord
	for n := range 19 {
		record.TookMS = append(record.TookMS, int64(n+1)*1000)
	}
	assert.Equal(t, Learned{Of: 19}, learnedOf(record))
	record.TookMS = append(record.TookMS, 60_000)
	record.Checkpoints = []contract.KeptCheckpoint{{Key: "a"}}
	assert.Equal(t, Learned{P95: jobtype.Duration(19 * time.Second), Of: 20, Checkpoints: []string{"a"}}, learnedOf(record))
}

func TestCalendarChangesAreSeen(t *testing.T) {
	t.Parallel()
	s := Of(starter.New(nil, "", nil).As("ann", nil)).schedules()
	spec := contract.JobTypeSpec{Name: "scrub", Calendar: &jobtype.Calendar{Windows: []jobtype.Window{{From: "10:00", To: "14:00"}}}}
	schedule, err := s.build(contract.JobTypeSpec{Name: spec.Name, Calendar: spec.Calendar, Schedule: contract.ScheduleSpec{Every: jobtype.Duration(time.Hour)}})
	require.NoError(t, err)
	stored := held{schedule: schedule}
	assert.Nil(t, s.changesCalendar(stored, spec), "the same")
	spec.LaneCalendar = spec.Calendar
	assert.Equal(t, contract.SetCalendarInput{Calendar: spec.Calendar, LaneCalendar: spec.LaneCalendar, By: "ann"}, s.changesCalendar(stored, spec).to)
	assert.Nil(t, s.changesCalendar(held{}, spec), "there is nobody to tell")
}
