package explain

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
)

var (
	now   = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	since = now.Add(-time.Minute)
	until = now.Add(time.Minute)
)

func node(id string, state contract.WorkerState, fresh bool) contract.WorkerDetail {
	worker := contract.WorkerDetail{
		Registration: contract.WorkerRegistration{ID: id, Capabilities: []contract.Capability{{Handler: "scrub"}}},
		State:        state, Fresh: fresh, Since: since, LastBeat: since.Add(-time.Second), Cause: contract.WorkerTransition{At: since, To: state},
	}
	if state == contract.WorkerDraining || state == contract.WorkerCordoned {
		worker.Kept = worker.Cause
	}
	return worker
}

func scrub() *TypeFacts {
	return &TypeFacts{Name: "scrub", Wants: []Wanted{{JobType: "scrub", Handler: "scrub"}}, ChangedAt: since}
}

func waits(wait contract.WaitReason) Facts {
	return Facts{
		Now: now, Run: &RunFacts{ID: "group/scrub-1", Open: true, JobType: "scrub", Answer: &RunAnswer{Phase: "dispatching"}},
		Item: &ItemFacts{State: "pending", Waits: []contract.WaitReason{wait}},
	}
}

func with(f Facts, view contract.AdmissionView) Facts {
	f.Admission = &view
	return f
}

func use(id, item, job string) contract.AdmissionUse {
	return contract.AdmissionUse{WorkflowID: id, ID: item, For: job, Since: since, N: 2}
}

// task is a task of a DAG run with one wait; the id "" means the run.
func task(id string, code contract.Code, object string) Facts {
	waits := []contract.WaitReason{{Code: string(code), Object: object, Since: since, Until: until, Detail: "because"}}
	f := Facts{Now: now, Run: &RunFacts{ID: "dag/nightly/r", DAG: "nightly", Open: true}}
	if id == "" {
		f.Run.Answer = &RunAnswer{Phase: "running", Waits: waits}
	} else {
		f.Item = &ItemFacts{ID: id, State: "waiting", Waits: waits}
	}
	return f
}

