package run

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run/attempt"
	"github.com/roundsman/roundsman/internal/engine/run/rollover"
	"github.com/roundsman/roundsman/internal/engine/run/trial"
)

// Snapshot is the state of an engine for continue-as-new. Of attempts in flight only idle ones survive.
type Snapshot struct {
	Items      []*item       `json:"items,omitempty"`
	Workers    []savedWorker `json:"workers,omitempty"`
	Absent     []savedAbsent `json:"absent,omitempty"`
	Stamp      int64         `json:"stamp,omitempty"`
	Watching   bool          `json:"watching,omitempty"`
	NoWorker   []savedClass  `json:"no_worker,omitempty"`
	Pause      Pause         `json:"pause,omitzero"`
	Suspended  bool          `json:"suspended,omitempty"`
	Stopped    State         `json:"stopped,omitempty"`
	StopReason string        `json:"stop_reason,omitempty"`
	Closing    Closing       `json:"closing,omitzero"`
	Fence      int64         `json:"fence"`
	FenceEnd   int64         `json:"fence_end,omitempty"`
	Wants      bool          `json:"wants_fences,omitempty"`
	Fenced     bool          `json:"fenced,omitempty"`
	Asks       int           `json:"asks,omitempty"`
	Mean       time.Duration `json:"mean,omitempty"`
	ChangedAt  time.Time     `json:"changed_at,omitzero"`
}

type savedWorker struct {
	contract.WorkerView

	CoolUntil   time.Time                `json:"cool_until,omitzero"`
	Suspect     bool                     `json:"suspect,omitempty"`
	SuspectBeat int64                    `json:"suspect_beat,omitempty"`
	Unsupported []string                 `json:"unsupported,omitempty"`
	Load        trial.Load               `json:"load,omitzero"`
	Pace        map[string]time.Duration `json:"pace,omitempty"`
	Used        int64                    `json:"used,omitempty"`
	Starts      attempt.Starts           `json:"starts,omitzero"`
}

type savedAbsent struct {
	ID       string `json:"id"`
	Instance string `json:"instance"`
}

type savedClass struct {
	Class string    `json:"class"`
	Since time.Time `json:"since"`
	Fail  time.Time `json:"fail,omitzero"`
	// Recovering: the registry was incomplete.
	Recovering bool `json:"recovering,omitempty"`
}

// Snapshot returns the state. It shares memory with the engine: encode it before the next event.
func (e *views) Snapshot() Snapshot {
	f := &e.fleet
	s := Snapshot{
		Items: e.itemsToTravel(), Stamp: f.stamp, Watching: f.watching, Pause: e.pause, Suspended: e.suspended,
		Stopped: e.stopped, StopReason: e.stopReason, Closing: e.closing, Fence: e.fence, FenceEnd: e.fenceEnd, Wants: e.wantsFences, Fenced: e.fenced, Asks: e.asks,
		Mean: e.roll.Mean(), ChangedAt: e.changedAt,
	}
	for _, w := range f.sorted() {
		s.Workers = append(s.Workers, savedWorker{w.WorkerView, w.coolUntil, w.suspect, w.suspectBeat, w.unsupported, w.load, w.pace, w.used, w.starts})
	}
	//workflowcheck:ignore sorted right below
	for id, w := range f.absent {
		s.Absent = append(s.Absent, savedAbsent{id, w.Instance})
	}
	slices.SortFunc(s.Absent, func(a, b savedAbsent) int { return cmp.Compare(a.ID, b.ID) })
	//workflowcheck:ignore sorted right below
	for key, c := range e.classes {
		if !c.noWorkerSince.IsZero() && len(c.items) > 0 {
			s.NoWorker = append(s.NoWorker, savedClass{key, c.noWorkerSince, c.failAt, c.recovering})
		}
	}
	slices.SortFunc(s.NoWorker, func(a, b savedClass) int { return cmp.Compare(a.Class, b.Class) })
	return s
}

const maxBaggage = 384 << 10

// Over maxBaggage, items lose their messages in the state. The items themselves are not changed: a query may read the state.
func (e *ledger) itemsToTravel() []*item {
	var list []*item
	baggage := 0
	for _, it := range byID(e.items) {
		if e.reoffer && it.pristine() {
			continue
		}
		if baggage += len(it.Error); baggage > maxBaggage {
			baggage -= len(it.Error)
			silent := *it
			silent.Error, it = "", &silent
		}
		list = append(list, it)
	}
	return list
}

func (it *item) pristine() bool {
	waits := it.Phase == PhaseQueued || it.Phase == PhaseWaiting || it.Phase == PhaseLate
	again := it.Ran || it.Retrying || it.Replacing || it.Direct || len(it.Lacks) > 0 || it.Retries+len(it.Losses)+it.Requeues > 0
	return waits && !again && it.Sent == 0 && it.Ask == 0 && !it.Aside && it.Barred == "" && it.Error == ""
}

