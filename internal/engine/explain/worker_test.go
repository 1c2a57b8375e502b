package explain

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/action"
)

func codes(reasons []Reason) []contract.Code {
	var list []contract.Code
	for _, one := range reasons {
		list = append(list, one.Code)
	}
	return list
}

func atWork(state contract.WorkerState, jobs ...string) *WorkerFacts {
	report := &contract.WorkerReport{Executing: len(jobs), Caps: contract.WorkerCaps{MaxExecute: 2}}
	for i, id := range jobs {
		report.Jobs = append(report.Jobs, contract.WorkerJob{JobID: id, GroupID: "group/scrub-1", StartedAt: since.Add(time.Duration(i) * time.Second)})
	}
	return &WorkerFacts{WorkerDetail: node("node-a", state, true), Report: report}
}

func TestAWorkerSaysWhatItRuns(t *testing.T) {
	t.Parallel()
	full := Why(Facts{Worker: atWork(contract.WorkerOnline, "job-00001", "job-00002")})
	require.Equal(t, []contract.Code{contract.CodeSlots}, codes(full))
	assert.Equal(t, "node-a", full[0].Object)
	assert.Equal(t, since.Add(time.Second), full[0].Since, "when the last slot was taken")
	assert.Equal(t, "2 of 2 slots are in use: group/scrub-1/job-00001, group/scrub-1/job-00002", full[0].Detail)
	assert.Empty(t, Why(Facts{Worker: atWork(contract.WorkerOnline, "job-00001")}), "it can get more")

	drained := atWork(contract.WorkerDraining, "job-00001")
	drained.Kept = contract.WorkerTransition{At: since.Add(time.Second), To: contract.WorkerDraining, By: "ann@host", Note: "new disk"}
	drained.Transitions = []contract.WorkerTransition{drained.Kept, {At: since.Add(time.Minute), To: contract.WorkerDraining, Reason: "registered as a new process"}}
	kept := Why(Facts{Worker: drained})
	require.Equal(t, []contract.Code{contract.CodeCordoned}, codes(kept))
	assert.Equal(t, since.Add(time.Second), kept[0].Since)
	assert.Equal(t, "it is draining, by ann@host: new disk; it still runs 1 job: group/scrub-1/job-00001", kept[0].Detail)

	gone := &WorkerFacts{WorkerDetail: node("node-a", contract.WorkerOffline, false)}
	gone.Cause = contract.WorkerTransition{At: since, To: contract.WorkerOffline, Reason: "it said goodbye"}
	gone.Transitions = []contract.WorkerTransition{gone.Cause, {At: since, To: contract.WorkerOffline, Reason: "resized"}}
	assert.Contains(t, Why(Facts{Worker: gone})[0].Detail, "it is offline (it said goodbye); its last heartbeat")
	gone.Mode, gone.Kept = "cordoned", contract.WorkerTransition{At: since, To: contract.WorkerOffline, By: "ann", Reason: "cordoned"}
	both := Why(Facts{Worker: gone})
	require.Equal(t, []contract.Code{contract.CodeUnreachable, contract.CodeCordoned}, codes(both))
	assert.Equal(t, "it will be cordoned when it is back, by ann", both[1].Detail)

	down := Why(Facts{Worker: atWork(contract.WorkerOnline), Down: "query workers of fleet was not answered"})
	assert.Equal(t, []contract.Code{contract.CodeControlPlaneDown}, codes(down), "nobody knows whether it is idle")

	silent := &WorkerFacts{WorkerDetail: node("node-a", contract.WorkerOnline, true), Silent: "its process does not answer"}
	silent.LastBeat = since // Its registration: single beats are not reported.
	reasons := Why(Facts{Worker: silent})
	require.Equal(t, []contract.Code{contract.CodeUnreachable}, codes(reasons))
	assert.Zero(t, reasons[0].Since, "since when it is silent is not known")
}

func TestAnIdleWorkerSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	due, later, other := *scrub(), *scrub(), TypeFacts{Name: "gzip", Wants: []Wanted{{JobType: "gzip", Handler: "command"}}, Next: now}
	due.Name, due.Next, later.Next = "trim", now.Add(time.Minute), now.Add(time.Hour)
	for detail, types := range map[string][]TypeFacts{
		"it could run 2 jobs, but has no work: no applied job type uses its handlers (scrub)":                        {other},
		"it could run 2 jobs, but has no work: none of its job types is due (scrub)":                                 {*scrub(), other},
		"it could run 2 jobs, but has no work: of its job types trim is due next, at " + stamp(now.Add(time.Minute)): {later, due, other},
	} {
		idle := atWork(contract.WorkerOnline)
		idle.Types = types
		reasons := Why(Facts{Worker: idle})
		require.Equal(t, []contract.Code{contract.CodeIdle}, codes(reasons))
		assert.Equal(t, detail, reasons[0].Detail)
	}
}

// TestWhoIsMissing: only the workers that could serve are named.
func TestWhoIsMissing(t *testing.T) {
	t.Parallel()
	f := waits(contract.WaitReason{Code: string(contract.CodeNoWorker), Object: "scrub disk=ssd", Since: since, Detail: "because"})
	labelled := node("b", contract.WorkerCordoned, true)
	labelled.Registration.Labels = map[string]string{"disk": "ssd"}
	restricted := node("c", contract.WorkerOffline, true)
	restricted.Registration.Labels, restricted.Registration.JobTypes = labelled.Registration.Labels, []string{"gzip"}
	f.Workers = []contract.WorkerDetail{node("a", contract.WorkerOffline, true), labelled, restricted, node("d", contract.WorkerOnline, true)}
	reasons := Why(f)
	require.Equal(t, []contract.Code{contract.CodeNoWorker, contract.CodeCordoned}, codes(reasons))
	assert.Equal(t, "b", reasons[1].Object)
}

// TestATypeIsAllItsRuns: each run is named, and equal reasons are listed once.
func TestATypeIsAllItsRuns(t *testing.T) {
	t.Parallel()
	lane := func(id string) RunFacts {
		return RunFacts{ID: id, JobType: "scrub", Open: true, Answer: &RunAnswer{Phase: "waiting", Waits: []contract.WaitReason{{Code: "LANE_BUSY", Object: "default", Since: since, Detail: "it waits"}}}}
	}
	full := ItemFacts{ID: "job-00007", State: "pending", Waits: []contract.WaitReason{{Code: "ALL_SLOTS_FULL", Object: "node-a", Since: since, Detail: "busy"}}}
	stuck := RunFacts{ID: "group/adhoc", JobType: "scrub", Open: true, Answer: &RunAnswer{Phase: "dispatching"}, Pending: []ItemFacts{full}}
	paused := scrub()
	paused.Paused, paused.PauseNote = true, "disks"
	f := Facts{Type: paused, Runs: []RunFacts{lane("group/scrub-1"), lane("group/scrub-2"), stuck}, MoreRuns: 3}
	assert.Equal(t, "waiting", State(f))
	reasons := Why(f)
	require.Equal(t, []contract.Code{contract.CodePaused, contract.CodeLaneBusy, contract.CodeSlots}, codes(reasons))
	assert.Equal(t, []string{"", "group/scrub-1", "group/adhoc/job-00007"}, []string{reasons[0].Of, reasons[1].Of, reasons[2].Of})
	assert.Equal(t, "it waits (and 1 more wait for it)", reasons[1].Detail)
	assert.Equal(t, "busy; 3 more runs were not looked at", reasons[2].Detail)
	f.Runs[2].Answer.Running = 1
	assert.Equal(t, "running", State(f))
}

