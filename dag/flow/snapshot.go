package flow

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/placement"
)

// magic begins every state; its last byte is the version.
const magic = "RMF1"

// ErrState is wrapped by errors about bytes that are no state of a run.
var ErrState = errors.New("this is not the state of a DAG run")

// saved is what a state holds beside dag.Run's own snapshot and the column of
// workers, which are binary.
type saved struct {
	StartedAt time.Time              `json:"started_at,omitzero"`
	HeldUntil time.Time              `json:"held_until,omitzero"`
	PausedAt  time.Time              `json:"paused_at,omitzero"`
	PausedBy  string                 `json:"paused_by,omitempty"`
	PauseNote string                 `json:"pause_note,omitempty"`
	FullSince time.Time              `json:"full_since,omitzero"`
	GateSince time.Time              `json:"gate_since,omitzero"`
	Reason    string                 `json:"reason,omitempty"`
	Fence     int64                  `json:"fence,omitempty"`
	Watching  bool                   `json:"watching,omitempty"`
	Mean      time.Duration          `json:"mean,omitempty"`
	Tasks     []savedTask            `json:"tasks,omitempty"`
	Starts    []dag.Index            `json:"starts,omitempty"`
	Workers   []savedWorker          `json:"workers,omitempty"`
	Turn      int                    `json:"turn,omitempty"`
	Asks      int                    `json:"asks,omitempty"`
	Nobody    map[string]time.Time   `json:"nobody,omitempty"`
	Attempts  map[dag.Index]int      `json:"attempts,omitempty"`
	Names     []string               `json:"names,omitempty"`
	Errors    map[dag.Index]string   `json:"errors,omitempty"`
	Results   map[dag.Index]keptData `json:"results,omitempty"`
}

type keptData struct {
	Data   json.RawMessage `json:"d"`
	Wanted int             `json:"w"`
}

type savedTask struct {
	Task       dag.Index       `json:"t"`
	Phase      phase           `json:"p"`
	Attempt    int             `json:"a,omitempty"`
	Retries    int             `json:"r,omitempty"`
	Charged    int             `json:"g,omitempty"`
	Fence      int64           `json:"f,omitempty"`
	Losses     int             `json:"l,omitempty"`
	Avoid      string          `json:"v,omitempty"`
	Until      time.Time       `json:"u,omitzero"`
	QueuedAt   time.Time       `json:"q,omitzero"`
	StartedAt  time.Time       `json:"s,omitzero"`
	Checkpoint json.RawMessage `json:"c,omitempty"`
	Note       string          `json:"n,omitempty"`
	Ask        int             `json:"k,omitempty"`
	Rendered   *savedRendered  `json:"d,omitempty"`
}

type savedWorker struct {
	Worker      placement.Worker `json:"w"`
	Offer       Offer            `json:"o"`
	CoolUntil   time.Time        `json:"c,omitzero"`
	Suspect     bool             `json:"s,omitempty"`
	SuspectBeat int64            `json:"b,omitempty"`
	Unsupported bool             `json:"u,omitempty"`
	Load        placement.Load   `json:"l,omitzero"`
}

// Snapshot encodes the state of the run without its graph. Attempts in flight are
// not part of it: continue as new only when there are none. What looks at the
// state of a run that has not ended sees their tasks as running.
func (f *Flow) Snapshot() ([]byte, error) {
	rest, err := json.Marshal(f.save())
	if err != nil {
		return nil, fmt.Errorf("encode the state of the run: %w", err)
	}
	states, workers := f.run.Snapshot(), f.book.encodeWorkers()
	data := make([]byte, 0, len(magic)+len(states)+len(workers)+len(rest)+16)
	data = append(data, magic...)
	data = append(binary.AppendUvarint(data, uint64(len(states))), states...)
	data = append(binary.AppendUvarint(data, uint64(len(workers))), workers...)
	return append(data, rest...), nil
}