func fixtures() map[contract.Code]Facts {
	holder := use("group/other-1", "lane", "")
	plain := func(code contract.Code, object string) Facts {
		return waits(contract.WaitReason{Code: string(code), Object: object, Since: since, Until: until, Detail: "because"})
	}
	open := func(answer *RunAnswer) Facts {
		return Facts{Now: now, Run: &RunFacts{ID: "group/scrub-1", Open: true, StartedAt: since, Answer: answer}}
	}
	disabled, paused, idle := scrub(), scrub(), scrub()
	disabled.Disabled, paused.Paused, paused.PausedAt, idle.Next = true, true, since, until
	paused.PausedBy, paused.PauseNote = "ann", "new disks"
	well := []contract.WorkerDetail{node("node-a", contract.WorkerOnline, true)}
	worker := func(state contract.WorkerState) *WorkerFacts {
		return &WorkerFacts{WorkerDetail: node("node-a", state, true)}
	}
	shut := scrub()
	shut.WindowClosed, shut.WindowSince, shut.WindowOpens = "job type scrub: outside its windows", since, until
	asks := plain(contract.CodeResources, "job-00001.1")
	return map[contract.Code]Facts{
		contract.CodeControlPlaneDown: {Now: now, Type: idle, Down: "nobody answers"},
		contract.CodeDisabled:         {Now: now, Type: disabled, Workers: well},
		contract.CodePaused:           {Now: now, Type: paused, Workers: well},
		contract.CodeAfter:            plain(contract.CodeAfter, "dump"),
		contract.CodeWindowClosed:     {Now: now, Type: shut, Workers: well},
		contract.CodeWindowFit:        plain(contract.CodeWindowFit, "job-00001"),
		contract.CodeNotDue:           {Now: now, Type: idle, Workers: well},
		contract.CodeNoWorker:         {Now: now, Type: idle, Workers: []contract.WorkerDetail{node("node-a", contract.WorkerOffline, false)}},
		contract.CodeLaneBusy: with(open(&RunAnswer{Phase: "waiting", Waits: []contract.WaitReason{{Code: "LANE_BUSY", Object: "default", Since: since, Until: until}}}),
			contract.AdmissionView{Lanes: []contract.AdmissionLane{{Name: "default", Holder: &holder}}}),
		contract.CodeRecovering: with(open(&RunAnswer{Phase: "waiting", Waits: []contract.WaitReason{{Code: "LANE_BUSY", Object: "default", Since: since}}}),
			contract.AdmissionView{Recovering: true, Expected: []string{"group/other-1"}}),
		contract.CodeClaimHeld: with(asks, contract.AdmissionView{Objects: []contract.AdmissionThing{{
			Name: "volume/42", Holders: []contract.AdmissionUse{use("group/other-1", "job-00007.1", "job-00007")}, Waiting: []contract.AdmissionUse{use("group/scrub-1", "job-00001.1", "job-00001")},
		}}}),
		contract.CodePoolFull: with(asks, contract.AdmissionView{Pools: []contract.AdmissionPool{{
			Name: "db", Size: 3, Used: 2, Holders: []contract.AdmissionUse{use("group/other-1", "job-00007.1", "job-00007")}, Waiting: []contract.AdmissionUse{use("group/scrub-1", "job-00001.1", "job-00001")},
		}}}),
		contract.CodeDeduped:     open(&RunAnswer{Phase: "dispatching", Running: 1, Deduped: []contract.DedupedProposal{{DedupeKey: "k", By: "group/scrub-0"}}}),
		contract.CodeStarting:    open(nil),
		contract.CodeUnreachable: {Now: now, Worker: worker(contract.WorkerUnreachable)},
		contract.CodeWorkflowStuck: {Now: now, Run: &RunFacts{ID: "group/scrub-1", Open: true}, Stuck: []StuckFacts{
			{ID: "group/scrub-1", Message: "it does other things", Times: 3, Since: since},
		}},
		contract.CodeCordoned:        {Now: now, Worker: worker(contract.WorkerCordoned)},
		contract.CodeCannotStart:     {Now: now, Worker: suspect(contract.CodeCannotStart)},
		contract.CodeNotInstalled:    {Now: now, Worker: suspect(contract.CodeNotInstalled)},
		contract.CodeDiskFull:        {Now: now, Worker: suspect(contract.CodeDiskFull)},
		contract.CodeSlots:           plain(contract.CodeSlots, "node-a"),
		contract.CodeGlobalLimit:     plain(contract.CodeGlobalLimit, "scrub"),
		contract.CodeBacklog:         plain(contract.CodeBacklog, "scrub"),
		contract.CodeWorkerLimit:     plain(contract.CodeWorkerLimit, "node-a"),
		contract.CodeLosesWorkers:    plain(contract.CodeLosesWorkers, "node-a"),
		contract.CodeBackoff:         plain(contract.CodeBackoff, ""),
		contract.CodeNotBefore:       plain(contract.CodeNotBefore, ""),
		contract.CodeFleetRecovering: plain(contract.CodeFleetRecovering, ""),
		contract.CodeDeferred:        plain(contract.CodeDeferred, ""),
		contract.CodeGuard:           plain(contract.CodeGuard, ""),
		contract.CodeDetecting:       plain(contract.CodeDetecting, ""),
		contract.CodeClaims:          plain(contract.CodeClaims, ""),
		contract.CodeResources:       with(asks, contract.AdmissionView{}),
		contract.CodeOutcome:         plain(contract.CodeOutcome, "node-a"),
		contract.CodeRetryBudget:     {Now: now, Type: idle, Workers: well, Holds: []contract.AdmissionHold{typeHold()}},
		contract.CodeMarkedDone: {Now: now, Run: &RunFacts{ID: "group/scrub-1", Open: true, Answer: &RunAnswer{
			Phase: "dispatching", HeldBack: []contract.AdmissionHold{keyHold("MARKED_DONE", "b")},
		}}, Holds: []contract.AdmissionHold{keyHold("RETRY_BUDGET", "a"), keyHold("MARKED_DONE", "b")}},
		contract.CodeParked:          task("", contract.CodeParked, "load"),
		contract.CodeApproval:        task("ok", contract.CodeApproval, "ok"),
		contract.CodeUpstream:        task("report", contract.CodeUpstream, "load, ok"),
		contract.CodeConcurrency:     task("load", contract.CodeConcurrency, ""),
		contract.CodeItemsInFlight:   task("drain.b", contract.CodeItemsInFlight, "check.a"),
		contract.CodeItemFailed:      task("drain.c", contract.CodeItemFailed, "check.b"),
		contract.CodeSleeping:        task("nap", contract.CodeSleeping, ""),
		contract.CodeNoReceiver:      {Now: now, Receiver: receiver("", "nobody took it")},
		contract.CodeReceiverFailing: {Now: now, Receiver: receiver("webhook", "connection refused")},
		contract.CodeIdle:            {Now: now, Worker: &WorkerFacts{WorkerDetail: well[0], Report: &contract.WorkerReport{}, Types: []TypeFacts{*idle}}},
	}
}