// Restore is the inverse of [Engine.Snapshot]. It ignores the fences of cfg.
func Restore(cfg Config, s Snapshot, now time.Time) (*Engine, error) {
	cfg.Fence, cfg.Fences = 0, 0
	e := New(cfg, now)
	e.pause, e.suspended, e.stopped, e.stopReason, e.closing = s.Pause, s.Suspended, s.Stopped, s.StopReason, s.Closing
	e.fence, e.fenceEnd, e.wantsFences, e.fenced, e.asks = s.Fence, s.FenceEnd, s.Wants, s.Fenced, s.Asks
	e.roll = rollover.New(cfg.RollEvents, s.Mean)
	f := &e.fleet
	f.stamp, f.watching, f.reprobe = s.Stamp, s.Watching, true
	for _, saved := range s.Workers {
		w := &worker{
			WorkerView: saved.WorkerView, coolUntil: saved.CoolUntil, suspect: saved.Suspect, suspectBeat: saved.SuspectBeat,
			unsupported: saved.Unsupported, load: saved.Load, pace: saved.Pace, used: saved.Used, starts: saved.Starts,
		}
		f.byID[w.ID] = w
		if !w.coolUntil.IsZero() {
			e.timers.Push(timer{at: w.coolUntil, kind: timerCool, class: w.ID})
		}
		if w.starts.Probing {
			e.timers.Push(timer{at: w.starts.ProofAt, kind: timerProof, class: w.ID})
		}
	}
	for _, a := range s.Absent {
		f.setAbsent(&worker{WorkerView: contract.WorkerView{ID: a.ID, Instance: a.Instance}})
	}
	e.readmitWaits(s.Items)
	for _, it := range s.Items {
		if it == nil || e.items[it.ID] != nil {
			return nil, fmt.Errorf("the state of the run has an item twice, or an empty one")
		}
		if fault := it.fault(); fault != nil {
			return nil, fmt.Errorf("the state of the run has item %d %w", it.ID, fault)
		}
		e.items[it.ID] = it
		it.at = -1
		e.keepCheckpoint(it)
		e.readmit(it, now)
	}
	for _, w := range f.sorted() {
		e.rerank(w, now) // Attempts in the state use slots.
	}
	for _, saved := range s.NoWorker {
		if c := e.classes[saved.Class]; c != nil && len(c.items) > 0 {
			e.restoreMissing(c, saved)
			continue
		}
		if e.noWorker == nil {
			e.noWorker = map[string]savedClass{}
		}
		e.noWorker[saved.Class] = saved // Its items are offered again.
	}
	if !s.ChangedAt.IsZero() {
		e.changedAt = s.ChangedAt
	}
	return e, nil
}

func (it *item) fault() error {
	switch {
	case it.Phase <= PhaseNone || it.Phase > PhaseDue:
		return fmt.Errorf("in phase %d, which does not exist", it.Phase)
	case it.Waits && !it.Asking || it.Asking != (it.Phase == PhaseAsking) || it.Asking && it.Granted || it.Phase == PhaseGranted && !it.Granted:
		return errors.New("that is not clear about its resources")
	case it.inFlight() && it.Attempt <= 0:
		return errors.New("running without an attempt")
	case it.Want.Idle && !it.Want.Nowhere:
		return errors.New("that waits on a worker")
	}
	return nil
}

func (e *board) restoreMissing(c *class, saved savedClass) {
	c.noWorkerSince, c.failAt, c.recovering = saved.Since, saved.Fail, saved.Recovering
	e.timers.Push(timer{at: saved.Fail, kind: timerNoWorker, class: c.key})
}

func (e *board) readmit(it *item, now time.Time) {
	if !it.ExpiresAt.IsZero() && !it.Ran && !it.inFlight() {
		e.timers.Push(timer{at: it.ExpiresAt, kind: timerExpire, item: it.ID})
	}
	switch it.Phase {
	case PhaseWaiting:
		e.timers.Push(timer{at: it.ReadyAt, kind: timerReady, item: it.ID})
	case PhaseQueued:
		e.pushBack(it, now)
	case PhaseAsking, PhaseGranted:
		e.gate.Add(it.ID, it)
	case PhaseRunning, PhaseGrace:
		e.readmitRunning(it)
	case PhaseLate:
		e.late++
	case PhaseLost:
		e.lost.Add(it.ID, it)
	case PhaseNone, PhaseDue:
	}
	if it.Phase != PhaseLate {
		e.watchClosing(it)
	}
}

func (e *board) readmitRunning(it *item) {
	e.flight[it.ID] = it
	if it.Want.Idle {
		e.idle++
	}
	if it.Instance != "" { // It was sent there under any routing.
		e.fleet.occupy(it, e.work[it.Work].Handler)
	}
	if it.Phase == PhaseGrace {
		e.timers.Push(timer{at: it.WaitsAt.Add(Grace), kind: timerGrace, item: it.ID, attempt: it.Attempt})
	}
	if it.Canceling != "" && !it.CancelBy.IsZero() {
		e.timers.Push(timer{at: it.CancelBy, kind: timerForget, item: it.ID, attempt: it.Attempt})
	}
}
