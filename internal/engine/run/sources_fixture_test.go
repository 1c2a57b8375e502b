package run_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/dagrun"
	"github.com/roundsman/roundsman/internal/engine/run/group"
	"github.com/roundsman/roundsman/internal/engine/run/source"
	"github.com/roundsman/roundsman/jobtype"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

type work struct {
	node string
	// db is the amount of that pool it needs, exclusive an object.
	db        int
	exclusive string
	// notBefore and expiresAt bound its start, from the beginning; 0 means no bound.
	notBefore, expiresAt time.Duration
}

type played interface {
	stepped
	steered
	rolled
}

type stepped interface {
	next(now time.Time, event run.Event) []run.Decision
	// ended returns the end of an item, with its error; "open" before.
	ended(now time.Time, item int) string
	NextWake() time.Time
}

type steered interface {
	cancel(now time.Time, item int) []run.Decision
	pause(now time.Time) []run.Decision
	resume(now time.Time) []run.Decision
}

type rolled interface {
	Engine() *run.Engine
	ShouldContinueAsNew() bool
	roll(now time.Time)
}

// explained is implemented by a source, too.
type explained interface {
	// waits returns the reasons why items do not run, as "CODE ×2".
	waits(now time.Time) []string
}

// begin starts a source; the decisions are those of its first steps.
type begin func(t *testing.T, policy jobtype.Policy, list []work, workers []contract.WorkerView) (played, []run.Decision)

type jobs struct {
	*group.Group

	t       *testing.T
	workers []contract.WorkerView
}

func beginGroup(t *testing.T, policy jobtype.Policy, list []work, workers []contract.WorkerView) (played, []run.Decision) {
	t.Helper()
	s := &jobs{t: t, workers: workers, Group: group.New(group.Config{JobType: "jt", Handler: "h", Policy: policy, Claims: true, Submitted: true}, epoch)}
	proposals := make([]jobtype.Proposal, len(list))
	for i, w := range list {
		proposals[i].Node = w.node
		if w.db > 0 {
			proposals[i].Resources = map[string]int{"db": w.db}
		}
		if w.exclusive != "" {
			proposals[i].Exclusive = []string{w.exclusive}
		}
		if w.notBefore > 0 {
			proposals[i].NotBefore = epoch.Add(w.notBefore)
		}
		if w.expiresAt > 0 {
			proposals[i].ExpiresAt = epoch.Add(w.expiresAt)
		}
	}
	s.Engine().Observe(epoch, 3, 0, 0)
	return s, s.step(epoch, group.Submitted{Proposals: proposals})
}

// step answers requests that only a group makes.
func (s *jobs) step(now time.Time, event source.Event) []run.Decision {
	var decisions []run.Decision
	var answers []source.Event
	for _, command := range s.Next(now, event) {
		switch c := command.(type) {
		case run.Decision:
			decisions = append(decisions, c)
		case group.StartJob:
			decisions = append(decisions, c.Decision)
		case source.Acquire:
			decisions = append(decisions, c.Decision)
		case group.Prepare:
			answers = append(answers, group.Prepared{Workers: s.workers})
		case group.ClaimKeys:
			answers = append(answers, group.KeysClaimed{Fence: 1, Fences: 1000})
		}
	}
	for _, answer := range answers {
		decisions = append(decisions, s.step(now, answer)...)
	}
	return decisions
}

func (s *jobs) next(now time.Time, event run.Event) []run.Decision {
	return s.step(now, event)
}

func (s *jobs) cancel(now time.Time, item int) []run.Decision {
	return s.step(now, source.CancelItem{Item: item, Reason: "canceled"})
}

func (s *jobs) pause(now time.Time) []run.Decision { return s.step(now, source.Paused{By: "ann"}) }

func (s *jobs) resume(now time.Time) []run.Decision { return s.step(now, source.Resumed{}) }

func (s *jobs) ended(now time.Time, item int) string {
	result, err := s.Jobs(contract.JobsQueryInput{JobID: contract.JobID(item)}, now)
	require.NoError(s.t, err)
	require.Len(s.t, result.Jobs, 1)
	switch view := result.Jobs[0]; group.State(view.State) {
	case group.StatePending, group.StateRunning, group.StateRecalling, group.StateHeld:
		return "open"
	case group.StateCanceled:
		return view.State // A task has no error then.
	case group.StateCompleted, group.StateFailed, group.StateStale, group.StateExpired, group.StateNotStarted:
		return strings.TrimSpace(view.State + " " + view.Error)
	}
	return ""
}

