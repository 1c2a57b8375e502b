package explainer

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

// entities is a server with the workflows that answer queries, by workflow and query.
type entities struct {
	client.Client

	answers map[string]any
	mu      sync.Mutex
	asked   []string
	args    []any
}

func (s *entities) QueryWorkflowWithOptions(_ context.Context, in *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked, s.args = append(s.asked, in.WorkflowID+" "+in.QueryType), append(s.args, in.Args...)
	answer, known := s.answers[in.WorkflowID+" "+in.QueryType]
	if !known {
		return nil, serviceerror.NewNotFound("no such workflow")
	}
	if err, fails := answer.(error); fails {
		return nil, err
	}
	payloads, err := starter.DataConverter().ToPayloads(answer)
	return &client.QueryWorkflowWithOptionsResponse{QueryResult: client.NewValue(payloads)}, err
}

func (s *entities) DescribeWorkflowExecution(context.Context, string, string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return nil, serviceerror.NewNotFound("no such workflow")
}

const (
	askAdmission = contract.AdmissionWorkflowID + " " + contract.QueryAdmission
	askHolds     = contract.AdmissionWorkflowID + " " + contract.QueryHolds
	askWorkers   = contract.FleetWorkflowID + " " + contract.QueryWorkers
)

func askWorker(id string) string { return contract.WorkerWorkflowID(id) + " " + contract.QueryReport }

func serving() *entities {
	return &entities{answers: map[string]any{
		askAdmission: contract.AdmissionView{}, askHolds: contract.HoldsResult{Holds: []contract.AdmissionHold{{JobType: "scrub"}}},
		askWorkers:      contract.WorkersQueryResult{Workers: []contract.WorkerDetail{{Registration: contract.WorkerRegistration{ID: "n1"}}}},
		askWorker("n1"): contract.WorkerReport{Instance: "i1"}, askWorker("n2"): errors.New("nobody polls"),
	}}
}

func (s *entities) explainer() *explainer {
	return &explainer{client: starter.New(s, "", nil), seen: map[string]bool{}}
}

func waits(code contract.Code, object string) []contract.WaitReason {
	return []contract.WaitReason{{Code: string(code), Object: object}}
}

// TestOnlyTheCausesOfAWaitAreQueried: an explanation of a wait for a lane does not need the workers.
func TestOnlyTheCausesOfAWaitAreQueried(t *testing.T) {
	t.Parallel()
	for code, want := range map[contract.Code][]string{
		contract.CodeLaneBusy: {askAdmission}, contract.CodeClaims: {askAdmission}, contract.CodeResources: {askAdmission},
		contract.CodeNoWorker: {askWorkers}, contract.CodeUnreachable: {askWorker("n1"), askWorker("n2")}, contract.CodeGlobalLimit: nil,
	} {
		wait := waits(code, "n1, n2")
		for where, facts := range map[string]explain.Facts{
			"an item":                        {Item: &explain.ItemFacts{Waits: wait}},
			"a run":                          {Run: &explain.RunFacts{Answer: &explain.RunAnswer{Waits: wait}}},
			"an item of a run":               {Run: &explain.RunFacts{Pending: []explain.ItemFacts{{Waits: wait}}}},
			"one of several runs":            {Runs: []explain.RunFacts{{}, {Answer: &explain.RunAnswer{Waits: wait}}}},
			"an item of one of several runs": {Runs: []explain.RunFacts{{Pending: []explain.ItemFacts{{}, {Waits: wait}}}, {}}},
		} {
			server := serving()
			require.NoError(t, server.explainer().surroundings(t.Context(), &facts, false), where)
			assert.ElementsMatch(t, want, server.asked, "%s waits: %s", where, code)
			assert.Equal(t, slices.Contains(want, askAdmission), facts.Admission != nil, where)
			assert.Equal(t, slices.Contains(want, askWorkers), len(facts.Workers) == 1, where)
			assert.Equal(t, code == contract.CodeUnreachable, len(facts.Asked) == 2, where)
		}
	}
	server, facts := serving(), explain.Facts{}
	require.NoError(t, server.explainer().surroundings(t.Context(), &facts, true))
	assert.Equal(t, []string{askWorkers}, server.asked, "a job type without a run has its workers looked up")
	server, facts = serving(), explain.Facts{Down: "no answer", Item: &explain.ItemFacts{Waits: waits(contract.CodeLaneBusy, "l")}}
	require.NoError(t, server.explainer().surroundings(t.Context(), &facts, true))
	assert.Empty(t, server.asked, "one missing answer has been waited for")
}

