package jobtypes

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	schedulepb "go.temporal.io/api/schedule/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/lib/override"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
)

func specNamed(name string, edit ...func(*contract.JobTypeSpec)) contract.JobTypeSpec {
	policy := jobtype.DefaultPolicy().WithDefaults()
	policy.CatchupWindow = jobtype.Duration(time.Hour)
	spec := contract.JobTypeSpec{
		Name: name, Handler: "command", Lane: "default", Policy: policy,
		Params:   json.RawMessage(`{"dir":"/tmp","deep":{"a":1,"b":[1,2]}}`),
		Schedule: contract.ScheduleSpec{Every: jobtype.Duration(time.Hour)},
		Hash:     "v1-first",
	}
	for _, change := range edit {
		change(&spec)
	}
	return spec
}

func heldAs(t *testing.T, spec contract.JobTypeSpec) (schedules, held) {
	t.Helper()
	s := schedules{converter: starter.DataConverter()}
	schedule, err := s.build(spec)
	require.NoError(t, err)
	memo, err := s.memo(contract.JobTypeSpec{})
	require.NoError(t, err)
	return s, held{schedule: schedule, memo: memo, info: &schedulepb.ScheduleInfo{}}
}

func TestNoDifferenceToItself(t *testing.T) {
	t.Parallel()
	spec := specNamed("a")
	s, current := heldAs(t, spec)
	fields, err := s.difference(current, spec)
	require.NoError(t, err)
	assert.Empty(t, fields)
	assert.True(t, s.owned(current.memo))
	assert.False(t, s.owned(nil))
}

func TestConfiguredChangesAreReadable(t *testing.T) {
	t.Parallel()
	s, current := heldAs(t, specNamed("a"))
	wanted := specNamed("a", func(spec *contract.JobTypeSpec) {
		spec.Policy.RetryLimit = 3
		spec.Policy.MaxRuntime = jobtype.Duration(time.Hour)
		spec.Params = json.RawMessage(`{"dir":"/var","deep":{"b":[1,2]}}`)
		spec.Schedule = contract.ScheduleSpec{Cron: []string{"0 2 * * *"}, Timezone: "Europe/Berlin"}
		spec.Hash = "v1-second"
	})
	fields, err := s.difference(current, wanted)
	require.NoError(t, err)
	var lines []string
	for _, field := range fields {
		lines = append(lines, field.String())
	}
	assert.Equal(t, []string{
		"params.deep.a: 1 → (none)",
		`params.dir: "/tmp" → "/var"`,
		"policy.max_runtime: 30m → 1h",
		"policy.retry_limit: 0 → 3",
		"schedule: every 1h → cron 0 2 * * * in Europe/Berlin",
	}, lines)
	assert.Equal(t, ActionUpdate, actionOf(fields))
}

// A new Roundsman with another meaning of the same settings shows as a change of format.
func TestNewFormatIsAnUpdate(t *testing.T) {
	t.Parallel()
	s, current := heldAs(t, specNamed("a"))
	fields, err := s.difference(current, specNamed("a", func(spec *contract.JobTypeSpec) { spec.Hash = "v2-first" }))
	require.NoError(t, err)
	assert.Equal(t, []contract.FieldChange{{Path: "format", Before: "v1-first", After: "v2-first"}}, fields)
}

// A text counts more than five dates, so that two lists with other dates between have one text.
func TestEveryDateOfALongListIsASetting(t *testing.T) {
	t.Parallel()
	with := func(fourth string) contract.JobTypeSpec {
		return specNamed("a", func(spec *contract.JobTypeSpec) {
			days := []string{"2027-01-01", "2027-01-02", "2027-01-03", fourth, "2027-02-05", "2027-02-06", "2027-02-07"}
			spec.Calendar = &jobtype.Calendar{Blackouts: []jobtype.Blackout{{Days: days}}}
		})
	}
	changes := Changes(with("2027-02-01"), with("2027-02-02"))
	require.Len(t, changes, 1)
	assert.Equal(t, "calendar.dates", changes[0].Path)
	assert.Empty(t, Changes(with("2027-02-01"), with("2027-02-01")))
}

// Settings that an operator has changed are adopted by a configuration that has them.
func TestAConfigurationWithTheSettingsInForceAdoptsThem(t *testing.T) {
	t.Parallel()
	s, current := heldAs(t, specNamed("a"))
	fields, err := s.difference(current, specNamed("a", func(spec *contract.JobTypeSpec) { spec.Hash = "v1-second" }))
	require.NoError(t, err)
	assert.Equal(t, []contract.FieldChange{{Path: "configuration", Before: "changed by hand", After: "as written"}}, fields)
}