func suspect(code contract.Code) *WorkerFacts {
	facts := &WorkerFacts{WorkerDetail: node("node-a", contract.WorkerOnline, true)}
	facts.Trouble = &contract.WorkerTrouble{Code: code, Detail: "too many open files", Since: since}
	return facts
}

// TestTheReasonsAreRecorded records one reason per code for the tests of CLI, API and console.
func TestTheReasonsAreRecorded(t *testing.T) {
	t.Parallel()
	var recorded []Reason
	for _, code := range Codes() {
		recorded = append(recorded, Why(fixtures()[code])[0])
	}
	made, err := json.MarshalIndent(recorded, "", "  ")
	require.NoError(t, err)
	path := filepath.Join("testdata", "reasons.json")
	if os.Getenv("ROUNDSMAN_UPDATE") != "" {
		require.NoError(t, os.WriteFile(path, append(made, '\n'), 0o600))
	}
	kept, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(kept), string(made)+"\n", "run ROUNDSMAN_UPDATE=1 go test ./internal/engine/explain -run TestTheReasonsAreRecorded")
}

func TestEveryCodeHasAFixture(t *testing.T) {
	t.Parallel()
	objects := map[contract.Code]string{
		contract.CodeAfter: "dump", contract.CodeWindowClosed: "scrub", contract.CodeWindowFit: "job-00001", contract.CodeDisabled: "scrub", contract.CodePaused: "scrub", contract.CodeNotDue: "scrub", contract.CodeNoWorker: "scrub", contract.CodeLaneBusy: "default", contract.CodeRecovering: "group/other-1",
		contract.CodeClaimHeld: "volume/42", contract.CodePoolFull: "db", contract.CodeDeduped: "k", contract.CodeStarting: "group/scrub-1", contract.CodeUnreachable: "node-a", contract.CodeCordoned: "node-a",
		contract.CodeCannotStart: "node-a", contract.CodeNotInstalled: "node-a", contract.CodeDiskFull: "node-a",
		contract.CodeSlots: "node-a", contract.CodeGlobalLimit: "scrub", contract.CodeBacklog: "scrub", contract.CodeWorkerLimit: "node-a", contract.CodeLosesWorkers: "node-a", contract.CodeResources: "job-00001.1", contract.CodeOutcome: "node-a",
		contract.CodeParked: "load", contract.CodeApproval: "ok", contract.CodeUpstream: "load, ok", contract.CodeConcurrency: "dag/nightly/r", contract.CodeItemsInFlight: "check.a", contract.CodeItemFailed: "check.b", contract.CodeIdle: "node-a",
		contract.CodeNoReceiver: "chat", contract.CodeReceiverFailing: "chat",
		contract.CodeRetryBudget: "scrub", contract.CodeMarkedDone: "b", contract.CodeWorkflowStuck: "group/scrub-1",
	}
	timeless := map[contract.Code]bool{contract.CodeControlPlaneDown: true, contract.CodeNotDue: true, contract.CodeIdle: true}
	for _, code := range Codes() {
		t.Run(string(code), func(t *testing.T) {
			t.Parallel()
			facts, known := fixtures()[code]
			require.True(t, known, "write a fixture")
			reasons := Why(facts)
			require.NotEmpty(t, reasons)
			first := reasons[0]
			assert.Equal(t, code, first.Code)
			assert.Equal(t, objects[code], first.Object)
			assert.NotEmpty(t, first.Detail)
			assert.NotEmpty(t, first.Remedy)
			assertHelps(t, first)
			if !timeless[code] {
				assert.Equal(t, since, first.Since)
			}
		})
	}
}

// assertHelps asserts that the reason has either a button or an actor.
func assertHelps(t *testing.T, r Reason) {
	t.Helper()
	assert.NotEqual(t, hasButton(r.Actions), r.Actor != "", "%s: %v", r.Code, r.Actions)
	for _, a := range r.Actions {
		assert.Contains(t, r.Remedy, "`"+a.Command+"`")
	}
}