// TestDoubtedWorkersAreAskedOnceEach, at most five of them, and a silent one is a fact.
func TestDoubtedWorkersAreAskedOnceEach(t *testing.T) {
	t.Parallel()
	server, facts := serving(), explain.Facts{}
	server.explainer().ask(t.Context(), []string{"n1", "n2", "n1", "n2"}, &facts)
	assert.Equal(t, []string{askWorker("n1"), askWorker("n2")}, server.asked)
	require.Len(t, facts.Asked, 2)
	assert.Equal(t, "i1", facts.Asked["n1"].Report.Instance)
	assert.Empty(t, facts.Asked["n1"].Silent)
	assert.Nil(t, facts.Asked["n2"].Report)
	assert.Contains(t, facts.Asked["n2"].Silent, "the process of worker n2 does not answer")

	server.asked = nil
	server.explainer().ask(t.Context(), []string{"n3", "n4", "n5", "n6", "n7"}, &facts)
	assert.Len(t, server.asked, 3)
	assert.Len(t, facts.Asked, 5)
}

// TestAnotherProcessThanTheRegisteredOneIsNoReport.
func TestAnotherProcessThanTheRegisteredOneIsNoReport(t *testing.T) {
	t.Parallel()
	for registered, answers := range map[string]bool{"i1": true, "": true, "i0": false} {
		worker := &explain.WorkerFacts{}
		worker.Registration.ID, worker.Registration.Instance = "n1", registered
		require.NoError(t, serving().explainer().report(t.Context(), worker))
		assert.Equal(t, answers, worker.Report != nil, registered)
		assert.Equal(t, !answers, strings.Contains(worker.Silent, "another process answers for this id (instance i1)"), worker.Silent)
	}
}

// TestTheWaitsOfOneRunAreItsOwn: of several runs, the first waits of all are read.
func TestTheWaitsOfOneRunAreItsOwn(t *testing.T) {
	t.Parallel()
	for want, facts := range map[string]explain.Facts{
		"group/scrub-1": {Run: &explain.RunFacts{ID: "group/scrub-1"}},
		"":              {Runs: []explain.RunFacts{{ID: "group/scrub-1"}, {ID: "group/scrub-2"}}},
	} {
		server := serving()
		require.NoError(t, server.explainer().admission(t.Context(), &facts))
		assert.Equal(t, []any{contract.AdmissionFilter{WorkflowID: want, Limit: 200}}, server.args)
	}
	server, facts := serving(), explain.Facts{}
	delete(server.answers, askAdmission)
	require.NoError(t, server.explainer().admission(t.Context(), &facts))
	assert.True(t, facts.NoAdmission)
	server.answers[askAdmission] = errors.New("broken")
	require.Error(t, server.explainer().admission(t.Context(), &facts))
}

// TestHoldsAreThoseOfTheJobType of the run or the job type that is explained.
func TestHoldsAreThoseOfTheJobType(t *testing.T) {
	t.Parallel()
	for want, facts := range map[string]explain.Facts{
		"scrub": {Type: &explain.TypeFacts{Name: "scrub"}, Run: &explain.RunFacts{JobType: "fsck"}},
		"fsck":  {Run: &explain.RunFacts{JobType: "fsck"}},
		"":      {Run: &explain.RunFacts{DAG: "nightly"}},
		"-":     {Down: "no answer", Run: &explain.RunFacts{JobType: "fsck"}},
	} {
		server := serving()
		require.NoError(t, server.explainer().holds(t.Context(), &facts))
		if want == "" || want == "-" {
			assert.Empty(t, server.asked, want)
			continue
		}
		asked, is := server.args[0].(contract.HoldsInput)
		require.True(t, is)
		assert.Equal(t, []any{want, explainHolds}, []any{asked.JobType, asked.Limit})
		assert.Len(t, facts.Holds, 1)
	}
}