func TestEveryHandEditIsDrift(t *testing.T) {
	t.Parallel()
	action := func(schedule *schedulepb.Schedule) *workflowpb.NewWorkflowExecutionInfo {
		return schedule.GetAction().GetStartWorkflow()
	}
	for path, edit := range map[string]func(*schedulepb.Schedule){
		"times": func(s *schedulepb.Schedule) { s.Spec.Interval[0].Interval = durationpb.New(time.Minute) },
		"overlap": func(s *schedulepb.Schedule) {
			s.Policies.OverlapPolicy = enumspb.SCHEDULE_OVERLAP_POLICY_ALLOW_ALL
		},
		"catchup_window":             func(s *schedulepb.Schedule) { s.Policies.CatchupWindow = durationpb.New(time.Minute) },
		"pause_on_failure":           func(s *schedulepb.Schedule) { s.Policies.PauseOnFailure = true },
		"limited_actions":            func(s *schedulepb.Schedule) { s.State.LimitedActions = true },
		"workflow":                   func(s *schedulepb.Schedule) { action(s).WorkflowType.Name = "x" },
		"workflow_id":                func(s *schedulepb.Schedule) { action(s).WorkflowId = "x" },
		"task_queue":                 func(s *schedulepb.Schedule) { action(s).TaskQueue.Name = "x" },
		"workflow_execution_timeout": func(s *schedulepb.Schedule) { action(s).WorkflowExecutionTimeout = durationpb.New(time.Hour) },
		"search_attributes.RoundsmanJobType": func(s *schedulepb.Schedule) {
			action(s).SearchAttributes = nil
		},
		"summary": func(s *schedulepb.Schedule) { action(s).UserMetadata = nil },
		"input":   func(s *schedulepb.Schedule) { action(s).Input = nil },
	} {
		spec := specNamed("a")
		s, current := heldAs(t, spec)
		edit(current.schedule)
		fields, err := s.difference(current, spec)
		require.NoError(t, err, path)
		var paths []string
		for _, field := range fields {
			assert.True(t, field.Drift, path)
			paths = append(paths, field.Path)
		}
		assert.Contains(t, paths, path)
		assert.Equal(t, ActionDrift, actionOf(fields))
	}
}

// Arguments edited in the Web UI are drift: the hash is still that of the applied spec.
func TestEditedArgumentIsDrift(t *testing.T) {
	t.Parallel()
	s, current := heldAs(t, specNamed("a", func(spec *contract.JobTypeSpec) { spec.Policy.RetryLimit = 7 }))
	fields, err := s.difference(current, specNamed("a"))
	require.NoError(t, err)
	assert.Equal(t, []contract.FieldChange{{Path: "policy.retry_limit", Before: "7", After: "0", Drift: true}}, fields)
}

func TestPauses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		paused  bool
		note    string
		enabled bool
		want    *schedulepb.ScheduleState
	}{
		"running":                      {false, "", true, &schedulepb.ScheduleState{}},
		"resumed by a person":          {false, "resumed by x", true, &schedulepb.ScheduleState{Notes: "resumed by x"}},
		"paused by a person":           {true, "disk is full", true, &schedulepb.ScheduleState{Paused: true, Notes: "disk is full"}},
		"disabled":                     {false, "resumed by x", false, &schedulepb.ScheduleState{Paused: true, Notes: disabledNote}},
		"enabled again":                {true, disabledNote, true, &schedulepb.ScheduleState{}},
		"still disabled":               {true, disabledNote, false, &schedulepb.ScheduleState{Paused: true, Notes: disabledNote}},
		"paused by a person, disabled": {true, "disk is full", false, &schedulepb.ScheduleState{Paused: true, Notes: "disk is full"}},
	} {
		got := pauseState(&schedulepb.ScheduleState{Paused: test.paused, Notes: test.note}, test.enabled)
		assert.True(t, proto.Equal(test.want, got), name)
	}
}

func TestPlanText(t *testing.T) {
	t.Parallel()
	plan := Plan{Changes: []Change{
		{JobType: "a", Action: ActionUnchanged},
		{JobType: "b", Action: ActionUpdate, Note: "paused: x", Fields: []contract.FieldChange{
			{Path: "policy.retry_limit", Before: "0", After: "3"}, {Path: "overlap", Before: "allow_all", After: "skip", Drift: true},
		}},
		{JobType: "c", Action: ActionDelete},
	}}
	assert.Equal(t, "update b (paused: x)\n    policy.retry_limit: 0 → 3\n    overlap: allow_all → skip (changed by hand)\nwould delete c; only with `roundsman apply --prune`, or after its question", plan.String())
	assert.False(t, plan.Empty())
	assert.Equal(t, "no changes: 1 job types are as configured", Plan{Changes: plan.Changes[:1]}.String())
	assert.True(t, Plan{Changes: plan.Changes[:1]}.Empty())
}

