package dagrun

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/engine/run"
)

// magic begins every state; its last byte is the version.
const magic = "RMG1"

// ErrState is wrapped by errors about bytes that are no state of a run.
var ErrState = errors.New("this is not the state of a DAG run")

type saved struct {
	StartedAt time.Time                     `json:"started_at,omitzero"`
	HeldUntil time.Time                     `json:"held_until,omitzero"`
	Lane      lane                          `json:"lane,omitzero"`
	FullSince time.Time                     `json:"full_since,omitzero"`
	GateSince time.Time                     `json:"gate_since,omitzero"`
	FanSince  map[string]time.Time          `json:"fan_since,omitempty"`
	Reason    string                        `json:"reason,omitempty"`
	Lost      bool                          `json:"lost,omitempty"`
	Seq       int64                         `json:"seq,omitempty"`
	Tasks     []savedTask                   `json:"tasks,omitempty"`
	Starts    []dag.Index                   `json:"starts,omitempty"`
	Attempts  map[dag.Index]int             `json:"attempts,omitempty"`
	Names     []string                      `json:"names,omitempty"`
	Errors    map[dag.Index]string          `json:"errors,omitempty"`
	Warned    map[dag.Index]bool            `json:"warned,omitempty"`
	Taken     map[dag.Index]string          `json:"taken,omitempty"`
	Rerun     map[dag.Index]bool            `json:"rerun,omitempty"`
	Results   map[dag.Index]keptData        `json:"results,omitempty"`
	Continues map[dag.Index]json.RawMessage `json:"continues,omitempty"`
	Times     []byte                        `json:"times,omitempty"`
	Created   []creation                    `json:"created,omitempty"`
	// Engine is nil in the state of a run that has not begun.
	Engine *run.Snapshot `json:"engine,omitempty"`
}

type keptData struct {
	Data   json.RawMessage `json:"d"`
	Wanted int             `json:"w"`
}

type savedTask struct {
	Task      dag.Index      `json:"t"`
	Phase     phase          `json:"p"`
	Seq       int64          `json:"s,omitempty"`
	Placed    bool           `json:"pl,omitempty"`
	Asking    bool           `json:"as,omitempty"`
	StartedAt time.Time      `json:"sa,omitzero"`
	BeganAt   time.Time      `json:"ba,omitzero"`
	Until     time.Time      `json:"u,omitzero"`
	Rendered  *savedRendered `json:"d,omitempty"`
}

// Snapshot encodes the state without the graph. Continue as new only when nothing is in flight. A reader of an open
// run's state sees its tasks as running.
func (g *views) Snapshot() ([]byte, error) {
	rest, err := json.Marshal(g.save())
	if err != nil {
		return nil, fmt.Errorf("encode the state of the run: %w", err)
	}
	states, workers := g.run.Snapshot(), g.book.encodeWorkers()
	data := make([]byte, 0, len(magic)+len(states)+len(workers)+len(rest)+16)
	data = append(data, magic...)
	data = append(binary.AppendUvarint(data, uint64(len(states))), states...)
	data = append(binary.AppendUvarint(data, uint64(len(workers))), workers...)
	return append(data, rest...), nil
}

func (g *views) save() saved {
	s := saved{
		StartedAt: g.startedAt, HeldUntil: g.heldUntil, Lane: g.lane, FullSince: g.fullSince, GateSince: g.gateSince, FanSince: g.fanSince, Reason: g.reason, Lost: g.lost,
		Seq: g.seq, Starts: g.starts[g.next:], Attempts: g.book.attempts, Names: g.book.names, Errors: g.book.errors, Warned: g.book.warned, Taken: g.book.taken, Rerun: g.book.rerun, Continues: g.continues.of, Times: g.book.encodeTimes(g.run.Len()), Created: g.book.created,
	}
	if g.engine != nil && g.run.Started() {
		s.Engine = new(g.engine.Snapshot())
	}
	for _, t := range g.begun() {
		if t.phase == phaseLookup {
			s.Starts = append(slices.Clip(s.Starts), t.i)
			continue
		}
		s.Tasks = append(s.Tasks, savedTask{
			Task: t.i, Phase: t.phase, Seq: t.seq, Placed: t.placed, Asking: t.asking, StartedAt: t.startedAt, BeganAt: t.beganAt, Until: t.until, Rendered: g.changedSince(t),
		})
	}
	if len(g.results.of) > 0 {
		s.Results = make(map[dag.Index]keptData, len(g.results.of))
		//workflowcheck:ignore encoding sorts the keys
		for i, k := range g.results.of {
			s.Results[i] = keptData{k.data, k.wanted}
		}
	}
	return s
}

