package group_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// after is a bench of a group in a lane that needs a success of dump, and the number of lookups.
func after(t *testing.T, last map[string]time.Time) (*bench, contract.JobTypeSpec, *int) {
	t.Helper()
	b, looks := newBench(t), 0
	b.SetStartTime(noon)
	b.RegisterActivityWithOptions(func(_ context.Context, in contract.SuccessesInput) (contract.SuccessesResult, error) {
		looks++
		assert.Equal(t, []string{"dump"}, in.JobTypes)
		return contract.SuccessesResult{Last: last}, nil
	}, activity.RegisterOptions{Name: contract.SuccessesActivity})
	spec := b.spec(jobtype.Policy{})
	spec.Lane, spec.Interval = "default", jobtype.Duration(24*time.Hour)
	spec.After = map[string]contract.AfterRule{"dump": {SucceededWithin: jobtype.Duration(time.Hour)}}
	return b, spec, &looks
}

// TestAGroupWaitsForAnotherType: it holds no lane until a success is reported.
func TestAGroupWaitsForAnotherType(t *testing.T) {
	t.Parallel()
	b, spec, looks := after(t, map[string]time.Time{"dump": noon.Add(-2 * time.Hour)})
	b.RegisterDelayedCallback(func() {
		status := b.status()
		require.NotNil(t, status.Wait)
		assert.Equal(t, string(contract.CodeAfter), status.Wait.Code)
		assert.Equal(t, "dump", status.Wait.Object)
		assert.Equal(t, "dump has no success of the last 1 h, the last one was at 2026-05-05T10:00:00Z", status.Wait.Detail)
		assert.WithinDuration(t, noon.Add(24*time.Hour-10*time.Second), status.Wait.Until, time.Second)
		assert.Empty(t, b.wanted(), "the lane was not requested")
		b.SignalWorkflow(contract.SignalSucceeded, contract.SucceededSignal{JobType: "other", At: b.Now()})
		b.SignalWorkflow(contract.SignalSucceeded, contract.SucceededSignal{JobType: "dump", At: b.Now()})
	}, 5*time.Hour)
	result := b.runSpec(spec)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, result.Reason)
	assert.WithinDuration(t, noon.Add(5*time.Hour), result.StartedAt, time.Second)
	assert.LessOrEqual(t, *looks, 11, "after 0, 1, 3, 7, 15, 31 and 63 minutes, and then hourly")
}

// TestAGroupStartsWhileItLooksUpSuccesses: the lookup within the workflow task fails, and the repeated one takes a minute.
func TestAGroupStartsWhileItLooksUpSuccesses(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.SetStartTime(noon)
	fails := true
	b.RegisterActivityWithOptions(func(context.Context, contract.SuccessesInput) (contract.SuccessesResult, error) {
		if fails {
			return contract.SuccessesResult{}, errors.New("the server is busy")
		}
		return contract.SuccessesResult{Last: map[string]time.Time{"dump": noon.Add(-2 * time.Hour)}}, nil
	}, activity.RegisterOptions{Name: contract.SuccessesActivity})
	spec := b.spec(jobtype.Policy{})
	spec.Interval = jobtype.Duration(24 * time.Hour)
	spec.After = map[string]contract.AfterRule{"dump": {SucceededWithin: jobtype.Duration(time.Hour)}}
	codes := map[time.Duration]string{}
	for _, at := range []time.Duration{30 * time.Second, 2 * time.Minute} {
		b.RegisterDelayedCallback(func() {
			status := b.status()
			require.NotNil(t, status.Wait)
			assert.Equal(t, "waiting", status.Phase)
			codes[at] = status.Wait.Code
		}, at)
	}
	b.RegisterDelayedCallback(func() { fails = false }, time.Minute)
	b.RegisterDelayedCallback(func() {
		b.SignalWorkflow(contract.SignalSucceeded, contract.SucceededSignal{JobType: "dump", At: b.Now()})
	}, 5*time.Minute)
	result := b.runSpec(spec)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, result.Reason)
	assert.Equal(t, map[time.Duration]string{30 * time.Second: string(contract.CodeStarting), 2 * time.Minute: string(contract.CodeAfter)}, codes)
}

func TestAGroupThatWaitsInVainIsSkippedBeforeItsNextTick(t *testing.T) {
	t.Parallel()
	b, spec, _ := after(t, nil)
	result := b.runSpec(spec)
	assert.Equal(t, contract.OutcomeSkipped, result.Outcome)
	assert.Equal(t, contract.CodeAfter, result.Code)
	assert.Equal(t, "AFTER_PENDING: dump has no success of the last 1 h", result.Reason)
	assert.WithinDuration(t, noon.Add(24*time.Hour-10*time.Second), result.EndedAt, time.Second)
}