func (f *Flow) save() saved {
	s := saved{
		StartedAt: f.startedAt, HeldUntil: f.heldUntil, Reason: f.reason, Fence: f.fence,
		PausedAt: f.pausedAt, PausedBy: f.pausedBy, PauseNote: f.pauseNote, FullSince: f.fullSince, GateSince: f.gateSince,
		Watching: f.watching, Mean: f.roll.mean, Starts: f.starts[f.next:], Turn: f.fleet.Turn, Asks: f.asks,
		Attempts: f.book.attempts, Names: f.book.names, Errors: f.book.errors,
	}
	for _, i := range f.liveTasks() {
		t := f.live[i]
		// What a class without tasks knows is about tasks that are not there any more.
		if c := t.class; c != nil && !c.nobodySince.IsZero() {
			if s.Nobody == nil {
				s.Nobody = map[string]time.Time{}
			}
			s.Nobody[c.key] = c.nobodySince
		}
		s.Tasks = append(s.Tasks, savedTask{
			Task: t.i, Phase: t.phase, Attempt: t.attempt, Retries: t.retries, Charged: t.charged, Fence: t.fence, Losses: t.losses, Avoid: t.avoid,
			Until: t.until, QueuedAt: t.queuedAt, StartedAt: t.startedAt, Checkpoint: t.checkpoint, Note: t.note, Ask: t.ask.number(),
			Rendered: f.changedSince(t),
		})
	}
	for _, w := range f.fleet.Members() {
		s.Workers = append(s.Workers, savedWorker{w.Worker, w.Offer, w.CoolUntil, w.Suspect, w.SuspectBeat, w.Unsupported, w.Load})
	}
	if len(f.results.of) > 0 {
		s.Results = make(map[dag.Index]keptData, len(f.results.of))
		//workflowcheck:ignore encoding sorts the keys
		for i, k := range f.results.of {
			s.Results[i] = keptData{k.data, k.wanted}
		}
	}
	return s
}

// liveTasks lists the tasks that have begun, in the order in which they wait.
func (f *Flow) liveTasks() []dag.Index {
	list := make([]dag.Index, 0, len(f.live))
	//workflowcheck:ignore sorted right below
	for i := range f.live {
		list = append(list, i)
	}
	slices.SortFunc(list, func(a, b dag.Index) int {
		if x, y := f.live[a].seq, f.live[b].seq; x != y {
			return x - y
		}
		return int(a - b)
	})
	return list
}