// Restore is the inverse of [Graph.Snapshot]. A state from [Prepare] has not begun: Start must follow.
func Restore(compiled *dag.Graph, data []byte, cfg Config, now time.Time) (*Graph, error) {
	g, s, err := read(compiled, data, cfg)
	if err != nil {
		return nil, err
	}
	if !g.run.Started() {
		g.init(now)
		return g, nil
	}
	if s.Engine == nil {
		return nil, fmt.Errorf("%w: it has no items", ErrState)
	}
	if g.engine, err = run.Restore(g.engineConfig(), *s.Engine, now); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrState, err)
	}
	if n := g.engine.Busy(); n > 0 {
		return nil, fmt.Errorf("%w: %d tasks are in flight", ErrState, n)
	}
	g.setDeadline()
	g.describe()
	if g.run.Held() {
		g.timers.Push(timer{at: g.heldUntil, kind: timerRelease})
	}
	for _, t := range s.Tasks {
		if err := g.restoreTask(t); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// Read takes a state to look at it, as [Graph.Tasks] and [Prepare] do.
func Read(compiled *dag.Graph, data []byte) (*Graph, error) {
	g, s, err := read(compiled, data, Config{})
	if err != nil {
		return nil, err
	}
	g.engine = run.New(g.engineConfig(), s.StartedAt)
	return g, nil
}

func read(compiled *dag.Graph, data []byte, cfg Config) (*Graph, saved, error) {
	var s saved
	if len(data) < len(magic) || string(data[:len(magic)]) != magic {
		return nil, s, fmt.Errorf("%w: it does not begin with %s", ErrState, magic)
	}
	rest := data[len(magic):]
	states, rest, ok1 := section(rest)
	workers, rest, ok2 := section(rest)
	if !ok1 || !ok2 {
		return nil, s, fmt.Errorf("%w: it is cut short", ErrState)
	}
	if err := json.Unmarshal(rest, &s); err != nil {
		return nil, s, fmt.Errorf("%w: %w", ErrState, err)
	}
	restored, err := dag.Restore(compiled, states)
	if err != nil {
		return nil, s, err
	}
	g, err := open(restored, cfg)
	if err != nil {
		return nil, s, err
	}
	g.outcome = restored.Outcome()
	g.startedAt, g.heldUntil, g.reason, g.lost, g.lane = s.StartedAt, s.HeldUntil, s.Reason, s.Lost, s.Lane
	g.fullSince, g.gateSince, g.fanSince, g.seq, g.starts = s.FullSince, s.GateSince, s.FanSince, s.Seq, s.Starts
	return g, s, g.restoreBook(s, workers)
}

func section(data []byte) (part, rest []byte, ok bool) {
	n, size := binary.Uvarint(data)
	if size <= 0 || n > uint64(len(data)-size) {
		return nil, nil, false
	}
	end := size + int(n) //nolint:gosec // n is at most the length
	return data[size:end], data[end:], true
}

func (g *records) restoreBook(s saved, workers []byte) error {
	valid := func(i dag.Index) bool { return i >= 0 && int(i) < g.run.Len() }
	g.book.attempts, g.book.errors, g.book.warned = s.Attempts, s.Errors, s.Warned
	g.book.created = s.Created
	g.book.decodeTimes(s.Times, g.run.Len())
	//workflowcheck:ignore a sum does not depend on the order
	for i, message := range s.Errors {
		if !valid(i) {
			return fmt.Errorf("%w: it names task %d", ErrState, i)
		}
		g.book.bytes += len(message)
	}
	//workflowcheck:ignore each goes to a place of its own
	for i, from := range s.Taken {
		if !valid(i) {
			return fmt.Errorf("%w: it names task %d", ErrState, i)
		}
		g.book.takeOver(i, from)
	}
	g.book.rerun = s.Rerun
	//workflowcheck:ignore each goes to a place of its own
	for i, k := range s.Results {
		if !valid(i) {
			return fmt.Errorf("%w: it names task %d", ErrState, i)
		}
		g.results.put(i, &kept{data: k.Data, wanted: k.Wanted})
	}
	//workflowcheck:ignore each goes to a place of its own
	for i, checkpoint := range s.Continues {
		if !valid(i) {
			return fmt.Errorf("%w: it names task %d", ErrState, i)
		}
		g.continues.put(i, checkpoint)
	}
	for _, i := range s.Starts {
		if !valid(i) {
			return fmt.Errorf("%w: it names task %d", ErrState, i)
		}
	}
	for _, name := range s.Names {
		g.book.number(name)
	}
	return g.book.decodeWorkers(workers, g.run.Len())
}

func (g *Graph) restoreTask(s savedTask) error {
	if s.Task < 0 || int(s.Task) >= g.run.Len() || s.Phase == phaseNone || s.Phase == phaseLookup || s.Phase > phaseApproval {
		return fmt.Errorf("%w: it names task %d", ErrState, s.Task)
	}
	definition, err := g.program.Definition(s.Task)
	if err != nil {
		return err
	}
	item, known := g.engine.View(int(s.Task))
	if known == (s.Phase == phaseYielded) {
		return fmt.Errorf("%w: task %d is no item", ErrState, s.Task)
	}
	t := &task{
		i: s.Task, definition: definition, phase: s.Phase, seq: s.Seq, placed: s.Placed, asking: s.Asking, admitted: g.run.Admitted(s.Task) && item.Phase != run.PhaseDue,
		startedAt: s.StartedAt, beganAt: s.BeganAt, until: s.Until,
	}
	g.live[t.i] = t
	g.gate.count(t)
	if t.admitted {
		g.gate.admitted++
	}
	if t.phase == phaseYielded {
		g.gate.yielded = append(g.gate.yielded, t)
	}
	if !t.until.IsZero() {
		g.timers.Push(timer{at: t.until, kind: timerIdle, task: t.i})
	}
	if g.shapeOf(definition).plain {
		return nil
	}
	return g.restoreRendered(t, s.Rendered)
}
