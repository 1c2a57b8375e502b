package explain

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
)

// TestNeedsOfAPerson: each code that waits for a person is listed once with its actions, others
// are not.
func TestNeedsOfAPerson(t *testing.T) {
	t.Parallel()
	var things []Thing
	for _, code := range Codes() {
		things = append(things, Thing{Kind: "thing", Name: string(code), Facts: fixtures()[code]})
	}
	var listed []contract.Code
	for _, need := range NeedsPerson(things) {
		assert.Equal(t, string(need.Code), need.Name)
		assert.NotEmpty(t, need.Actions, need.Code)
		listed = append(listed, need.Code)
	}
	assert.Equal(t, []contract.Code{
		contract.CodeControlPlaneDown, contract.CodeWorkflowStuck, contract.CodeApproval, contract.CodeParked, contract.CodeNoWorker, contract.CodeRetryBudget, contract.CodeUnreachable, contract.CodeCannotStart,
		contract.CodeNotInstalled, contract.CodeDiskFull, contract.CodeNoReceiver, contract.CodeReceiverFailing, contract.CodePaused, contract.CodeCordoned,
	}, listed)
	soon, late, never := task("a", contract.CodeApproval, "a"), task("b", contract.CodeApproval, "b"), task("c", contract.CodeApproval, "c")
	soon.Item.Waits[0].Until, never.Item.Waits[0].Until = now, now.AddDate(0, 0, 1)
	var order []string
	for _, need := range NeedsPerson([]Thing{{Name: "never", Facts: never}, {Name: "late", Facts: late}, {Name: "soon", Facts: soon}}) {
		order = append(order, need.Name)
	}
	assert.Equal(t, []string{"soon", "late", "never"}, order, "by deadline")
}

// TestNeedsAreListedOnce: a worker's state is listed with the worker only, and the state of a
// job type not with its run.
func TestNeedsAreListedOnce(t *testing.T) {
	t.Parallel()
	waiting := task("a", contract.CodeCannotStart, "node-a")
	assert.Empty(t, NeedsPerson([]Thing{{Kind: "run", Name: "r", Facts: waiting}}))
	lacking := fixtures()[contract.CodeNoWorker]
	ofType := Thing{Kind: "job type", Name: "scrub", JobType: "scrub", Facts: lacking}
	run := Thing{Kind: "run", Name: "group/scrub-1", JobType: "scrub", Facts: lacking}
	assert.Len(t, NeedsPerson([]Thing{run}), 1)
	both := NeedsPerson([]Thing{run, ofType})
	if assert.Len(t, both, 1) {
		assert.Equal(t, "scrub", both[0].Name)
	}
	since, until := time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC), time.Date(2026, 11, 20, 2, 30, 0, 0, time.UTC)
	waits := []Need{
		{Name: "scrub", JobType: "scrub", Reason: Reason{Code: contract.CodeNoWorker, Object: "x"}},
		{Name: "group/scrub-2", JobType: "scrub", Reason: Reason{Code: contract.CodeNoWorker, Object: "x", Since: since.Add(time.Hour)}},
		{Name: "group/scrub-1", JobType: "scrub", Reason: Reason{Code: contract.CodeNoWorker, Object: "x", Since: since, Until: until}},
	}
	merged := []Need{{Name: "scrub", JobType: "scrub", Reason: Reason{Code: contract.CodeNoWorker, Object: "x", Since: since, Until: until}}}
	assert.Equal(t, merged, once(slices.Values(waits), 3))
	unknown := Need{Name: "group/scrub-3", JobType: "scrub", Reason: Reason{Code: contract.CodeNoWorker, Object: "x"}}
	assert.Equal(t, merged, once(slices.Values(append(waits, unknown)), 4), "a run without a start")
}

// TestNeedsAreReadTwice: each was compared with all others, 10^8 comparisons for 10,000 job types.
func TestNeedsAreReadTwice(t *testing.T) {
	t.Parallel()
	const n = 10_000
	read := 0
	merged := once(func(yield func(Need) bool) {
		for k := range n {
			read += 2
			name := fmt.Sprintf("type-%d", k)
			run := Need{Name: "group/" + name + "-1", JobType: name, Reason: Reason{Code: contract.CodeNoWorker, Object: "x", Since: now}}
			if !yield(run) || !yield(Need{Name: name, JobType: name, Reason: Reason{Code: contract.CodeNoWorker, Object: "x"}}) {
				return
			}
		}
	}, n)
	require.Len(t, merged, n)
	assert.Equal(t, 2*2*n, read)
	for _, need := range merged {
		require.Equal(t, need.JobType, need.Name)
		require.Equal(t, now, need.Since)
	}
}

// TestNeedsOfTypesAreOrderedWithTheTimesOfTheirRuns: the deadline of a run orders its job type.
func TestNeedsOfTypesAreOrderedWithTheTimesOfTheirRuns(t *testing.T) {
	t.Parallel()
	lacking := func(name string, until time.Time) []Thing {
		wanted := []Wanted{{JobType: name, Handler: "h"}}
		return []Thing{
			{Kind: "job type", Name: name, JobType: name, Facts: Facts{Now: now, Type: &TypeFacts{Name: name, Wants: wanted}}},
			{Kind: "run", Name: "group/" + name + "-1", JobType: name, Facts: Facts{Now: now, Run: &RunFacts{
				ID: "group/" + name + "-1", JobType: name, Open: true, StartedAt: since,
				Answer: &RunAnswer{Phase: "waiting", Waits: []contract.WaitReason{{Code: string(contract.CodeNoWorker), Object: "h", Since: since, Until: until}}},
			}}},
		}
	}
	var order []string
	for _, need := range NeedsPerson(append(lacking("a-late", now.Add(time.Hour)), lacking("b-soon", now)...)) {
		order = append(order, need.Name)
	}
	assert.Equal(t, []string{"b-soon", "a-late"}, order)
}

func TestNobodyIsNeededOnlyIfAllIsKnown(t *testing.T) {
	t.Parallel()
	assert.Equal(t, NeedsStanding{State: "No one is needed", Role: "done"}, NeedsStandingOf(0, false))
	assert.Equal(t, NeedsStanding{State: "Not everything is known", Role: "unknown"}, NeedsStandingOf(0, true))
	assert.Equal(t, NeedsStanding{State: "1 needs you", Role: "person"}, NeedsStandingOf(1, true))
	assert.Equal(t, NeedsStanding{State: "20 need you", Role: "person"}, NeedsStandingOf(20, false))
}
