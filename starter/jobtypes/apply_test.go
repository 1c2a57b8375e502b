package jobtypes_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
	"github.com/roundsman/roundsman/testsuite"
)

// ownServer gives a test its own namespace, since a plan deletes all other job types.
func ownServer(t *testing.T) *starter.Client {
	t.Helper()
	return dialAt(t, testsuite.StartServer(t).Address())
}

func applied(name string, edit ...func(*contract.JobTypeSpec)) contract.JobTypeSpec {
	policy := jobtype.DefaultPolicy().WithDefaults()
	policy.CatchupWindow = jobtype.Duration(time.Hour)
	spec := contract.JobTypeSpec{
		Name: name, Handler: "command", Description: "Keeps " + name + " tidy", Lane: "default", Policy: policy,
		Params:   json.RawMessage(`{"dir":"/tmp"}`),
		Schedule: contract.ScheduleSpec{Every: jobtype.Duration(24 * time.Hour)},
	}
	for _, change := range edit {
		change(&spec)
	}
	encoded, err := json.Marshal(spec)
	if err != nil {
		panic(err)
	}
	spec.Hash = fmt.Sprintf("v1-%x", encoded)
	return spec
}

func retries(limit int) func(*contract.JobTypeSpec) {
	return func(spec *contract.JobTypeSpec) { spec.Policy.RetryLimit = limit }
}

func planOf(t *testing.T, c *starter.Client, enabled map[string]bool, specs ...contract.JobTypeSpec) jobtypes.Plan {
	t.Helper()
	plan, err := jobtypes.Of(c).Plan(t.Context(), specs, enabled)
	require.NoError(t, err)
	return plan
}

func apply(t *testing.T, c *starter.Client, enabled map[string]bool, specs ...contract.JobTypeSpec) jobtypes.ApplyResult {
	t.Helper()
	result, err := jobtypes.Of(c).Apply(t.Context(), planOf(t, c, enabled, specs...))
	require.NoError(t, err)
	return result
}

func actions(changes []jobtypes.Change) map[string]jobtypes.ChangeAction {
	byName := map[string]jobtypes.ChangeAction{}
	for _, change := range changes {
		byName[change.JobType] = change.Action
	}
	return byName
}

func TestApplyReconciles(t *testing.T) {
	t.Parallel()
	c := ownServer(t)
	a, b := applied("a"), applied("b", func(spec *contract.JobTypeSpec) {
		spec.Schedule = contract.ScheduleSpec{Cron: []string{"0 2 13 * fri", "@hourly"}, Timezone: "Europe/Berlin", Jitter: jobtype.Duration(time.Minute)}
		spec.Policy.Overlap = jobtype.OverlapBufferOne
	})

	plan := planOf(t, c, nil, b, a)
	assert.Equal(t, []jobtypes.Change{{JobType: "a", Action: jobtypes.ActionCreate}, {JobType: "b", Action: jobtypes.ActionCreate}}, plan.Changes)
	result, err := jobtypes.Of(c).Apply(t.Context(), plan)
	require.NoError(t, err)
	assert.Len(t, result.Applied, 2)

	// The same plan, and a new one, have no effect.
	result, err = jobtypes.Of(c).Apply(t.Context(), plan)
	require.NoError(t, err)
	assert.Empty(t, result.Applied)
	assert.Equal(t, 2, result.Unchanged)
	assert.True(t, planOf(t, c, nil, a, b).Empty(), "%s", planOf(t, c, nil, a, b))

	read, err := jobtypes.Of(c).Get(t.Context(), "b")
	require.NoError(t, err)
	assert.Equal(t, b, read.Spec)
	assert.Len(t, read.Next, 10)
	created := read.CreatedAt

	changed := applied("b", retries(3))
	plan = planOf(t, c, nil, a, changed)
	assert.Equal(t, "update b\n    policy.overlap: buffer_one → skip\n    policy.retry_limit: 0 → 3\n"+
		"    schedule: cron 0 * * * * or cron 0 2 * * 5 or cron 0 2 13 * * in Europe/Berlin jitter 1m → every 24h", plan.String())
	_, err = jobtypes.Of(c).Apply(t.Context(), plan)
	require.NoError(t, err)
	read, err = jobtypes.Of(c).Get(t.Context(), "b")
	require.NoError(t, err)
	assert.Equal(t, 3, read.Spec.Policy.RetryLimit)
	assert.Equal(t, created, read.CreatedAt)

	// A job type missing in the configuration is deleted as soon as the list has it.
	testsuite.WaitFor(t, 20*time.Second, "b to be an orphan", func() bool {
		return actions(planOf(t, c, nil, a).Changes)["b"] == jobtypes.ActionDelete
	})
	apply(t, c, nil, a)
	_, err = jobtypes.Of(c).Get(t.Context(), "b")
	require.ErrorIs(t, err, starter.ErrNotFound)
	assert.True(t, planOf(t, c, nil, a).Empty())
	testsuite.WaitFor(t, 20*time.Second, "the list to show a alone", func() bool {
		types, err := jobtypes.Of(c).List(t.Context())
		return err == nil && len(types) == 1 && types[0].Name == "a" && types[0].Spec.Hash == a.Hash
	})
}