func TestAGroupThatWaitsIsReleased(t *testing.T) {
	t.Parallel()
	b, spec, _ := after(t, nil)
	b.RegisterDelayedCallback(func() {
		b.SignalWorkflow(contract.SignalSetCalendar, contract.SetCalendarInput{IgnoreWindow: true})
	}, time.Hour)
	result := b.runSpec(spec)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, result.Reason)
	assert.True(t, result.IgnoredWindow)
}

// TestALookupFindsALostMessage: the success was before the run, and no message reports it.
func TestALookupFindsALostMessage(t *testing.T) {
	t.Parallel()
	last := map[string]time.Time{}
	b, spec, looks := after(t, last)
	b.RegisterDelayedCallback(func() { last["dump"] = b.Now() }, 30*time.Second)
	result := b.runSpec(spec)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, result.Reason)
	assert.Equal(t, 2, *looks)
	assert.WithinDuration(t, noon.Add(time.Minute), result.StartedAt, 2*time.Second)
}

// TestACompletedGroupWakesOthers: a failed group does not, and a group within the interval is skipped.
func TestACompletedGroupWakesOthers(t *testing.T) {
	t.Parallel()
	run := func(fails bool) (result contract.JobGroupResult, woken []contract.SucceededInput) {
		b := newBench(t)
		b.RegisterActivityWithOptions(func(_ context.Context, in contract.SucceededInput) error {
			woken = append(woken, in)
			return nil
		}, activity.RegisterOptions{Name: contract.SucceededActivity})
		if fails {
			b.workers = nil
		}
		spec := b.spec(jobtype.Policy{})
		spec.Interval, spec.AwaitedBy = jobtype.Duration(time.Hour), []string{"report"}
		return b.runSpec(spec), woken
	}
	result, woken := run(false)
	require.Len(t, woken, 1)
	assert.Equal(t, []string{"report"}, woken[0].AwaitedBy)
	assert.True(t, woken[0].At.Equal(result.Record.LastSuccess))
	_, woken = run(true)
	assert.Empty(t, woken, "a run that does not complete wakes nobody")

	b := newBench(t)
	b.SetStartTime(result.EndedAt.Add(time.Minute))
	b.SetLastCompletionResult(result)
	spec := b.spec(jobtype.Policy{})
	spec.RunIfNotSucceededFor = jobtype.Duration(time.Hour)
	again := b.runSpec(spec)
	assert.Equal(t, contract.OutcomeSkipped, again.Outcome)
	assert.Equal(t, contract.CodeNotDue, again.Code)
	assert.True(t, again.Record.LastSuccess.Equal(result.Record.LastSuccess), "it stays the last success")
}

// TestAGroupIsReleasedWhileItLooksUp: the lookup within the workflow task fails, and the repeated one takes a minute. A
// release meanwhile was ignored.
func TestAGroupIsReleasedWhileItLooksUp(t *testing.T) {
	t.Parallel()
	away := errors.New("the server is busy")
	for name, prepare := range map[string]func(b *bench, spec *contract.JobTypeSpec){
		"successes": func(b *bench, spec *contract.JobTypeSpec) {
			b.RegisterActivityWithOptions(func(context.Context, contract.SuccessesInput) (contract.SuccessesResult, error) {
				return contract.SuccessesResult{}, away
			}, activity.RegisterOptions{Name: contract.SuccessesActivity})
			spec.After = map[string]contract.AfterRule{"dump": {SucceededWithin: jobtype.Duration(time.Hour)}}
		},
		"windows": func(b *bench, spec *contract.JobTypeSpec) {
			b.RegisterActivityWithOptions(func(context.Context, contract.WindowsInput) (contract.WindowsResult, error) {
				return contract.WindowsResult{}, away
			}, activity.RegisterOptions{Name: contract.WindowsActivity})
			spec.Calendar = daily("22:00", "23:00", "UTC")
		},
	} {
		b := newBench(t)
		b.SetStartTime(noon)
		spec := b.spec(jobtype.Policy{})
		spec.Interval = jobtype.Duration(24 * time.Hour)
		prepare(b, &spec)
		b.RegisterDelayedCallback(func() {
			assert.Equal(t, string(contract.CodeStarting), b.status().Wait.Code, name)
			b.SignalWorkflow(contract.SignalSetCalendar, contract.SetCalendarInput{IgnoreWindow: true, By: "ann"})
		}, 30*time.Second)
		b.RegisterDelayedCallback(b.CancelWorkflow, time.Hour)
		result := b.runSpec(spec)
		assert.Equal(t, contract.OutcomeCompleted, result.Outcome, "%s: %s", name, result.Reason)
		assert.True(t, result.IgnoredWindow, name)
	}
}