// TestHoldsOfATask are those of its key; an open run itself has none.
func TestHoldsOfATask(t *testing.T) {
	t.Parallel()
	open := &explain.RunFacts{DAG: "nightly", Open: true}
	for name, c := range map[string]struct {
		facts explain.Facts
		task  string
		asked int
	}{
		"a task of an open run": {explain.Facts{Run: open, Item: &explain.ItemFacts{ID: "load"}}, "load", 1},
		"an open run":           {explain.Facts{Run: open}, "", 0},
		"an ended run":          {explain.Facts{Run: &explain.RunFacts{DAG: "nightly"}}, "", 1},
		"no control plane":      {explain.Facts{Run: open, Item: &explain.ItemFacts{}, Down: "no answer"}, "load", 0},
	} {
		server := serving()
		require.NoError(t, server.explainer().holdsOfTasks(t.Context(), &c.facts, c.task), name)
		assert.Len(t, server.asked, c.asked, name)
		assert.Len(t, c.facts.Holds, c.asked, name)
		if c.asked > 0 {
			asked, is := server.args[0].(contract.HoldsInput)
			require.True(t, is)
			assert.Equal(t, []any{contract.TasksOf("nightly"), c.task}, []any{asked.JobType, asked.DedupeKey}, name)
		}
		if c.asked > 0 && c.facts.Item != nil {
			assert.Equal(t, c.task, c.facts.Item.Key, name)
		}
	}
}

// TestAJobThatWaitsInAQueueIsTakenByItsWorker: its process is queried for a report.
func TestAJobThatWaitsInAQueueIsTakenByItsWorker(t *testing.T) {
	t.Parallel()
	sent := time.Unix(1_800_000_000, 0)
	for id, want := range map[string]int{"n1": 1, "n2": 1, "": 0} {
		server, facts := serving(), explain.Facts{}
		require.NoError(t, server.explainer().taker(t.Context(), id, sent, &facts))
		assert.Len(t, server.asked, want, "an empty worker is the shared queue")
		assert.Equal(t, []any{id, sent}, []any{facts.Taker.Registration.ID, facts.SentAt})
		assert.Equal(t, id == "n1", facts.Taker.Report != nil)
		assert.Equal(t, id == "n2", facts.Taker.Silent != "")
	}
}

func TestFactsOfAJobType(t *testing.T) {
	t.Parallel()
	at := func(hour int) time.Time { return time.Date(2026, 11, 20, hour, 0, 0, 0, time.UTC) }
	known := jobtypes.JobType{Name: "scrub", Paused: true, DisabledByConfig: true, PauseNote: "disk", PausedBy: "ann", PausedAt: at(4), CreatedAt: at(1)}
	facts := typeFacts(known)
	assert.Equal(t, explain.TypeFacts{Name: "scrub", Wants: facts.Wants, Paused: true, Disabled: true, PauseNote: "disk", PausedBy: "ann", PausedAt: at(4), ChangedAt: at(1), LastTick: at(1)}, facts)

	known.UpdatedAt = at(3)
	known.Recent = []jobtypes.ScheduledRun{{StartedAt: at(2)}}
	known.Next = []time.Time{at(6)}
	known.Window = &jobtypes.WindowView{Open: true, Closed: "weekend", Until: at(8)}
	facts = typeFacts(known)
	assert.Equal(t, []time.Time{at(3), at(3), at(6)}, []time.Time{facts.ChangedAt, facts.LastTick, facts.Next}, "a run before the change is of another schedule")
	assert.Empty(t, facts.WindowClosed)
	assert.Zero(t, facts.WindowOpens)

	known.Recent = []jobtypes.ScheduledRun{{StartedAt: at(5)}, {StartedAt: at(2)}}
	known.Window = &jobtypes.WindowView{Closed: "weekend", Since: at(4), Until: at(8), Fault: "no such zone"}
	facts = typeFacts(known)
	assert.Equal(t, []time.Time{at(3), at(5)}, []time.Time{facts.ChangedAt, facts.LastTick})
	assert.Equal(t, []any{"weekend", at(4), at(8)}, []any{facts.WindowClosed, facts.WindowSince, facts.WindowOpens})
	known.Window.Closed = ""
	assert.Equal(t, "no such zone", typeFacts(known).WindowClosed)
}