// A damaged job type may belong to another configuration.
func TestNobodyPrunesADamagedJobType(t *testing.T) {
	t.Parallel()
	c := ownServer(t)
	apply(t, c, nil, applied("theirs", func(spec *contract.JobTypeSpec) { spec.Owner = "storage" }), applied("ours"))
	damage(t, c, "theirs")
	testsuite.WaitFor(t, 20*time.Second, "the list to show the damage", func() bool {
		types, err := jobtypes.Of(c).List(t.Context())
		return err == nil && len(types) == 2 && types[1].Fault != ""
	})
	for owner, action := range map[string]jobtypes.ChangeAction{"": jobtypes.ActionDrift, "storage": jobtypes.ActionDrift, "network": jobtypes.ActionConflict} {
		plan := planOf(t, c, nil, applied("theirs", func(spec *contract.JobTypeSpec) { spec.Owner = owner }))
		assert.Equal(t, action, actions(plan.Changes)["theirs"], "a repair by the configuration of %q", owner)
		if action == jobtypes.ActionConflict {
			assert.Contains(t, plan.String(), "owner storage created it, and its stored settings cannot be read: apply it there; if its owner has changed since, leave out owner for one `roundsman apply theirs`")
		}
	}
	plan := planOf(t, c, nil)
	assert.Equal(t, map[string]jobtypes.ChangeAction{"ours": jobtypes.ActionDelete}, actions(plan.Changes))
	damage(t, c, "ours") // after the plan
	result, err := jobtypes.Of(c).Apply(t.Context(), plan)
	require.NoError(t, err)
	assert.Empty(t, result.Applied)
	for _, name := range []string{"ours", "theirs"} {
		read, err := jobtypes.Of(c).Get(t.Context(), name)
		require.NoError(t, err)
		assert.Contains(t, read.Fault, "run apply to repair it")
	}
}

// damage makes the stored spec unreadable, and removes the digest that shows the listed one as current.
func damage(t *testing.T, c *starter.Client, name string) {
	t.Helper()
	service := c.Temporal().WorkflowService()
	id := contract.ScheduleID(name)
	read, err := service.DescribeSchedule(t.Context(), &workflowservice.DescribeScheduleRequest{Namespace: c.Namespace(), ScheduleId: id})
	require.NoError(t, err)
	read.GetSchedule().GetAction().GetStartWorkflow().GetInput().GetPayloads()[0].Data = []byte("{")
	_, err = service.UpdateSchedule(t.Context(), &workflowservice.UpdateScheduleRequest{
		Namespace: c.Namespace(), ScheduleId: id, Schedule: read.GetSchedule(), RequestId: t.Name() + name, SearchAttributes: &commonpb.SearchAttributes{},
	})
	require.NoError(t, err)
}