// Restore is the inverse of [Flow.Snapshot]. A state made by [Prepare] has not
// begun: New's part is done here with now, and Start must follow.
func Restore(graph *dag.Graph, data []byte, cfg Config, now time.Time) (*Flow, error) {
	f, s, err := read(graph, data, cfg)
	if err != nil {
		return nil, err
	}
	if !f.run.Started() {
		f.startedAt, f.fence = now, now.UnixMilli()<<20
		f.setDeadline()
		return f, nil
	}
	f.setDeadline()
	if f.run.Held() {
		f.timers.push(timer{at: f.heldUntil, kind: timerRelease})
	}
	members := make([]*Worker, len(s.Workers))
	for k, w := range s.Workers {
		members[k] = &Worker{
			Worker: w.Worker, Offer: w.Offer, CoolUntil: w.CoolUntil, Suspect: w.Suspect,
			SuspectBeat: w.SuspectBeat, Unsupported: w.Unsupported, Load: w.Load,
		}
		if w.CoolUntil.After(now) {
			f.timers.push(timer{at: w.CoolUntil, kind: timerWake, task: dag.None})
		}
	}
	f.fleet.Restore(members, s.Turn)
	f.reprobe = true
	for _, t := range s.Tasks {
		if err := f.restoreTask(t, s.Nobody); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// Read takes a state for looking at, as [Flow.Tasks] and [Prepare] do.
func Read(graph *dag.Graph, data []byte) (*Flow, error) {
	f, _, err := read(graph, data, Config{})
	return f, err
}

func read(graph *dag.Graph, data []byte, cfg Config) (*Flow, saved, error) {
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
	run, err := dag.Restore(graph, states)
	if err != nil {
		return nil, s, err
	}
	f, err := open(run, cfg)
	if err != nil {
		return nil, s, err
	}
	f.outcome = run.Outcome()
	f.startedAt, f.heldUntil, f.reason = s.StartedAt, s.HeldUntil, s.Reason
	f.pausedAt, f.pausedBy, f.pauseNote, f.fullSince, f.gateSince = s.PausedAt, s.PausedBy, s.PauseNote, s.FullSince, s.GateSince
	f.fence, f.watching, f.roll.mean, f.starts, f.asks = s.Fence, s.Watching, s.Mean, s.Starts, s.Asks
	if err := f.restoreBook(s, workers); err != nil {
		return nil, s, err
	}
	return f, s, nil
}

func section(data []byte) (part, rest []byte, ok bool) {
	n, size := binary.Uvarint(data)
	if size <= 0 || n > uint64(len(data)-size) {
		return nil, nil, false
	}
	end := size + int(n) //nolint:gosec // n is at most the length
	return data[size:end], data[end:], true
}

func (f *Flow) restoreBook(s saved, workers []byte) error {
	valid := func(i dag.Index) bool { return i >= 0 && int(i) < f.run.Len() }
	f.book.attempts, f.book.errors = s.Attempts, s.Errors
	//workflowcheck:ignore a sum does not depend on the order
	for i, message := range s.Errors {
		if !valid(i) {
			return fmt.Errorf("%w: it names task %d", ErrState, i)
		}
		f.book.bytes += len(message)
	}
	//workflowcheck:ignore each goes to a place of its own
	for i, k := range s.Results {
		if !valid(i) {
			return fmt.Errorf("%w: it names task %d", ErrState, i)
		}
		f.results.put(i, &kept{data: k.Data, wanted: k.Wanted})
	}
	for _, i := range s.Starts {
		if !valid(i) {
			return fmt.Errorf("%w: it names task %d", ErrState, i)
		}
	}
	for _, name := range s.Names {
		f.book.number(name)
	}
	return f.book.decodeWorkers(workers, f.run.Len())
}

// restoreTask takes up a task that had begun. One whose attempt was in flight
// cannot be there in a state to go on from.
func (f *Flow) restoreTask(s savedTask, nobody map[string]time.Time) error {
	if s.Task < 0 || int(s.Task) >= f.run.Len() || s.Phase == phaseRunning || s.Phase == phaseRecalling || s.Phase == phaseLookup || s.Phase == phaseNone {
		return fmt.Errorf("%w: task %d is in flight", ErrState, s.Task)
	}
	definition, err := f.program.Definition(s.Task)
	if err != nil {
		return err
	}
	f.seq++
	t := &task{
		i: s.Task, definition: definition, phase: s.Phase, attempt: s.Attempt, retries: s.Retries, charged: s.Charged, fence: s.Fence, losses: s.Losses,
		avoid: s.Avoid, until: s.Until, queuedAt: s.QueuedAt, startedAt: s.StartedAt, checkpoint: s.Checkpoint, note: s.Note, seq: f.seq,
	}
	f.live[t.i] = t
	if s.Ask > 0 {
		t.ask = f.newAsk(t, s.Ask)
	}
	if err := f.restoreRendered(t, s.Rendered); err != nil {
		return err
	}
	asked := s.Phase == phaseResources || s.Phase == phaseGranted
	if s.Phase == phaseResources && t.ask == nil {
		return fmt.Errorf("%w: task %d waits for resources and has not asked", ErrState, s.Task)
	}
	// Until its resources are granted a task's job type need not be known.
	if wantsWorker(definition) && !asked && s.Phase != phaseYielded {
		t.class = f.classOf(t)
		t.class.nobodySince = nobody[t.class.key]
	}
	kind := timerNoWorker
	switch s.Phase {
	case phaseGranted:
		if !f.run.Admitted(t.i) { // It has its place.
			f.granted = append(f.granted, t.i)
		}
		return nil
	case phaseYielded:
		f.yielded++
		return nil
	case phaseWaiting:
		t.class.waiting = append(t.class.waiting, t)
		f.timers.push(timer{at: t.queuedAt.Add(f.timeout(t)), kind: timerNoWorker, task: t.i, attempt: t.attempt})
		return nil
	case phaseBackoff:
		kind = timerReady
	case phaseSleeping:
		kind = timerSleep
	case phaseApproval:
		kind = timerApproval
	case phaseNone, phaseRunning, phaseRecalling, phaseLookup, phaseResources:
	}
	if !t.until.IsZero() {
		f.timers.push(timer{at: t.until, kind: kind, task: t.i, attempt: t.attempt})
	}
	return nil
}

// encodeWorkers writes the column of workers as runs of equal numbers.
func (b *book) encodeWorkers() []byte {
	var data []byte
	for i := 0; i < len(b.workers); {
		n := i + 1
		for n < len(b.workers) && b.workers[n] == b.workers[i] {
			n++
		}
		data = binary.AppendUvarint(data, uint64(b.workers[i]))
		data = binary.AppendUvarint(data, uint64(n-i)) //nolint:gosec // positive
		i = n
	}
	return data
}

func (b *book) decodeWorkers(data []byte, tasks int) error {
	for len(data) > 0 {
		number, size := binary.Uvarint(data)
		if size <= 0 || number > uint64(len(b.names)) {
			return fmt.Errorf("%w: its workers are malformed", ErrState)
		}
		count, more := binary.Uvarint(data[size:])
		if more <= 0 || count == 0 || count > uint64(tasks-len(b.workers)) { //nolint:gosec // never negative
			return fmt.Errorf("%w: its workers are malformed", ErrState)
		}
		for range count {
			b.workers = append(b.workers, uint16(number)) //nolint:gosec // bounded by the names
		}
		data = data[size+more:]
	}
	return nil
}