func (s *jobs) roll(now time.Time) {
	data, err := s.Snapshot()
	require.NoError(s.t, err)
	s.Group, err = group.Restore(data, now)
	require.NoError(s.t, err)
}

func (s *jobs) waits(now time.Time) []string {
	var list []string
	for _, w := range s.Waits(now) {
		list = append(list, fmt.Sprintf("%s ×%d", w.Code, w.Items))
	}
	return list
}

type tasks struct {
	*dagrun.Graph

	t   *testing.T
	cfg dagrun.Config
}

func beginGraph(t *testing.T, policy jobtype.Policy, list []work, workers []contract.WorkerView) (played, []run.Decision) {
	t.Helper()
	var text strings.Builder
	text.WriteString("version: 1\nname: two\nconcurrency: 10\ntasks:\n")
	for i, w := range list {
		fmt.Fprintf(&text, "  - {id: t%d, job_type: jt, timeout: %s", i+1, policy.ExecutionTimeout)
		if w.node != "" {
			text.WriteString(", node: " + w.node)
		}
		if w.db > 0 {
			fmt.Fprintf(&text, ", resources: {db: %d}", w.db)
		}
		if w.exclusive != "" {
			text.WriteString(", exclusive: [" + w.exclusive + "]")
		}
		if w.notBefore > 0 {
			text.WriteString(", not_before: " + epoch.Add(w.notBefore).Format(time.RFC3339))
		}
		if w.expiresAt > 0 {
			text.WriteString(", expires_at: " + epoch.Add(w.expiresAt).Format(time.RFC3339))
		}
		text.WriteString("}\n")
	}
	loaded, err := spec.Load("dag.yaml", []byte(text.String()))
	require.NoError(t, err)
	compiled, err := spec.Compile(loaded, nil)
	require.NoError(t, err)
	r, err := dagrun.NewRun(compiled.Graph)
	require.NoError(t, err)
	s := &tasks{t: t, cfg: dagrun.Config{JobTypes: map[string]dagrun.JobType{"jt": {Handler: "h", Policy: policy}}}}
	s.Graph, err = dagrun.New(r, s.cfg, epoch)
	require.NoError(t, err)
	s.Engine().Observe(epoch, 3, 0, 0)
	first := s.numbered(s.Next(epoch, dagrun.Started{}))
	return s, append(first, s.next(epoch, run.WorkersChanged{Workers: workers})...)
}

func (s *tasks) index(item int) dag.Index {
	i, ok := s.Run().Lookup(fmt.Sprintf("t%d", item))
	require.True(s.t, ok)
	return i
}

func (s *tasks) numbered(list []source.Command) []run.Decision {
	var decisions []run.Decision
	for _, command := range list {
		var d run.Decision
		switch c := command.(type) {
		case run.Decision:
			d = c
		case source.Acquire:
			d = c.Decision
		case dagrun.StartJob:
			d = c.Decision
		default:
			continue
		}
		if d.Item >= 0 && d.Kind != run.Probe && d.Kind != run.Watch {
			_, err := fmt.Sscanf(s.Run().ID(dag.Index(d.Item)), "t%d", &d.Item)
			require.NoError(s.t, err)
		}
		decisions = append(decisions, d)
	}
	return decisions
}

func (s *tasks) next(now time.Time, event run.Event) []run.Decision {
	switch e := event.(type) {
	case run.Ended:
		e.Item = int(s.index(e.Item))
		event = e
	case run.Waits:
		e.Item = int(s.index(e.Item))
		event = e
	case run.Granted:
		e.Item = int(s.index(e.Item))
		event = e
	}
	return s.numbered(s.Next(now, event))
}

func (s *tasks) cancel(now time.Time, item int) []run.Decision {
	name := fmt.Sprintf("t%d", item)
	i, _ := s.Run().Lookup(name)
	return s.numbered(s.Next(now, source.CancelItem{Item: int(i), Name: name}))
}

func (s *tasks) pause(now time.Time) []run.Decision {
	return s.numbered(s.Next(now, source.Paused{By: "ann"}))
}

func (s *tasks) resume(now time.Time) []run.Decision {
	return s.numbered(s.Next(now, source.Resumed{}))
}

func (s *tasks) ended(_ time.Time, item int) string {
	view := s.View(s.index(item))
	switch state := view.State.String(); state {
	case "pending", "running":
		return "open"
	case "completed":
		return "completed"
	default:
		return strings.TrimSpace(state + " " + view.Error)
	}
}