func TestWhoIsInTheWayIsNamed(t *testing.T) {
	t.Parallel()
	for _, code := range []contract.Code{contract.CodeLaneBusy, contract.CodeClaimHeld, contract.CodePoolFull} {
		assert.Contains(t, Why(fixtures()[code])[0].Detail, "group/other-1", code)
	}
	assert.Contains(t, Why(fixtures()[contract.CodeDeduped])[0].Detail, "group/scrub-0")
	assert.Contains(t, Why(fixtures()[contract.CodePaused])[0].Detail, "ann: new disks")
	assert.Contains(t, Why(fixtures()[contract.CodeClaimHeld])[0].Detail, "job-00007")
	assert.Equal(t, &Holder{Run: "group/other-1"}, Why(fixtures()[contract.CodeLaneBusy])[0].Holder)
	for _, code := range []contract.Code{contract.CodeClaimHeld, contract.CodePoolFull} {
		assert.Equal(t, &Holder{Run: "group/other-1", Item: "job-00007"}, Why(fixtures()[code])[0].Holder, code)
	}
}

// TestSharedClaimsWaitToo: behind an exclusive holder, or behind a reservation for one.
func TestSharedClaimsWaitToo(t *testing.T) {
	t.Parallel()
	wait := contract.WaitReason{Code: "RESOURCES_PENDING", Object: "job-00001.1", Since: since}
	mine := contract.AdmissionUse{WorkflowID: "r", ID: "job-00001.1", Shared: true, Since: since}
	reader := contract.AdmissionUse{WorkflowID: "group/reader", ID: "job-00002.1", Shared: true}
	writer := contract.AdmissionUse{WorkflowID: "group/writer", ID: "job-00003.1"}
	for want, object := range map[string]contract.AdmissionThing{
		"held by group/writer": {Name: "volume/1", Holders: []contract.AdmissionUse{writer}, Waiting: []contract.AdmissionUse{mine}},
		"held, shared, by group/reader; kept for group/writer, which waited longer and needs it alone": {
			Name: "volume/1", Holders: []contract.AdmissionUse{reader}, Waiting: []contract.AdmissionUse{writer, mine},
		},
	} {
		reasons := Why(Facts{
			Now: now, Run: &RunFacts{ID: "r", Open: true}, Item: &ItemFacts{State: "pending", Waits: []contract.WaitReason{wait}},
			Admission: &contract.AdmissionView{Objects: []contract.AdmissionThing{object}},
		})
		require.Len(t, reasons, 1)
		assert.Equal(t, Reason{Code: contract.CodeClaimHeld, Object: "volume/1", Targets: []Target{{Object: "volume/1"}}, Since: since, Detail: want, Holder: firstOf(object.Holders), Remedy: reasons[0].Remedy, Actions: reasons[0].Actions, Actor: reasons[0].Actor}, reasons[0])
	}
}

func TestWhatRunsOrEndedHasNoReason(t *testing.T) {
	t.Parallel()
	for state, facts := range map[string]Facts{
		"running":   {Run: &RunFacts{ID: "r", Open: true}, Item: &ItemFacts{State: "running"}},
		"completed": {Run: &RunFacts{ID: "r", Outcome: "completed"}},
		"ONLINE":    {Worker: &WorkerFacts{WorkerDetail: node("a", contract.WorkerOnline, true), Report: &contract.WorkerReport{Executing: 1, Caps: contract.WorkerCaps{MaxExecute: 2}}}},
	} {
		assert.Empty(t, Why(facts), state)
		assert.Equal(t, state, State(facts))
	}
}

// TestReasonsAreOrdered: an absent worker follows the pause, and equal reasons are listed once.
func TestReasonsAreOrdered(t *testing.T) {
	t.Parallel()
	paused := scrub()
	paused.Paused = true
	reasons := Why(Facts{Now: now, Type: paused, Workers: []contract.WorkerDetail{
		node("a", contract.WorkerOffline, false), node("b", contract.WorkerCordoned, true), node("a", contract.WorkerOffline, false),
	}})
	var codes []contract.Code
	for _, one := range reasons {
		codes = append(codes, one.Code)
	}
	assert.Equal(t, []contract.Code{contract.CodePaused, contract.CodeNoWorker, contract.CodeUnreachable, contract.CodeCordoned}, codes)
}

func TestEveryCodeIsDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/explain.md")
	require.NoError(t, err)
	for _, code := range Codes() {
		assert.Contains(t, string(page), "| `"+string(code)+"` |")
	}
	assert.Equal(t, len(Codes()), strings.Count(string(page), "\n| `"), "and nothing else")
}

