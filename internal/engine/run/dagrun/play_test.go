package dagrun_test

import (
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/dagrun"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func compile(t require.TestingT, text string) *dag.Graph {
	loaded, err := spec.Load("dag.yaml", []byte(text))
	require.NoError(t, err)
	compiled, err := spec.Compile(loaded, nil)
	require.NoError(t, err)
	return compiled.Graph
}

func worker(id string, slots int) contract.WorkerView {
	return contract.WorkerView{
		ID: id, Instance: "i1", State: contract.WorkerOnline, Fresh: true, Beat: 1, MaxExecute: slots,
		Capabilities: []contract.Capability{{Handler: dagrun.CommandHandler, Execute: true}, {Handler: "h", Execute: true, MaxExecute: 1}},
	}
}

// play drives a graph by hand.
type play struct {
	t       require.TestingT
	now     time.Time
	g       *graph
	running map[string]decision // attempts in flight, by task
	tries   map[string]int      // the number of the newest attempt, by task
	fences  map[string][]int64  // of all attempts, by task
	asked   map[string]bool     // cancellations by the graph
	// insisted are the sub-DAGs that were ended at once.
	insisted []string
	watched  bool
	probed   []decision
	lookups  []string
	lost     []decision     // attempts on workers that are given up
	asks     []decision     // requests for resources without an answer
	held     map[int]string // granted requests, by their number
	released []decision     // all that was given back
	end      *decision
	grants   int64
}

func start(t require.TestingT, text string, cfg dagrun.Config) *play {
	return begin(t, compile(t, text), cfg)
}

func begin(t require.TestingT, compiled *dag.Graph, cfg dagrun.Config) *play {
	r, err := dagrun.NewRun(compiled)
	require.NoError(t, err)
	g, err := newGraph(r, cfg, epoch)
	require.NoError(t, err)
	p := newPlay(t, g, epoch)
	p.g.Observe(p.now, 3, 0, 0)
	p.do(p.g.Start(p.now))
	return p
}

func newPlay(t require.TestingT, g *graph, now time.Time) *play {
	return &play{
		t: t, now: now, g: g, running: map[string]decision{}, tries: map[string]int{}, asked: map[string]bool{},
		fences: map[string][]int64{}, held: map[int]string{},
	}
}

func (p *play) id(d decision) string {
	if d.Item < 0 || d.Kind == run.Probe || d.Kind == run.Watch {
		return ""
	}
	return p.g.Run().ID(dag.Index(d.Item))
}

func (p *play) do(decisions []decision) {
	for _, d := range decisions {
		id := p.id(d)
		switch d.Kind {
		case run.Start, startNoop, startDAG:
			require.NotContains(p.t, p.running, id, "a task has one attempt at a time")
			require.Equal(p.t, p.tries[id]+1, d.Attempt, "attempts of %s are counted, and none counts twice", id)
			p.running[id], p.tries[id] = d, d.Attempt
			p.noteFence(id, d)
		case run.Cancel:
			require.Contains(p.t, p.running, id)
			p.asked[id] = true
		case insist:
			require.True(p.t, p.asked[id], "it was asked to end before")
			p.insisted = append(p.insisted, id)
		case run.Forget:
			delete(p.running, id)
			delete(p.asked, id)
		case run.Abandon:
			require.Contains(p.t, p.running, id)
			p.lost = append(p.lost, d)
		case run.Probe:
			p.probed = append(p.probed, d)
		case run.Watch:
			p.watched = true
		case lookUp:
			p.lookups = append(p.lookups, d.Work)
		case run.Acquire:
			p.asks = append(p.asks, d)
		case run.Release:
			p.asks = slices.DeleteFunc(p.asks, func(a decision) bool { return a.Ask == d.Ask })
			delete(p.held, d.Ask)
			p.released = append(p.released, d)
		case endRun:
			require.Nil(p.t, p.end, "a run ends once")
			p.end = &d
		case run.MoreFences:
			require.Fail(p.t, "fences of the clock do not end")
		}
	}
}

func (p *play) noteFence(id string, d decision) {
	for len(p.fences[id]) < d.Attempt {
		p.fences[id] = append(p.fences[id], 0)
	}
	if d.Job != nil {
		p.fences[id][d.Attempt-1] = d.Fence
	}
}

func (p *play) workers(view ...contract.WorkerView) {
	p.do(p.g.Next(p.now, run.WorkersChanged{Workers: slices.Clone(view)}))
}

func (p *play) ended(id string, end run.Ending) {
	d, ok := p.running[id]
	require.True(p.t, ok, "%s runs", id)
	delete(p.running, id)
	delete(p.asked, id)
	p.do(p.endedOf(d.Item, d.Attempt, end))
}

func (p *play) endedOf(item, attempt int, end run.Ending) []decision {
	return p.g.Next(p.now, run.Ended{Item: item, Attempt: attempt, Ending: end})
}

func (p *play) item(id string) int {
	if i, ok := p.g.Run().Lookup(id); ok {
		return int(i)
	}
	return 1 << 20
}

// grantedOf grants four fences, as for an attempt and three retries.
func (p *play) grantedOf(id string, ask int) []decision {
	p.grants += 4
	return p.g.Next(p.now, run.Granted{Item: p.item(id), Ask: ask, Fence: p.grants, Fences: 4})
}

func (p *play) refusedOf(id string, ask int, reason string) []decision {
	return p.g.Next(p.now, run.Refused{Item: p.item(id), Ask: ask, Reason: reason})
}

func (p *play) deliveredOf(id string, fence int64, end run.Ending) []decision {
	return p.g.Next(p.now, run.Delivered{Item: p.item(id), Fence: fence, Ending: end})
}

// delivered plays an outcome that a worker delivered itself.
func (p *play) delivered(id string, attempt int, end run.Ending) {
	p.do(p.deliveredOf(id, p.fences[id][attempt-1], end))
}

// grant answers the k-th open request.
func (p *play) grant(k int) {
	d := p.asks[k]
	p.asks = append(p.asks[:k:k], p.asks[k+1:]...)
	p.held[d.Ask] = p.id(d)
	p.do(p.grantedOf(p.id(d), d.Ask))
}

func (p *play) pass(d time.Duration) {
	p.now = p.now.Add(d)
	p.do(p.g.Next(p.now, run.Tick{}))
}

func (p *play) state(id string) string {
	i, ok := p.g.Run().Lookup(id)
	require.True(p.t, ok, id)
	return p.g.Run().State(i).String()
}

func (p *play) view(id string) dagrun.TaskView {
	i, ok := p.g.Run().Lookup(id)
	require.True(p.t, ok, id)
	return p.g.View(i)
}

// roll snapshots and restores.
func (p *play) roll(cfg dagrun.Config) {
	data, err := p.g.Snapshot()
	require.NoError(p.t, err)
	g, err := restoreGraph(p.g.Run().Graph(), data, cfg, p.now)
	require.NoError(p.t, err)
	again, err := g.Snapshot()
	require.NoError(p.t, err)
	require.Equal(p.t, string(data), string(again), "Snapshot(Restore(s)) is s")
	p.g = g
	p.g.Observe(p.now, 3, 0, 0)
	p.do(g.Next(p.now, run.Tick{}))
}