func (s *tasks) roll(now time.Time) {
	data, err := s.Snapshot()
	require.NoError(s.t, err)
	s.Graph, err = dagrun.Restore(s.Run().Graph(), data, s.cfg, now)
	require.NoError(s.t, err)
}

func (s *tasks) waits(time.Time) []string {
	var list []string
	waits, _ := s.RunWaits(10)
	for _, w := range waits {
		list = append(list, fmt.Sprintf("%s ×%d", w.Code, w.Tasks))
	}
	return list
}

type stage struct {
	played

	t   *testing.T
	now time.Time
	// first are the first starts; attempt, fence and ask are the last ones of each item; holds
	// has the open requests.
	first   string
	attempt map[int]int
	fence   map[int]int64
	ask     map[int]int
	holds   map[int]bool
	needs   map[int]run.Needs
	adopted int
}

func newStage(t *testing.T, start begin, policy jobtype.Policy, list []work, workers ...contract.WorkerView) *stage {
	t.Helper()
	policy.GlobalExecutionConcurrency, policy.PerWorkerExecutionConcurrency = 10, 10
	s := &stage{t: t, now: epoch, attempt: map[int]int{}, fence: map[int]int64{}, ask: map[int]int{}, holds: map[int]bool{}, needs: map[int]run.Needs{}}
	src, decisions := start(t, policy.WithDefaults(), list, workers)
	s.played = src
	s.first = s.does(decisions)
	return s
}

// does follows decisions and returns the starts, as "1@a 2@b".
func (s *stage) does(decisions []run.Decision) string {
	var starts []string
	for _, d := range decisions {
		switch d.Kind {
		case run.Start:
			starts = append(starts, fmt.Sprintf("%d@%s", d.Item, d.Worker))
			s.attempt[d.Item], s.fence[d.Item] = d.Attempt, d.Fence
		case run.Acquire:
			s.ask[d.Item], s.holds[d.Ask], s.needs[d.Item] = d.Ask, true, *d.Needs
		case run.Release:
			delete(s.holds, d.Ask)
		case run.Adopt:
			s.adopted++
		}
	}
	return strings.Join(starts, " ")
}

func (s *stage) step(event run.Event) string { return s.does(s.next(s.now, event)) }

func (s *stage) end(item int, failure run.Failure) string {
	return s.endWith(item, run.Ending{Failure: failure, Message: "broken", Duration: time.Second})
}

func (s *stage) endWith(item int, end run.Ending) string {
	return s.step(run.Ended{Item: item, Attempt: s.attempt[item], Ending: end})
}

// full ends an attempt because others fill its worker.
func (s *stage) full(item int) string {
	return s.endWith(item, run.Ending{Failure: contract.FailureAtCapacity, Message: "full", Load: run.LoadReport{At: s.now, Others: 1}})
}

func (s *stage) grant(item int) string { return s.grantFrom(item, 1<<40) }

func (s *stage) grantFrom(item int, fence int64) string {
	return s.step(run.Granted{Item: item, Ask: s.ask[item], Fence: fence, Fences: 4})
}

func (s *stage) requests(item int) bool { return s.holds[s.ask[item]] }

// wait advances the time as the workflow does.
func (s *stage) wait(d time.Duration) string {
	var starts []string
	until := s.now.Add(d)
	for wake := s.NextWake(); !wake.IsZero() && !wake.After(until); wake = s.NextWake() {
		s.now = wake
		starts = append(starts, s.step(run.Tick{}))
	}
	s.now = until
	starts = append(starts, s.step(run.Tick{}))
	return strings.Join(strings.Fields(strings.Join(starts, " ")), " ")
}

func (s *stage) how(item int) string { return s.ended(s.now, item) }

func node(id string, slots int, state contract.WorkerState) contract.WorkerView {
	return contract.WorkerView{
		ID: id, Instance: "i1", State: state, Fresh: state != contract.WorkerOffline, MaxExecute: slots, MaxDetect: 1, Shared: []string{"jt"},
		Capabilities: []contract.Capability{{Handler: "h", Execute: true, Detect: true}},
	}
}

func online(id string, slots int) contract.WorkerView { return node(id, slots, contract.WorkerOnline) }

func (s *stage) waits(t *testing.T) []string {
	t.Helper()
	explains, is := s.played.(explained)
	require.True(t, is)
	return explains.waits(s.now)
}