func TestPausesOfPeopleSurvive(t *testing.T) {
	t.Parallel()
	c := ownServer(t)
	off := map[string]bool{"a": false}
	apply(t, c, off, applied("a"))
	read, err := jobtypes.Of(c).Get(t.Context(), "a")
	require.NoError(t, err)
	assert.True(t, read.Paused)
	assert.True(t, read.DisabledByConfig)
	assert.Empty(t, read.Next)
	assert.True(t, planOf(t, c, off, applied("a")).Empty())

	plan := planOf(t, c, nil, applied("a"))
	assert.Equal(t, "update a\n    enabled: false → true", plan.String())
	apply(t, c, nil, applied("a"))

	require.NoError(t, jobtypes.Of(c.As("anna", nil)).Pause(t.Context(), "a", "disk is full"))
	plan = planOf(t, c, nil, applied("a"))
	assert.True(t, plan.Empty(), "a pause is not drift")
	assert.Contains(t, plan.Changes[0].Note, "paused: disk is full (paused by anna at 20")
	apply(t, c, nil, applied("a", retries(1)))
	read, err = jobtypes.Of(c).Get(t.Context(), "a")
	require.NoError(t, err)
	assert.True(t, read.Paused, "and survives an update")
	assert.Equal(t, "disk is full", read.PauseNote)
	assert.Equal(t, "anna", read.PausedBy)
	assert.False(t, read.DisabledByConfig)

	require.NoError(t, jobtypes.Of(c).Resume(t.Context(), "a"))
	assert.True(t, planOf(t, c, nil, applied("a", retries(1))).Empty())
	require.ErrorIs(t, jobtypes.Of(c).Pause(t.Context(), "nobody", ""), starter.ErrNotFound)
}

func TestDriftIsFoundAndRepaired(t *testing.T) {
	t.Parallel()
	c := ownServer(t)
	spec := applied("a", func(spec *contract.JobTypeSpec) {
		spec.Schedule = contract.ScheduleSpec{Cron: []string{"0 2 * * *"}, Timezone: "UTC"}
	})
	apply(t, c, nil, spec)
	handle := c.Temporal().ScheduleClient().GetHandle(t.Context(), contract.ScheduleID("a"))
	require.NoError(t, handle.Update(t.Context(), client.ScheduleUpdateOptions{
		DoUpdate: func(input client.ScheduleUpdateInput) (*client.ScheduleUpdate, error) {
			schedule := input.Description.Schedule
			schedule.Spec.Calendars[0].Hour = []client.ScheduleRange{{Start: 5}}
			schedule.Policy.CatchupWindow = time.Minute
			return &client.ScheduleUpdate{Schedule: &schedule}, nil
		},
	}))
	plan := planOf(t, c, nil, spec)
	assert.Equal(t, "drift a\n    catchup_window: 1m → 1h (changed by hand)\n    times: cron 0 5 * * * → cron 0 2 * * * (changed by hand)", plan.String())
	result := apply(t, c, nil, spec)
	assert.Equal(t, jobtypes.ActionDrift, result.Applied[0].Action)
	assert.True(t, planOf(t, c, nil, spec).Empty())
}

func TestForeignSchedulesAreLeftAlone(t *testing.T) {
	t.Parallel()
	c := ownServer(t)
	for _, id := range []string{contract.ScheduleID("theirs"), "backup"} {
		_, err := c.Temporal().ScheduleClient().Create(t.Context(), client.ScheduleOptions{
			ID: id, Spec: client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: time.Hour}}},
			Action: &client.ScheduleWorkflowAction{ID: "x", Workflow: contract.JobGroupWorkflow, TaskQueue: "q"},
		})
		require.NoError(t, err)
	}
	plan := planOf(t, c, nil, applied("theirs"), applied("ours"))
	assert.Equal(t, map[string]jobtypes.ChangeAction{"theirs": jobtypes.ActionConflict, "ours": jobtypes.ActionCreate}, actions(plan.Changes))
	result, err := jobtypes.Of(c).Apply(t.Context(), plan)
	var failed *jobtypes.ApplyError
	require.ErrorAs(t, err, &failed)
	assert.Contains(t, err.Error(), "1 changes applied, 1 failed, 0 not attempted: run apply again")
	assert.Contains(t, err.Error(), "jobtype/theirs was not made by Roundsman")
	assert.Equal(t, "ours", result.Applied[0].JobType, "the others are applied")

	var listed []string
	testsuite.WaitFor(t, 20*time.Second, "the list to show all three", func() bool {
		response, err := c.Temporal().WorkflowService().ListSchedules(t.Context(), &workflowservice.ListSchedulesRequest{Namespace: "default"})
		listed = nil
		for _, entry := range response.GetSchedules() {
			listed = append(listed, entry.GetScheduleId())
		}
		return err == nil && len(listed) == 3
	})
	assert.Equal(t, map[string]jobtypes.ChangeAction{"ours": jobtypes.ActionDelete}, actions(planOf(t, c, nil).Changes))
	require.ErrorContains(t, jobtypes.Of(c).Pause(t.Context(), "theirs", ""), "was not made by Roundsman")
	_, err = jobtypes.Of(c).Trigger(t.Context(), "theirs")
	require.ErrorContains(t, err, "was not made by Roundsman")
}