func receiver(kind, fault string) *ReceiverFacts {
	return &ReceiverFacts{
		ReceiverView: contract.ReceiverView{
			ReceiverHealth: contract.ReceiverHealth{Name: "chat", Kind: kind, FailingSince: since, Failures: 4, Error: fault}, Waiting: 2, Next: until,
		},
		Deliveries: []contract.DeliveryView{{Title: "scrub: failed", At: since}, {Title: "scrub: failed", At: now}},
		Named:      []string{"scrub"},
	}
}

func TestReceivers(t *testing.T) {
	t.Parallel()
	refused := Facts{Now: now, Receiver: receiver("webhook", "connection refused")}
	reasons := Why(refused)
	require.Len(t, reasons, 1)
	assert.Equal(t, "failing", State(refused))
	assert.Equal(t, until, reasons[0].Until)
	assert.Contains(t, reasons[0].Detail, "2 notifications waiting, the oldest since "+stamp(since)+"; 4 attempts failed, the last one: connection refused")
	refused.Receiver.Next = now
	assert.Zero(t, Why(refused)[0].Until, "it is being tried")

	unknown := Facts{Now: now, Receiver: receiver("", "")}
	assert.Equal(t, "unknown", State(unknown))
	assert.Contains(t, Why(unknown)[0].Detail, "job types that name it: scrub; 2 notifications waiting")

	unknown.Down = "nobody answers"
	assert.Equal(t, contract.CodeControlPlaneDown, Why(unknown)[0].Code)
	assert.Len(t, Why(unknown), 1, "without a control plane nothing is known")
	assert.Equal(t, "`roundsman server`; see `roundsman doctor`", Why(unknown)[0].Remedy)
	unknown.Control.Slow = true
	assert.Equal(t, "wait, or `roundsman server`; see `roundsman doctor`", Why(unknown)[0].Remedy, "it may be slow")
	paused := Facts{Now: now, Receiver: receiver("", ""), Frozen: []FrozenFacts{{ID: contract.NotificationsWorkflowID, Since: since}}}
	assert.Equal(t, "paused", State(paused))
	assert.Equal(t, contract.CodePaused, Why(paused)[0].Code)
	assert.Len(t, Why(paused), 1)

	well := Facts{Receiver: &ReceiverFacts{ReceiverView: contract.ReceiverView{ReceiverHealth: contract.ReceiverHealth{Name: "chat", Kind: "smtp"}}}}
	assert.Empty(t, Why(well))
	assert.Equal(t, "idle", State(well))
	well.Receiver.Waiting = 1
	assert.Equal(t, "delivering", State(well))
}

func TestDroppedDeliveries(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]string{contract.DeliveryDropped: "the queue of the receiver was full", contract.DeliverySent: ""} {
		delivery := contract.DeliveryView{State: state}
		Delivery(&delivery)
		assert.Equal(t, want, delivery.Error)
	}
}

// TestARecoveryThatCannotListTheHolders has the reason.
func TestARecoveryThatCannotListTheHolders(t *testing.T) {
	t.Parallel()
	facts := fixtures()[contract.CodeRecovering]
	facts.Admission = &contract.AdmissionView{Recovering: true, Unlisted: "blob size exceeds the limit"}
	why := Why(facts)[0]
	assert.Equal(t, contract.CodeRecovering, why.Code)
	assert.Contains(t, why.Detail, "cannot list the runs that hold something. It tries again: blob size exceeds the limit")
}

// The lane was granted between the answers of the run and of admission: the run is not held up by itself.
func TestALaneIsNotHeldByTheWaitingRun(t *testing.T) {
	t.Parallel()
	reasons := Why(Facts{
		Run:       &RunFacts{ID: "group/scrub-1", Open: true, Answer: &RunAnswer{Phase: "waiting", Waits: []contract.WaitReason{{Code: string(contract.CodeLaneBusy), Object: "default", Detail: TextTurn(false, false)}}}},
		Admission: &contract.AdmissionView{Lanes: []contract.AdmissionLane{{Name: "default", Holder: &contract.AdmissionUse{WorkflowID: "group/scrub-1"}}}},
	})
	require.Len(t, reasons, 1)
	assert.Equal(t, TextTurn(false, false), reasons[0].Detail)
	assert.Nil(t, reasons[0].Holder)
	assert.NotContains(t, reasons[0].Remedy, "cancel")
}
