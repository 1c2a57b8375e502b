package override

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

func TestPolicyChangeIsLaidOverAPolicy(t *testing.T) {
	t.Parallel()
	change, err := Parse([]string{"retry_limit=3", "max_runtime=1h30m", "interactive=true", "on_deadline=drain"})
	require.NoError(t, err)
	before := jobtype.DefaultPolicy().WithDefaults().WithDerived()
	after, err := change.Over(before)
	require.NoError(t, err)
	want := before
	want.RetryLimit, want.MaxRuntime, want.Interactive, want.OnDeadline = 3, jobtype.Duration(90*time.Minute), true, jobtype.DeadlineDrain
	assert.Equal(t, want, after)

	zero, err := Change{"retry_limit": json.RawMessage("0"), "interactive": json.RawMessage("false")}.Over(after)
	require.NoError(t, err)
	assert.Zero(t, zero.RetryLimit, "a zero counts, unlike in a handler's default policy")
	assert.False(t, zero.Interactive)
}

func TestConcurrencyOfDAGs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"concurrency=4": "", "global_execution_concurrency=4": "", "concurrency.load=4": "load"} {
		change, err := Parse([]string{text})
		require.NoError(t, err)
		fanOut, n, err := change.OfDAG()
		require.NoError(t, err)
		assert.Equal(t, want, fanOut)
		assert.Equal(t, 4, n)
		_, err = change.Over(jobtype.DefaultPolicy().WithDefaults().WithDerived())
		assert.Equal(t, want != "", err != nil, "a policy has no fan-outs: %s: %v", text, err)
	}
	_, _, err := Change{"concurrency": json.RawMessage("4")}.OfDAG()
	require.NoError(t, err, "as the API has it")
	for _, bad := range []Change{{}, {"retry_limit": json.RawMessage("4")}, {"concurrency.": json.RawMessage("4")}, {"concurrency": json.RawMessage(`"x"`)}} {
		_, _, err := bad.OfDAG()
		require.ErrorContains(t, err, "concurrency.FANOUT=N")
	}
	_, err = Parse([]string{"concurrency.load=many"})
	require.ErrorContains(t, err, `"many" is not a number`)
}

func TestSettingsHaveTheNamesOfTasks(t *testing.T) {
	t.Parallel()
	change, err := Parse([]string{"timeout=5m", "retries.limit=2", "retries.backoff=7s"})
	require.NoError(t, err)
	after, err := change.Over(jobtype.DefaultPolicy().WithDefaults().WithDerived())
	require.NoError(t, err)
	assert.Equal(t, 5*time.Minute, after.ExecutionTimeout.Std())
	assert.Equal(t, 2, after.RetryLimit)
	assert.Equal(t, 7*time.Second, after.RetryBackoff.Std())
	_, err = Parse([]string{"evry=1h"})
	require.ErrorContains(t, err, "evry is no setting of a job type: did you mean every?")
}

func TestPolicyChangeRefusesAllFaultsAtOnce(t *testing.T) {
	t.Parallel()
	_, err := Parse([]string{"retry_limt=3", "nonsense=1", "retry_limit=x", "max_runtime=soon", "interactive=perhaps", "=", "on_deadline", "retry_backoff=1s", "retry_backoff=2s", "every=1h", "every=2h", "concurrency.load=1", "concurrency.load=2", "params.a=1", "params.a=2"})
	require.Error(t, err)
	for _, want := range []string{
		"retry_limt is no setting of a job type: did you mean retry_limit?", "nonsense is no setting of a job type: use one of every, concurrency, timeout, ",
		`retry_limit: "x" is not a number`, `max_runtime: duration "soon"`, `interactive: "perhaps": write true or false`,
		`"on_deadline": write it as SETTING=VALUE`, "retry_backoff is given twice",
		"every is given twice", "concurrency.load is given twice", "params.a is given twice",
	} {
		assert.ErrorContains(t, err, want)
	}

	bad, err := Parse([]string{"retry_limit=999", "on_deadline=never"})
	require.NoError(t, err)
	before := jobtype.DefaultPolicy().WithDefaults().WithDerived()
	_, err = bad.Over(before)
	require.ErrorContains(t, err, "retry_limit: 999 is out of range")
	require.ErrorContains(t, err, "on_deadline")
}

// The API accepts JSON without Parse.
func TestAnIntervalOutOfRangeIsRefused(t *testing.T) {
	t.Parallel()
	for _, every := range []string{`"1ms"`, `"1500ms"`, `"0s"`, `"-1h"`, `"366d"`, `7`, `null`, `"soon"`} {
		_, err := Change{Every: json.RawMessage(every)}.OverSpec(contract.JobTypeSpec{Name: "tidy", Policy: jobtype.DefaultPolicy().WithDefaults().WithDerived()})
		assert.ErrorContains(t, err, "every: ", every)
	}
}

func TestAnotherIntervalIsSpreadAsTheOneBefore(t *testing.T) {
	t.Parallel()
	change, err := Parse([]string{"every=10m"})
	require.NoError(t, err)
	hour, minutes := jobtype.Duration(time.Hour), jobtype.Duration(10*time.Minute)
	for was, want := range map[jobtype.Duration]jobtype.Duration{
		contract.SpreadOffset("tidy", hour): contract.SpreadOffset("tidy", minutes),
		0:                                   0,
		jobtype.Duration(time.Minute):       jobtype.Duration(time.Minute),
		jobtype.Duration(30 * time.Minute):  0,
	} {
		spec := contract.JobTypeSpec{Name: "tidy", Schedule: contract.ScheduleSpec{Every: hour, Offset: was}, Policy: jobtype.DefaultPolicy().WithDefaults().WithDerived()}
		after, err := change.OverSpec(spec)
		require.NoError(t, err)
		assert.Equal(t, want, after.Schedule.Offset, "%s", was)
	}
}