// Appliers race to create the same configuration, and to write different ones. None fails, and
// the result is one of the configurations as a whole.
func TestConcurrentApplies(t *testing.T) {
	t.Parallel()
	c := ownServer(t)
	same := planOf(t, c, nil, applied("a"), applied("b"))
	together(t, 6, func(int) error {
		_, err := jobtypes.Of(c).Apply(t.Context(), same)
		return err
	})
	assert.True(t, planOf(t, c, nil, applied("a"), applied("b")).Empty())

	together(t, 4, func(i int) error {
		plan, err := jobtypes.Of(c).Plan(t.Context(), []contract.JobTypeSpec{applied("a", retries(i+1)), applied("b", retries(i+1))}, nil)
		if err != nil {
			return err
		}
		_, err = jobtypes.Of(c).Apply(t.Context(), plan)
		return err
	})
	read, err := jobtypes.Of(c).Get(t.Context(), "a")
	require.NoError(t, err)
	limit := read.Spec.Policy.RetryLimit
	assert.GreaterOrEqual(t, limit, 1)
	plan := planOf(t, c, nil, applied("a", retries(limit)))
	assert.Equal(t, jobtypes.ActionUnchanged, actions(plan.Changes)["a"], "%s", plan)

	// Pauses during an apply are never lost.
	for round := range 5 {
		together(t, 4, func(i int) error {
			if i == 0 {
				return jobtypes.Of(c).Pause(t.Context(), "a", fmt.Sprintf("round %d", round))
			}
			plan, err := jobtypes.Of(c).Plan(t.Context(), []contract.JobTypeSpec{applied("a", retries(10*round+i))}, nil)
			if err == nil {
				_, err = jobtypes.Of(c).Apply(t.Context(), plan)
			}
			if err != nil {
				return fmt.Errorf("round %d: %w", round, err)
			}
			return nil
		})
		read, err := jobtypes.Of(c).Get(t.Context(), "a")
		require.NoError(t, err)
		require.True(t, read.Paused, "round %d", round)
		require.Equal(t, fmt.Sprintf("round %d", round), read.PauseNote)
	}
}

func together(t *testing.T, n int, do func(i int) error) {
	t.Helper()
	var group sync.WaitGroup
	failures := make([]error, n)
	for i := range n {
		group.Go(func() { failures[i] = do(i) })
	}
	group.Wait()
	require.NoError(t, errors.Join(failures...))
}

func TestApplyStopsWithItsContext(t *testing.T) {
	t.Parallel()
	c := ownServer(t)
	plan := planOf(t, c, nil, applied("never-made-1"), applied("never-made-2"))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("interrupted"))
	result, err := jobtypes.Of(c).Apply(ctx, plan)
	require.ErrorContains(t, err, "interrupted")
	var failed *jobtypes.ApplyError
	require.ErrorAs(t, err, &failed)
	assert.Empty(t, result.Applied)
	pending := 0
	for _, change := range result.NotAttempted {
		if change.Action == jobtypes.ActionCreate {
			pending++
		}
	}
	assert.Equal(t, 2, pending)
	_, err = jobtypes.Of(c).Get(t.Context(), "never-made-1")
	require.ErrorIs(t, err, starter.ErrNotFound)
}

func TestPlanRefusesWhatItCannotBuild(t *testing.T) {
	t.Parallel()
	c := ownServer(t)
	apply := func(spec contract.JobTypeSpec) error {
		plan, err := jobtypes.Of(c).Plan(t.Context(), []contract.JobTypeSpec{spec}, nil)
		if err != nil {
			return err
		}
		for i, change := range plan.Changes {
			if change.Action == jobtypes.ActionDelete {
				plan.Changes[i].Action = jobtypes.ActionUnchanged
			}
		}
		_, err = jobtypes.Of(c).Apply(t.Context(), plan)
		return err
	}
	require.ErrorContains(t, apply(applied("bad-cron", func(spec *contract.JobTypeSpec) {
		spec.Schedule = contract.ScheduleSpec{Cron: []string{"0 0 31 2 *"}}
	})), "never comes")
	_, err := jobtypes.Of(c).Plan(t.Context(), []contract.JobTypeSpec{applied("twice"), applied("twice")}, nil)
	require.ErrorContains(t, err, "twice is given twice")
	require.ErrorContains(t, apply(applied("copied", func(spec *contract.JobTypeSpec) {
		spec.Execute = json.RawMessage(`{"command":["env"],"env":{"TOKEN":"(hidden)"}}`)
	})), "execute.env.TOKEN is (hidden)", "an answer of the API that was copied")
}