func TestTheLimitOfAFanOutIsSetInItsRun(t *testing.T) {
	t.Parallel()
	reasons := Why(task("load.a", contract.CodeConcurrency, "load"))
	require.Len(t, reasons, 1)
	assert.Equal(t, "load", reasons[0].Object)
	assert.Equal(t, "wait, or `roundsman set dag/nightly/r concurrency.load=N`", reasons[0].Remedy)
}

func TestARunOfADAGNamesTheCommandsThatHelp(t *testing.T) {
	t.Parallel()
	object := map[contract.Code]string{contract.CodeApproval: "x", contract.CodeUpstream: "x", contract.CodeParked: "x"}
	for code, remedy := range map[contract.Code]string{
		contract.CodeApproval:    "`roundsman approve dag/nightly/r/x`, or `roundsman reject dag/nightly/r/x`",
		contract.CodeUpstream:    "see `roundsman explain dag/nightly/r/x`",
		contract.CodePaused:      "`roundsman resume dag/nightly/r`",
		contract.CodeParked:      "`roundsman retry dag/nightly/r`, or `roundsman skip dag/nightly/r/x`, or `roundsman resume dag/nightly/r`",
		contract.CodeConcurrency: "wait, or `roundsman set dag/nightly/r concurrency=N`",
		contract.CodeSleeping:    "wait, or `roundsman cancel dag/nightly/r/x`",
	} {
		reasons := Why(task("x", code, object[code]))
		require.Len(t, reasons, 1)
		assert.Equal(t, remedy, reasons[0].Remedy)
	}
	blocked := task("x", contract.CodeUpstream, "load, trim")
	blocked.Item.State = "upstream_failed"
	assert.Equal(t, "`roundsman retry dag/nightly/r`; see `roundsman explain dag/nightly/r/load`", Why(blocked)[0].Remedy)

	alone := task("", contract.CodeNotBefore, "")
	alone.Run.Answer.Waits[0].Items, alone.Run.Answer.Waits[0].Item = 1, "load"
	assert.Equal(t, "wait, or `roundsman cancel dag/nightly/r/load`", Why(alone)[0].Remedy)
	alone.Run.Answer.Waits[0].Items = 2
	assert.Equal(t, "wait, or `roundsman cancel dag/nightly/r/ITEM`", Why(alone)[0].Remedy, "a person chooses")

	ended := task("", contract.CodeParked, "x")
	assert.Equal(t, "waiting", State(ended))
	ended.Run.Answer.More = 2
	assert.Equal(t, "because (and 2 more reasons of other tasks)", Why(ended)[0].Detail)
	ended.Run.Open, ended.Run.Outcome = false, "failed"
	assert.Empty(t, Why(ended))
	assert.Equal(t, "failed", State(ended))
}

func TestInnerRunsAreNamed(t *testing.T) {
	t.Parallel()
	f := Facts{Item: &ItemFacts{State: "running"}, Run: &RunFacts{ID: "group/scrub-1", Open: true}}
	f.Inner = []Inner{{Name: "group/scrub-1/job-00001", Reasons: Why(task("", contract.CodeApproval, "ok"))}}
	reasons := Why(f)
	require.Len(t, reasons, 1)
	assert.Equal(t, "group/scrub-1/job-00001", reasons[0].Of)
}

// TestWorkThatNobodyHasTakenYet: the group reports it as running, but it waits.
func TestWorkThatNobodyHasTakenYet(t *testing.T) {
	t.Parallel()
	sent := func(worker *WorkerFacts) Facts {
		return Facts{Run: &RunFacts{ID: "group/scrub-2", Open: true}, Item: &ItemFacts{State: "running"}, Taker: worker, SentAt: since}
	}
	for detail, f := range map[string]Facts{
		"it was sent there, where 2 of 2 slots are in use: group/scrub-1/a, group/scrub-1/b; not taken within 5 s it is placed again": sent(atWork(contract.WorkerOnline, "a", "b")),
		"it was sent to worker node-a, which has not taken it yet":                                                                    sent(atWork(contract.WorkerOnline, "a")),
		// The registry decides whether the worker is away.
		"it was sent to worker node-b, which has not taken it yet":                  sent(&WorkerFacts{WorkerDetail: node("node-b", contract.WorkerOnline, true), Silent: "it is silent"}),
		"it lies in the shared queue, and no worker that pulls it has taken it yet": sent(&WorkerFacts{}),
	} {
		reasons := Why(f)
		require.Len(t, reasons, 1)
		assert.Equal(t, detail, reasons[0].Detail)
		assert.Equal(t, since, reasons[0].Since)
		assert.Equal(t, "assigned", State(f))
	}
}