func TestFactsOfARunAndItsJobs(t *testing.T) {
	t.Parallel()
	status := contract.GroupStatus{
		Phase: "executing", Running: 3, Deduped: []contract.DedupedProposal{{DedupeKey: "vol/1"}}, HeldBack: []contract.AdmissionHold{{JobType: "scrub"}}, Missed: []contract.MissedWorker{{Worker: "n1"}},
	}
	assert.Equal(t, &explain.RunAnswer{Phase: "executing", Running: 3, Deduped: status.Deduped, HeldBack: status.HeldBack, Missed: status.Missed}, answerOf(status))
	status.Wait = &contract.WaitReason{Code: "LANE_BUSY"}
	assert.Equal(t, []contract.WaitReason{{Code: "LANE_BUSY"}}, answerOf(status).Waits)

	item := starter.Item{ID: "job-00001", State: contract.JobPending, DedupeKey: "vol/1"}
	assert.Equal(t, explain.ItemFacts{ID: "job-00001", State: contract.JobPending, Key: "vol/1"}, itemFacts(item))
	item.Wait = &contract.WaitReason{Code: "NO_WORKER"}
	assert.Equal(t, []contract.WaitReason{{Code: "NO_WORKER"}}, itemFacts(item).Waits)
}

// TestASilenceIsAFactOfItsKind: what does not answer decides what an operator does.
func TestASilenceIsAFactOfItsKind(t *testing.T) {
	t.Parallel()
	since := time.Unix(1_800_000_000, 0)
	var facts explain.Facts
	assert.False(t, noteDown(&facts, nil))
	assert.False(t, noteDown(&facts, errors.New("broken")))
	assert.Equal(t, explain.Facts{}, facts)
	assert.True(t, noteDown(&facts, &starter.ControlPlaneDownError{Asked: "query status", LastPoll: time.Now()}))
	assert.Contains(t, facts.Down, "query status has not been answered for")
	assert.True(t, facts.Control.Slow)
	facts = explain.Facts{}
	assert.True(t, noteDown(&facts, &starter.ControlPlaneDownError{Asked: "query status"}))
	assert.Contains(t, facts.Down, "no control plane serves this namespace")
	assert.False(t, facts.Control.Slow)
	facts = explain.Facts{}
	assert.True(t, noteDown(&facts, &starter.RegistryGoneError{Asked: "a query"}))
	assert.Contains(t, facts.Down, "the worker registry was terminated")
	facts = explain.Facts{}
	assert.True(t, noteDown(&facts, &starter.PausedWorkflowError{WorkflowID: "fleet", By: "ann", Note: "disk", Since: since}))
	assert.Equal(t, explain.Facts{Frozen: []explain.FrozenFacts{{ID: "fleet", By: "ann", Note: "disk", Since: since}}}, facts)
	facts = explain.Facts{}
	assert.True(t, noteDown(&facts, &starter.StuckWorkflowError{WorkflowID: "fleet", Message: "panic", Unread: true, Times: 3, Since: since, Version: "1.2"}))
	assert.Equal(t, explain.Facts{Stuck: []explain.StuckFacts{{ID: "fleet", Message: "panic", Unread: true, Times: 3, Since: since, Version: "1.2"}}}, facts)
}

func TestAnUnknownNameSaysWhetherWorkersWereListed(t *testing.T) {
	t.Parallel()
	missing := &UnknownThingError{Name: "x"}
	require.ErrorIs(t, missing, starter.ErrNotFound)
	assert.NotContains(t, missing.Error(), "workers could not be listed")
	missing.Down = "no answer"
	assert.Contains(t, missing.Error(), "; workers could not be listed: no answer")
}
