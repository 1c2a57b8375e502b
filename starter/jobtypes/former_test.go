package jobtypes

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	schedulepb "go.temporal.io/api/schedule/v1"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/lib/pack"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
)

func scheduleOf(t *testing.T, s schedules, spec contract.JobTypeSpec) *schedulepb.Schedule {
	t.Helper()
	schedule, err := s.build(spec)
	require.NoError(t, err)
	return schedule
}

func specWith(params string) contract.JobTypeSpec {
	return completed(contract.JobTypeSpec{
		Name: "scrub", Handler: "command", Params: json.RawMessage(params), Policy: jobtype.DefaultPolicy().WithDefaults(),
		Schedule: contract.ScheduleSpec{Every: jobtype.Duration(3600e9)},
	})
}

func TestAnEntryKeepsWhatTheScheduleHeld(t *testing.T) {
	t.Parallel()
	s := schedules{converter: starter.DataConverter()}
	schedule := scheduleOf(t, s, specWith(`{"dir":"/srv"}`))
	schedule.State = &schedulepb.ScheduleState{Paused: true, Notes: "new disks"}
	packed, fault := s.formerOf(schedule)
	require.Empty(t, fault)
	var before former
	require.NoError(t, pack.OpenJSON(packed, maxFormerRead, &before))
	stored, err := s.storedSpec(schedule)
	require.NoError(t, err)
	assert.Equal(t, former{Spec: stored, Paused: true, Note: "new disks"}, before)
}

func TestWhatDoesNotFitIsSaid(t *testing.T) {
	t.Parallel()
	noise := make([]byte, 2*contract.MaxFormer)
	_, _ = rand.Read(noise) // It never fails.
	s := schedules{converter: starter.DataConverter()}
	packed, fault := s.formerOf(scheduleOf(t, s, specWith(`{"text":"`+hex.EncodeToString(noise)+`"}`)))
	assert.Empty(t, packed)
	assert.Regexp(t, `^its former settings are not kept: \d+ bytes compressed, at most 8192 fit$`, fault)
	entry := entryOf(Change{JobType: "scrub", Action: ActionUpdate, Note: "paused: disks", formerFault: fault})
	assert.Equal(t, "paused: disks; "+fault, entry.Detail)
}

func TestOnlyChangedSettingsHaveFormerOnes(t *testing.T) {
	t.Parallel()
	s := schedules{converter: starter.DataConverter()}
	schedule, wanted := scheduleOf(t, s, specWith(`{"dir":"/a"}`)), wantedType{spec: specWith(`{"dir":"/a"}`), enabled: true}
	drifted := assessed(held{schedule: schedule}, []contract.FieldChange{{Path: "overlap", Drift: true}}, "scrub", true)
	packed, fault := s.formerBefore(drifted, wanted)
	assert.Empty(t, string(packed)+fault, "the Schedule was edited apart from its settings")
	wanted.spec = specWith(`{"dir":"/b"}`)
	packed, fault = s.formerBefore(drifted, wanted)
	assert.NotEmpty(t, packed)
	assert.Empty(t, fault)
	created := assessment{change: Change{Action: ActionCreate}}
	packed, fault = s.formerBefore(created, wanted)
	assert.Empty(t, string(packed)+fault)
}