// The server rewrites requests; none of that may look like a change.
func TestServerReturnsWhatWasApplied(t *testing.T) {
	t.Parallel()
	c := ownServer(t)
	var specs []contract.JobTypeSpec
	add := func(edit func(*contract.JobTypeSpec)) {
		specs = append(specs, applied(fmt.Sprintf("type-%02d", len(specs)), edit))
	}
	for _, cron := range []string{
		"* * * * *", "*/7 * * * *", "0 0 29 2 *", "5,7,9,40-50 1-20/3 * * sun,sat", "@hourly", "@yearly", "0 2 13 * fri",
		"59 23 31 12 *", "0 0 1,15 * 1", "? ? ? ? ?", "1-59/2 */5 2-30/4 jan-jun mon-fri",
	} {
		add(func(spec *contract.JobTypeSpec) {
			spec.Schedule = contract.ScheduleSpec{Cron: []string{cron, "0 0 * * *"}, Timezone: "America/New_York", Jitter: jobtype.Duration(1500 * time.Millisecond)}
		})
	}
	for _, every := range []time.Duration{time.Second, 90 * time.Second, 365 * 24 * time.Hour} {
		add(func(spec *contract.JobTypeSpec) {
			spec.Schedule = contract.ScheduleSpec{Every: jobtype.Duration(every), Offset: jobtype.Duration((every / 2).Truncate(time.Second))}
			spec.Policy.CatchupWindow = jobtype.Duration(10 * time.Second)
		})
	}
	for _, overlap := range []jobtype.Overlap{
		jobtype.OverlapSkip, jobtype.OverlapBufferOne, jobtype.OverlapBufferAll, jobtype.OverlapCancelOther, jobtype.OverlapTerminateOther,
	} {
		add(func(spec *contract.JobTypeSpec) {
			spec.Policy.Overlap = overlap
			spec.Policy.CatchupWindow = jobtype.Duration(365 * 24 * time.Hour)
			spec.Description = "Quotes \" and <tags>, ümläuts\nand a second line"
			spec.Params, spec.Cluster = json.RawMessage(`{"a":"<b>&\u2028"}`), json.RawMessage(`{"n":12345678901234567890}`)
		})
	}
	// Missing settings get their defaults before the write, as in a configuration.
	for _, schedule := range []contract.ScheduleSpec{
		{Every: jobtype.Duration(time.Second)}, {Every: jobtype.Duration(5*time.Minute + 500*time.Millisecond)}, {Every: jobtype.Duration(365 * 24 * time.Hour)}, {Cron: []string{"0 2 * * *"}},
	} {
		add(func(spec *contract.JobTypeSpec) {
			*spec = contract.JobTypeSpec{Name: spec.Name, Handler: spec.Handler, Schedule: schedule}
		})
	}
	// A large argument is sent compressed.
	add(func(spec *contract.JobTypeSpec) {
		spec.Params = json.RawMessage(`{"text":"` + strings.Repeat("long ", 60_000) + `"}`)
	})
	apply(t, c, map[string]bool{"type-00": false}, specs...)
	plan := planOf(t, c, map[string]bool{"type-00": false}, specs...)
	assert.True(t, plan.Empty(), "%s", plan)
	assert.Len(t, plan.Changes, len(specs))

	// A removed setting gets its default.
	_, err := jobtypes.Of(c).Set(t.Context(), "type-11", map[string]json.RawMessage{"catchup_window": json.RawMessage(`"0s"`)})
	require.NoError(t, err)
	plan = planOf(t, c, map[string]bool{"type-00": false}, specs...)
	assert.True(t, plan.Empty(), "%s", plan)
}
