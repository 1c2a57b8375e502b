package dagrun_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/breaks"
	"github.com/roundsman/roundsman/internal/engine/run/dagrun"
)

// shared is a run in a lane. It keeps its decisions about the lane.
type shared struct {
	*play

	seen []decision
}

func share(t *testing.T, tasks string) *shared {
	t.Helper()
	compiled := compileFiles(t, one+tasks, map[string]string{"sub.yaml": subDAG})
	r, err := dagrun.NewRun(compiled)
	require.NoError(t, err)
	g, err := newGraph(r, dagrun.Config{Lane: "night"}, epoch)
	require.NoError(t, err)
	s := &shared{play: newPlay(t, g, epoch)}
	s.g.Observe(s.now, 3, 0, 0)
	s.note(s.g.Start(s.now))
	return s
}

func (s *shared) note(decisions []decision) {
	for _, d := range decisions {
		if slices.Contains([]run.Kind{releaseLane, requestLane, grantLane}, d.Kind) {
			s.seen = append(s.seen, d)
		}
	}
	s.do(decisions)
}

// lane returns the decisions about the lane since the last call.
func (s *shared) lane() (list []run.Kind) {
	for _, d := range s.seen {
		list = append(list, d.Kind)
	}
	s.seen = nil
	return list
}

func (s *shared) report(id string, attempt, seq int, wants bool) {
	s.note(s.g.LaneReported(s.now, breaks.Report{Job: s.item(id), Attempt: attempt, Seq: seq, Wants: wants}))
}

func (s *shared) over(id string, end run.Ending) {
	d := s.running[id]
	delete(s.running, id)
	s.note(s.endedOf(d.Item, d.Attempt, end))
}

func TestALaneIsGivenBackForAnApprovalInASubDAG(t *testing.T) {
	t.Parallel()
	s := share(t, "{id: gate, approval: {}}\n  - {id: a, dag: sub.yaml}\n  - {id: b, dag: sub.yaml}\n")
	assert.Empty(t, s.lane(), "sub-DAGs run")
	s.report("a", 1, 1, false)
	assert.Empty(t, s.lane(), "b runs")
	s.report("b", 1, 1, false)
	assert.Equal(t, []run.Kind{releaseLane}, s.lane())
	s.report("b", 1, 2, true)
	assert.Equal(t, []run.Kind{requestLane}, s.lane(), "no grant before the group's")
	s.note(s.g.LaneGranted(s.now, 2))
	require.Len(t, s.seen, 1)
	assert.Equal(t, run.Decision{Kind: grantLane, Item: s.item("b"), Attempt: 1, Ask: 2}, s.seen[0].Decision)
	s.seen = nil
	s.report("b", 1, 2, true)
	s.report("b", 1, 1, false)
	assert.Empty(t, s.lane(), "b works: reports that come twice or late do nothing")
	s.report("b", 1, 3, false)
	assert.Equal(t, []run.Kind{releaseLane}, s.lane())
}

func TestASubDAGIsGrantedItsLaneWhileTheRunHasIt(t *testing.T) {
	t.Parallel()
	s := share(t, "{id: nap, sleep: 1h}\n  - {id: a, dag: sub.yaml}\n")
	s.report("a", 1, 1, false)
	s.report("a", 1, 2, true)
	assert.Equal(t, []run.Kind{grantLane}, s.lane())
	s.report("a", 2, 3, true)
	assert.Empty(t, s.lane(), "a report of an attempt that does not run")
}

func TestTheRetryOfASubDAGWaitsForTheLane(t *testing.T) {
	t.Parallel()
	s := share(t, "{id: a, dag: sub.yaml, retries: {limit: 1}}\n  - {id: gate, approval: {}}\n")
	s.report("a", 1, 1, false)
	assert.Equal(t, []run.Kind{releaseLane}, s.lane())
	s.over("a", run.Ending{Failure: contract.FailureFailed, Message: "nobody approved it"})
	assert.Equal(t, []run.Kind{requestLane}, s.lane())
	s.now = s.now.Add(time.Hour)
	s.note(s.g.Next(s.now, run.Tick{}))
	assert.NotContains(t, s.running, "a")
	waits, _ := s.g.RunWaits(10)
	assert.Contains(t, codes(waits), contract.CodeLaneBusy)
	s.roll(dagrun.Config{Lane: "night"})
	assert.NotContains(t, s.running, "a")
	s.note(s.g.LaneGranted(s.now, 2))
	assert.Contains(t, s.running, "a")
	s.report("a", 2, 1, false)
	assert.Equal(t, []run.Kind{releaseLane}, s.lane())
}

func codes(waits []dagrun.Wait) (list []contract.Code) {
	for _, w := range waits {
		list = append(list, w.Code)
	}
	return list
}
