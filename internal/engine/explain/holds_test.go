package explain

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
)

func typeHold() contract.AdmissionHold {
	return contract.AdmissionHold{JobType: "scrub", Code: "RETRY_BUDGET", Since: since, Until: until, Detail: "disabled until then after 3 failures"}
}

func keyHold(code, key string) contract.AdmissionHold {
	return contract.AdmissionHold{JobType: "scrub", DedupeKey: key, Code: code, Since: since, Until: until, Detail: "held"}
}

// TestWhatIsHeldBackConcerns: a job by its key, a run by its omitted proposals or its refused
// start, a job type by everything.
func TestWhatIsHeldBackConcerns(t *testing.T) {
	t.Parallel()
	holds := []contract.AdmissionHold{typeHold(), keyHold("RETRY_BUDGET", "it's a"), keyHold("MARKED_DONE", "b")}
	run := &RunFacts{ID: "group/scrub-1", JobType: "scrub"}
	ended := func(outcome string) *RunFacts {
		return &RunFacts{ID: "group/scrub-1", JobType: "scrub", Outcome: outcome}
	}
	open := &RunFacts{ID: "group/scrub-1", JobType: "scrub", Open: true, Answer: &RunAnswer{
		Phase: "dispatching", Running: 1, HeldBack: []contract.AdmissionHold{keyHold("RETRY_BUDGET", "it's a"), keyHold("RETRY_BUDGET", "forgiven since")},
	}}
	for name, c := range map[string]struct {
		facts Facts
		want  []string
	}{
		"job type":             {Facts{Type: scrub()}, []string{"scrub", "it's a", "b"}},
		"failed job":           {Facts{Run: run, Item: &ItemFacts{State: "failed", Key: "it's a"}}, []string{"it's a"}},
		"job of another key":   {Facts{Run: run, Item: &ItemFacts{State: "failed", Key: "c"}}, nil},
		"completed job":        {Facts{Run: run, Item: &ItemFacts{State: "completed", Key: "b"}}, nil},
		"job not started":      {Facts{Run: run, Item: &ItemFacts{State: "not_started", Key: "c"}}, []string{"scrub"}},
		"skipped run":          {Facts{Run: ended("skipped")}, []string{"scrub"}},
		"completed run":        {Facts{Run: ended("completed")}, nil},
		"run that left it out": {Facts{Run: open}, []string{"it's a"}},
	} {
		c.facts.Now, c.facts.Holds = now, holds
		var objects []string
		for _, r := range Why(c.facts) {
			if r.Code == contract.CodeRetryBudget || r.Code == contract.CodeMarkedDone {
				objects = append(objects, r.Object)
				assert.Equal(t, since, r.Since)
				assert.Equal(t, until, r.Until)
			}
		}
		assert.Equal(t, c.want, objects, name)
	}
}

func TestTheRemedyCanBeTyped(t *testing.T) {
	t.Parallel()
	reasons := Why(Facts{Now: now, Run: &RunFacts{}, Item: &ItemFacts{State: "failed", Key: "it's a"}, Holds: []contract.AdmissionHold{keyHold("RETRY_BUDGET", "it's a")}})
	require.Len(t, reasons, 1)
	assert.Contains(t, reasons[0].Remedy, `roundsman resume --kind budget scrub:'it'\''s a'`)
}

func TestADetailBeginsWithAWord(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		TextGlobalLimit(3, 3, 0), TextPerWorker(2), TextNotBefore(since), TextHeldByLoss("node-a", false, ""), TextHeldByLoss("node-a", true, "no such program"), TextTarget("node-a", until, "it is OFFLINE"),
	} {
		assert.Regexp(t, `^[a-z]+ `, text)
	}
}

func TestAReasonHasItsHintAndNamesItsObject(t *testing.T) {
	t.Parallel()
	held := reasonOfHold(keyHold("RETRY_BUDGET", "a"))
	assert.Equal(t, "wait, or repair the cause", held.Hint)
	named := func(detail string) bool { return ordered([]Reason{{Object: "a", Detail: detail}})[0].Named }
	assert.True(t, named("it waits for a success of a"))
	assert.False(t, named("it waits for the next window"))
	assert.False(t, ordered([]Reason{{Detail: "the run has just been started"}})[0].Named, "no object")
}

func TestTheEndOfAHoldIsAField(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"RETRY_BUDGET", "MARKED_DONE"} {
		hold := contract.AdmissionHold{JobType: "scrub", Code: code, Since: since, Until: until, Failures: 2, By: "ann"}
		found := reasonOfHold(hold)
		assert.Equal(t, until, found.Until, code)
		assert.NotContains(t, found.Detail, "until", code)
	}
}