// Each job type carries all pool sizes; a new pool is listed as one change.
func TestPlanNamesAPoolOnce(t *testing.T) {
	t.Parallel()
	tape := contract.FieldChange{Path: "resources.tape", After: "1"}
	pooled := func(name string, more ...contract.FieldChange) Change {
		return Change{JobType: name, Action: ActionUpdate, Fields: append([]contract.FieldChange{tape}, more...)}
	}
	plan := Plan{Changes: []Change{pooled("a"), pooled("b", contract.FieldChange{Path: "overlap", Before: "skip", After: "buffer_one"}), pooled("c"), pooled("d")}}
	assert.Equal(t, "update the pools of 3 job types: a, c, d\n    resources.tape: (none) → 1\nupdate b\n    resources.tape: (none) → 1\n    overlap: skip → buffer_one", plan.String())
	assert.Equal(t, "update a\n    resources.tape: (none) → 1", Plan{Changes: plan.Changes[:1]}.String())
	assert.Len(t, plan.Pending(), 4)
}

func TestSummaryAndDetailsStayWithinTheServersBounds(t *testing.T) {
	t.Parallel()
	long := make([]rune, 30_000)
	for i := range long {
		long[i] = 'ü'
	}
	spec := specNamed("a", func(spec *contract.JobTypeSpec) { spec.Description = "First line\n" + string(long) })
	assert.Equal(t, "First line", summaryOf(spec))
	assert.Less(t, len(detailsOf(spec)), 10_000)
	spec.Description = string(long)
	assert.LessOrEqual(t, len(summaryOf(spec)), maxSummary)
	assert.NotContains(t, summaryOf(spec), "\uFFFD")
}

// Every changed setting of a spec is listed.
func TestSpecChangesNameEverything(t *testing.T) {
	t.Parallel()
	before := contract.JobTypeSpec{
		Name: "a", Handler: "command", Lane: "default", Interval: jobtype.Duration(time.Hour), Resources: map[string]int{"db": 2},
		Params: []byte(`{"dir":"/a"}`), Schedule: contract.ScheduleSpec{Cron: []string{"0 2 * * *"}},
	}
	after := before
	after.LaneShared, after.Resources, after.Interval, after.Policy.RetryLimit = true, map[string]int{"db": 3}, jobtype.Duration(2*time.Hour), 1
	after.Handler, after.Params = "scrub", []byte(`{"dir":"/b"}`)
	assert.Equal(t, []contract.FieldChange{
		{Path: "handler", Before: "command", After: "scrub"},
		{Path: "interval", Before: "1h", After: "2h"},
		{Path: "lane_shared", After: "true"},
		{Path: "params.dir", Before: `"/a"`, After: `"/b"`},
		{Path: "policy.retry_limit", Before: "0", After: "1"},
		{Path: "resources.db", Before: "2", After: "3"},
	}, specChanges(before, after))
	after = before
	after.Interval, after.Schedule = jobtype.Duration(time.Minute), contract.ScheduleSpec{Every: jobtype.Duration(time.Minute)}
	changes := specChanges(before, after)
	require.Len(t, changes, 1, "the interval follows from the schedule")
	assert.Equal(t, "schedule", changes[0].Path)
}

// A plan marks the values that are defaults of the handler, and no longer marks a written one.
func TestDefaultsOfHandlersAreNamed(t *testing.T) {
	t.Parallel()
	defaulted := specNamed("a", func(spec *contract.JobTypeSpec) {
		spec.Policy.RetryLimit, spec.FromHandler = 1, []string{"policy.retry_limit", contract.PathEvery}
	})
	assert.Equal(t, []contract.FieldChange{
		{Path: "policy.retry_limit", After: "1 (default of handler command)"},
		{Path: "schedule", After: "every 1h (default of handler command)"},
	}, handlerDefaults(defaulted))
	s, current := heldAs(t, defaulted)
	fields, err := s.difference(current, specNamed("a", func(spec *contract.JobTypeSpec) {
		spec.Policy.RetryLimit, spec.Hash = 3, "v1-second"
	}))
	require.NoError(t, err)
	assert.Equal(t, []contract.FieldChange{
		{Path: "policy.retry_limit", Before: "1 (default of handler command)", After: "3"},
		{Path: "schedule", Before: "every 1h (default of handler command)", After: "every 1h"},
	}, fields)
	set, err := override.Change{"retry_limit": json.RawMessage("2"), override.Every: json.RawMessage(`"2h"`)}.OverSpec(defaulted)
	require.NoError(t, err)
	assert.Empty(t, set.FromHandler, "what a person set is no default")
}