// TestWorkflowsThatArePausedInTemporal: the pause is the reason for missing responses.
func TestWorkflowsThatArePausedInTemporal(t *testing.T) {
	t.Parallel()
	f := Facts{Run: &RunFacts{ID: "group/scrub-1", Open: true}, Frozen: []FrozenFacts{{ID: "group/scrub-1", By: "ann", Note: "wait", Since: since}}}
	reasons := Why(f)
	require.Len(t, reasons, 1)
	assert.Equal(t, "paused", State(f))
	assert.Equal(t, Reason{
		Code: contract.CodePaused, Object: "group/scrub-1", Targets: []Target{{Run: "group/scrub-1"}}, Named: true, Runs: []Holder{{Run: "group/scrub-1"}}, Since: since, Detail: "workflow group/scrub-1 is paused in Temporal itself by ann: wait",
		Remedy: "`temporal workflow unpause --workflow-id group/scrub-1`", Actions: []action.Action{about(action.UnpauseWorkflow, "workflow", "group/scrub-1")},
		Actor: "an administrator of Temporal, in a shell",
	}, reasons[0])
}

// TestDoubtedWorkersThatAreFull: the report of a worker's process explains why it did not start
// work.
func TestDoubtedWorkersThatAreFull(t *testing.T) {
	t.Parallel()
	f := waits(contract.WaitReason{Code: string(contract.CodeUnreachable), Object: "node-a, node-b", Since: since, Detail: "probed"})
	assert.Equal(t, []string{"node-a", "node-b"}, []string{Why(f)[0].Object, Why(f)[1].Object})
	f.Item.Waits[0].Object = NameSome(strings.Split("a b c d e f g h i j k", " "))
	assert.Equal(t, "j", Why(f)[MaxNamed-1].Object)
	assert.Len(t, Why(f), MaxNamed, "the mark for the rest is no worker")
	f.Item.Waits[0].Object = "node-a, node-b"
	f.Asked = map[string]WorkerFacts{"node-a": *atWork(contract.WorkerOnline, "a", "b"), "node-b": *atWork(contract.WorkerOnline, "a")}
	reasons := Why(f)
	require.Equal(t, []contract.Code{contract.CodeUnreachable, contract.CodeSlots}, codes(reasons))
	assert.Equal(t, []string{"node-b", "node-a"}, []string{reasons[0].Object, reasons[1].Object})
	assert.Equal(t, "2 of 2 slots are in use: group/scrub-1/a, group/scrub-1/b", reasons[1].Detail)
	assert.Equal(t, since, reasons[1].Since)
}

func TestNothingToWaitFor(t *testing.T) {
	t.Parallel()
	run := func(state, outcome string) Facts {
		return Facts{Run: &RunFacts{ID: "group/scrub-1", Open: outcome == "", Outcome: outcome, Answer: &RunAnswer{Phase: state}}}
	}
	for want, f := range map[string]Facts{
		"it has work and could take more":                 {Worker: atWork(contract.WorkerOnline, "a")},
		"it runs: it waits for nothing":                   run("running", ""),
		"it is detecting: it waits for nothing":           run("detecting", ""),
		"it has ended: it waits for nothing":              run("", "partial"),
		"it took all notifications: nothing waits for it": {Receiver: receiver("webhook", "")},
	} {
		assert.Equal(t, want, Nothing(f))
	}
}