// A catch-up window of one interval follows the interval; a chosen one stays.
func TestACatchupWindowOfOneIntervalFollowsTheInterval(t *testing.T) {
	t.Parallel()
	hour, minutes := jobtype.Duration(time.Hour), jobtype.Duration(10*time.Minute)
	for _, c := range []struct {
		was, want jobtype.Duration
		settings  []string
	}{
		{hour, minutes, []string{"every=10m"}},
		{5 * minutes, 5 * minutes, []string{"every=10m"}},
		{hour, 2 * hour, []string{"every=10m", "catchup_window=2h"}},
		{hour, hour, []string{"max_runtime=3m"}},
	} {
		change, err := Parse(c.settings)
		require.NoError(t, err)
		spec := contract.JobTypeSpec{Name: "tidy", Interval: hour, Schedule: contract.ScheduleSpec{Every: hour}, Policy: jobtype.DefaultPolicy().WithDefaults().WithDerived()}
		spec.Policy.CatchupWindow = c.was
		after, err := change.OverSpec(spec)
		require.NoError(t, err)
		assert.Equal(t, c.want, after.Policy.CatchupWindow, "%s %v", c.was, c.settings)
	}
}

// The defaults of stop_after and of stall_timeout depend on other settings. Configured values stay.
func TestDerivedSettingsFollow(t *testing.T) {
	t.Parallel()
	set := func(policy jobtype.Policy, settings ...string) jobtype.Policy {
		change, err := Parse(settings)
		require.NoError(t, err)
		spec, err := change.OverSpec(contract.JobTypeSpec{Name: "tidy", Policy: policy})
		require.NoError(t, err)
		return spec.Policy
	}
	before := jobtype.DefaultPolicy().WithDefaults().WithDerived()
	stop := set(before, "on_disconnect=stop")
	assert.Equal(t, jobtype.StopAfter(before.HeartbeatTimeout), stop.StopAfter)
	slower := set(stop, "heartbeat_timeout=2m")
	assert.Equal(t, jobtype.StopAfter(jobtype.Duration(2*time.Minute)), slower.StopAfter)
	assert.Equal(t, slower.HeartbeatTimeout, slower.StallTimeout)
	assert.Zero(t, set(slower, "on_disconnect=continue").StopAfter)
	assert.Equal(t, jobtype.DefaultActivityStall, set(before, "liveness=activity").StallTimeout)

	written := set(before, "on_disconnect=stop", "stop_after=3s", "stall_timeout=7s")
	written = set(written, "heartbeat_timeout=20s", "liveness=activity")
	assert.Equal(t, []jobtype.Duration{jobtype.Duration(3 * time.Second), jobtype.Duration(7 * time.Second)}, []jobtype.Duration{written.StopAfter, written.StallTimeout})
}

// Params can be nested, have JSON types, and null removes one.
func TestParamsOfAJobType(t *testing.T) {
	t.Parallel()
	change, err := Parse([]string{"params.worker.garbage_threshold=0.4", "params.admin.collection_filter=photos", "params.old=null", "retry_limit=2"})
	require.NoError(t, err)
	require.True(t, change.HasParams())
	spec := contract.JobTypeSpec{Name: "vacuum", Params: json.RawMessage(`{"old":1,"worker":{"keep":true}}`), Policy: jobtype.DefaultPolicy().WithDefaults().WithDerived()}
	after, err := change.OverSpec(spec)
	require.NoError(t, err)
	assert.JSONEq(t, `{"admin":{"collection_filter":"photos"},"worker":{"keep":true,"garbage_threshold":0.4}}`, string(after.Params))
	assert.Equal(t, 2, after.Policy.RetryLimit)
	assert.JSONEq(t, `{"old":1,"worker":{"keep":true}}`, string(spec.Params))

	spec.Params = json.RawMessage(`{"id":9007199254740993,"ratio":1.0}`)
	after, err = Change{"params.serial": json.RawMessage("12345678901234567890")}.OverSpec(spec)
	require.NoError(t, err)
	assert.Equal(t, `{"id":9007199254740993,"ratio":1.0,"serial":12345678901234567890}`, string(after.Params))

	spec.Params = json.RawMessage(`{"old":1}`)
	_, err = Change{"params.old.x": json.RawMessage("1")}.OverSpec(spec)
	require.ErrorContains(t, err, "params.old.x: old is a value, not a section")
	_, err = Change{"params.a": json.RawMessage("1")}.OverSpec(contract.JobTypeSpec{DAG: &contract.DAGSource{}})
	require.ErrorContains(t, err, "start -p")
	_, err = Parse([]string{"params.=1"})
	require.ErrorContains(t, err, "params.NAME=VALUE")
	_, err = change.Over(spec.Policy)
	require.Error(t, err, "a run has no params of its own")
}

// Removing a param that is not there leaves no empty section behind, which a handler would take for a param.
func TestRemovingAnAbsentParamAddsNothing(t *testing.T) {
	t.Parallel()
	spec := contract.JobTypeSpec{Name: "vacuum", Policy: jobtype.DefaultPolicy().WithDefaults().WithDerived(), Params: json.RawMessage(`{"a":{"b":1}}`)}
	change, err := Parse([]string{"params.worker.garbage_threshold=null", "params.a.c.d=null", "params.a.b=null"})
	require.NoError(t, err)
	changed, err := change.OverSpec(spec)
	require.NoError(t, err)
	assert.JSONEq(t, `{"a":{}}`, string(changed.Params))
	change, err = Parse([]string{"params.a.b.c=null"})
	require.NoError(t, err)
	_, err = change.OverSpec(spec)
	require.ErrorContains(t, err, "b is a value, not a section")
}
