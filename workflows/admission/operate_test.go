package admission_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdktest "go.temporal.io/sdk/testsuite"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

const hour = jobtype.Duration(time.Hour)

func failed(id string, attempts ...string) contract.AdmissionRequest {
	in := from(id)
	in.JobType, in.Budget = "scrub", budgeted(2, 4)
	endings := contract.AdmissionEndings{At: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	for _, attempt := range attempts {
		endings.Failed = append(endings.Failed, contract.AdmissionFailure{DedupeKey: "a", Attempt: attempt, At: time.Now(), Error: "no such disk"})
	}
	in.Endings = []contract.AdmissionEndings{endings}
	return in
}

// operate sends an update and passes its result, or its refusal, to see.
func (b *model) operate(after time.Duration, name string, input any, see func(result contract.HoldResult, err error)) {
	answered := false
	b.RegisterDelayedCallback(func() {
		b.UpdateWorkflow(name, name+after.String(), &sdktest.TestUpdateCallback{
			OnAccept: func() {},
			OnReject: func(err error) { answered = true; see(contract.HoldResult{}, err) },
			OnComplete: func(result any, err error) {
				held, _ := result.(contract.HoldResult)
				answered = true
				see(held, err)
			},
		}, input)
	}, after)
	b.t.Cleanup(func() { assert.True(b.t, answered, "%s was not answered", name) })
}

func (b *model) holds() []string {
	answer, err := b.QueryWorkflow(contract.QueryHolds, contract.HoldsInput{JobType: "scrub"})
	require.NoError(b.t, err)
	var result contract.HoldsResult
	require.NoError(b.t, answer.Get(&result))
	assert.Len(b.t, result.Holds, result.Total)
	list := []string{}
	for _, held := range result.Holds {
		list = append(list, held.Code+" "+held.DedupeKey)
	}
	return list
}

func TestOperatorsOfWhatIsHeldBack(t *testing.T) {
	t.Parallel()
	b := newModel(t)
	now := b.Now()
	report := failed("g", "job-00001.1", "job-00001.2")
	for i := range report.Endings[0].Failed {
		report.Endings[0].Failed[i].At = now
	}
	b.at(time.Second, report)
	refused := func(says string) func(contract.HoldResult, error) {
		return func(_ contract.HoldResult, err error) { assert.ErrorContains(t, err, says) }
	}
	b.operate(2*time.Second, contract.UpdateReEnable, contract.ReEnableInput{}, refused("name the job type"))
	b.operate(2*time.Second, contract.UpdateForgive, contract.ForgiveInput{JobType: "scrub"}, refused("name a job type and a key"))
	b.operate(2*time.Second, contract.UpdateMarkDone, contract.MarkDoneInput{JobType: "scrub"}, refused("name a job type and a key"))
	b.operate(2*time.Second+time.Millisecond, contract.UpdateReEnable, contract.ReEnableInput{JobType: "scrub"}, refused("job type scrub is not disabled"))
	b.operate(2*time.Second+time.Millisecond, contract.UpdateForgive, contract.ForgiveInput{JobType: "scrub", DedupeKey: "b"}, refused("nothing is held against"))
	b.operate(2*time.Second+time.Millisecond, contract.UpdateMarkDone, contract.MarkDoneInput{JobType: "scrub", DedupeKey: "b", For: -1}, refused("use 1s to"))
	var seen [][]string
	b.RegisterDelayedCallback(func() { seen = append(seen, b.holds()) }, 3*time.Second)
	b.operate(4*time.Second, contract.UpdateReEnable, contract.ReEnableInput{JobType: "scrub", DedupeKey: "a", By: "ann"}, func(result contract.HoldResult, err error) {
		assert.NoError(t, err)
		assert.Nil(t, result.After)
		if assert.NotNil(t, result.Before) {
			assert.Contains(t, result.Before.String(), "after 2 failures within 1h; the last one: no such disk")
			assert.Equal(t, budgeted(2, 0).PerKey, result.Before.Rule)
		}
	})
	b.operate(5*time.Second, contract.UpdateMarkDone, contract.MarkDoneInput{JobType: "scrub", DedupeKey: "a", By: "ann"}, func(result contract.HoldResult, err error) {
		assert.NoError(t, err)
		if assert.NotNil(t, result.After) {
			assert.Equal(t, 24*time.Hour, result.After.Until.Sub(result.After.Since))
			assert.Equal(t, "ann", result.After.By)
		}
	})
	b.RegisterDelayedCallback(func() { seen = append(seen, b.holds()) }, 6*time.Second)
	b.operate(7*time.Second, contract.UpdateForgive, contract.ForgiveInput{JobType: "scrub", DedupeKey: "a"}, func(result contract.HoldResult, err error) {
		assert.NoError(t, err)
		assert.NotNil(t, result.Before)
		assert.Nil(t, result.After)
	})
	b.RegisterDelayedCallback(func() { seen = append(seen, b.holds()) }, 8*time.Second)
	b.play(contract.AdmissionInput{})
	assert.Equal(t, [][]string{{"RETRY_BUDGET a"}, {"MARKED_DONE a"}, {}}, seen)
}

// TestHoldsThatHaveEndedAreOnNoPage: the clock of the workflow stops between its events, so the query has the time.
func TestHoldsThatHaveEndedAreOnNoPage(t *testing.T) {
	t.Parallel()
	b := newModel(t)
	for i, key := range []string{"a", "b", "c", "d"} {
		mark := contract.MarkDoneInput{JobType: "scrub", DedupeKey: key, For: hour * jobtype.Duration(1+i%2*2)}
		b.operate(time.Duration(i+1)*time.Second, contract.UpdateMarkDone, mark, func(_ contract.HoldResult, err error) { assert.NoError(t, err) })
	}
	var pages []contract.HoldsResult
	b.RegisterDelayedCallback(func() {
		for offset := range 3 {
			answer, err := b.QueryWorkflow(contract.QueryHolds, contract.HoldsInput{At: b.Now().Add(2 * time.Hour), Offset: offset, Limit: 1})
			require.NoError(t, err)
			var page contract.HoldsResult
			require.NoError(t, answer.Get(&page))
			pages = append(pages, page)
		}
	}, 5*time.Second)
	b.play(contract.AdmissionInput{})
	require.Len(t, pages, 3)
	for i, key := range []string{"b", "d"} {
		assert.Equal(t, 2, pages[i].Total)
		require.Len(t, pages[i].Holds, 1)
		assert.Equal(t, key, pages[i].Holds[0].DedupeKey)
	}
	assert.Empty(t, pages[2].Holds)
}

// TestAdmissionInheritsWhatOperatorsSaid: a new admission inherits holds from one that was
// terminated, and its view reports a failure to do so.
func TestAdmissionInheritsWhatOperatorsSaid(t *testing.T) {
	t.Parallel()
	first := newModel(t)
	first.operate(time.Second, contract.UpdateMarkDone, contract.MarkDoneInput{JobType: "scrub", DedupeKey: "a"}, func(_ contract.HoldResult, err error) { assert.NoError(t, err) })
	var left contract.DurableResult
	first.RegisterDelayedCallback(func() {
		answer, err := first.QueryWorkflow(contract.QueryDurable)
		require.NoError(t, err)
		require.NoError(t, answer.Get(&left))
	}, 2*time.Second)
	first.play(contract.AdmissionInput{})

	for _, c := range []struct {
		in    contract.Inherited
		holds []string
		fault string
	}{
		{contract.Inherited{Data: left.Data, From: "run-1"}, []string{"MARKED_DONE a"}, ""},
		{contract.Inherited{Fault: "its history is gone", From: "run-1"}, []string{}, "its history is gone"},
		{contract.Inherited{Data: []byte("garbage"), From: "run-1"}, []string{}, "cannot be read"},
	} {
		next := newModel(t)
		next.SetStartTime(first.Now())
		next.RegisterDelayedCallback(func() {
			assert.Equal(t, c.holds, next.holds())
			answer, err := next.QueryWorkflow(contract.QueryAdmission)
			require.NoError(t, err)
			var view contract.AdmissionView
			require.NoError(t, answer.Get(&view))
			if assert.NotNil(t, view.Inherited) {
				assert.Equal(t, "run-1", view.Inherited.From)
				assert.Contains(t, view.Inherited.Fault, c.fault)
				assert.Empty(t, view.Inherited.Data)
			}
		}, time.Second)
		next.play(contract.AdmissionInput{Inherited: c.in})
	}
}

func budgeted(perKey, perType int) *contract.RetryBudget {
	rule := func(count int) *contract.RetryBudgetRule {
		if count == 0 {
			return nil
		}
		return &contract.RetryBudgetRule{Count: count, Window: hour, DisableFor: hour}
	}
	return &contract.RetryBudget{PerKey: rule(perKey), PerType: rule(perType)}
}

// TestAdmissionTells: a resize of a pool, and a recovery with a holder, are recorded.
func TestAdmissionTells(t *testing.T) {
	t.Parallel()
	b := newModel(t)
	b.running = []string{"group/holds"}
	b.RegisterDelayedCallback(func() {
		b.UpdateWorkflow(contract.UpdateResizePool, "1", &sdktest.TestUpdateCallback{
			OnAccept: func() {}, OnReject: func(err error) { assert.NoError(t, err) }, OnComplete: func(any, error) {},
		}, contract.ResizePoolInput{Pool: "db", Size: 6, By: "ann"})
	}, 3*time.Second)
	b.play(contract.AdmissionInput{Inherited: contract.Inherited{From: "run-1"}})
	require.ElementsMatch(t, []string{"noticed ADMISSION_RECOVERING admission", "pool.resize  pool/db", "admission.cancel CANCEL_IGNORED admission"}, b.audited())
	for _, e := range b.audit {
		if e.Action == "pool.resize" {
			assert.Equal(t, []string{"ann", "size: 1", "size: 6 (resized)"}, []string{e.Actor, e.Before, e.After})
		}
	}
}

// audited returns one line per audit entry.
func (b *model) audited() (list []string) {
	for _, e := range b.audit {
		list = append(list, e.Action+" "+e.Code+" "+e.Object)
	}
	return list
}

// TestAdmissionAnswersACallAtOnce: an immediate decision is returned by the call and not sent as
// a signal; a requester that must wait gets a signal.
func TestAdmissionAnswersACallAtOnce(t *testing.T) {
	t.Parallel()
	b := newModel(t)
	var answers []contract.AdmissionAnswer
	call := func(after time.Duration, in contract.AdmissionRequest) {
		b.RegisterDelayedCallback(func() {
			b.UpdateWorkflow(contract.UpdateAdmissionRequest, fmt.Sprint(after), &sdktest.TestUpdateCallback{
				OnAccept: func() {}, OnReject: func(error) { answers = append(answers, contract.AdmissionAnswer{}) },
				OnComplete: func(result any, err error) {
					assert.NoError(t, err)
					answer, ok := result.(contract.AdmissionAnswer)
					assert.True(t, ok)
					answers = append(answers, answer)
				},
			}, in)
		}, after)
	}
	a, z := wants("a", laneItem()), wants("z", laneItem())
	call(time.Second, a)
	call(2*time.Second, a)
	call(3*time.Second, z)
	call(4*time.Second, contract.AdmissionRequest{})
	release := from("a")
	release.ReleaseAll = true
	b.at(5*time.Second, release)
	b.play(contract.AdmissionInput{})
	require.Len(t, answers, 4)
	require.Len(t, answers[0].Granted, 1)
	assert.Equal(t, a.Holder, answers[0].Holder)
	assert.Equal(t, answers[0], answers[1], "a repeat gets the same grant")
	assert.Equal(t, contract.AdmissionAnswer{Holder: z.Holder}, answers[2])
	assert.Empty(t, answers[3], "a request without a holder is refused")
	assert.Equal(t, []string{"z granted lane"}, b.told)
}

// TestACallAndItsRepeatInOneWorkflowTask: a caller without a timely answer repeats its request as a signal and reads no
// answer of the call any more. If both are handled in one workflow task, a signal has the answer, too.
func TestACallAndItsRepeatInOneWorkflowTask(t *testing.T) {
	t.Parallel()
	b := newModel(t)
	granted := 0
	b.RegisterDelayedCallback(func() {
		b.SignalWorkflowSkippingWorkflowTask(contract.SignalAdmissionRequest, wants("a", laneItem()))
		b.UpdateWorkflow(contract.UpdateAdmissionRequest, "late", &sdktest.TestUpdateCallback{
			OnAccept: func() {}, OnReject: func(err error) { assert.NoError(t, err) },
			OnComplete: func(result any, err error) {
				assert.NoError(t, err)
				if answer, ok := result.(contract.AdmissionAnswer); assert.True(t, ok) {
					granted = len(answer.Granted)
				}
			},
		}, wants("a", laneItem()))
	}, time.Second)
	b.play(contract.AdmissionInput{})
	assert.Positive(t, granted)
	assert.Contains(t, b.told, "a granted lane")
}
