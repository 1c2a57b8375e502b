package dispatch

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/roundsman/roundsman/internal/placement"
	"github.com/roundsman/roundsman/jobtype"
)

// snapshotVersion marks the form of the state; Restore refuses others.
const snapshotVersion = 1

// maxSnapshotBytes bounds what Restore unpacks.
const maxSnapshotBytes = 256 << 20

type snapshot struct {
	Version   int             `json:"version"`
	Config    Config          `json:"config"`
	Phase     Phase           `json:"phase"`
	StartedAt time.Time       `json:"started_at"`
	PausedFor time.Duration   `json:"paused_for,omitempty"`
	Paused    bool            `json:"paused,omitempty"`
	PausedAt  time.Time       `json:"paused_at,omitzero"`
	PausedBy  string          `json:"paused_by,omitempty"`
	PauseNote string          `json:"pause_note,omitempty"`
	Stopping  stopCause       `json:"stopping,omitempty"`
	Returning bool            `json:"returning,omitempty"`
	Away      Wait            `json:"away,omitzero"`
	TurnAt    time.Time       `json:"turn_at,omitzero"`
	Begun     bool            `json:"begun,omitempty"`
	Elsewhere int             `json:"elsewhere,omitempty"`
	Reason    string          `json:"reason,omitempty"`
	Detect    detection       `json:"detect"`
	Jobs      []*job          `json:"jobs"`
	Queued    []int           `json:"queued,omitempty"`
	Held      []int           `json:"held,omitempty"`
	Bytes     int             `json:"bytes"`
	Counts    Counts          `json:"counts"`
	Fence     int64           `json:"fence"`
	FenceEnd  int64           `json:"fence_end,omitempty"`
	Deduped   []Deduped       `json:"deduped,omitempty"`
	HeldBack  []HeldBack      `json:"held_back,omitempty"`
	Reporter  reporter        `json:"reporter,omitzero"`
	Wants     bool            `json:"wants_fences,omitempty"`
	Workers   []savedWorker   `json:"workers,omitempty"`
	Turn      int             `json:"turn,omitempty"`
	Watching  bool            `json:"watching,omitempty"`
	ByWorker  map[string]int  `json:"by_worker,omitempty"`
	MeanJob   time.Duration   `json:"mean_job,omitempty"`
	Timers    []savedTimer    `json:"timers,omitempty"`
	NoWorker  []savedNoWorker `json:"no_worker,omitempty"`
	Took      []time.Duration `json:"took,omitempty"`
	Kept      []Kept          `json:"kept,omitempty"`
	Dropped   Dropped         `json:"dropped,omitzero"`

	// Gone are the incarnations of workers in no view that still run something.
	Gone map[string]string `json:"gone,omitempty"`
}

type savedWorker struct {
	Worker
	CoolUntil   time.Time `json:"cool_until,omitzero"`
	Suspect     bool      `json:"suspect,omitempty"`
	SuspectBeat int64     `json:"suspect_beat,omitempty"`
	Unsupported bool      `json:"unsupported,omitempty"`

	Load placement.Load `json:"load,omitzero"`
	Pace time.Duration  `json:"pace,omitempty"`
}

type savedTimer struct {
	At      time.Time `json:"at"`
	Kind    timerKind `json:"kind"`
	Job     int       `json:"job,omitempty"`
	Attempt int       `json:"attempt,omitempty"`
	Class   string    `json:"class,omitempty"`
}

type savedNoWorker struct {
	Class string    `json:"class"`
	Since time.Time `json:"since"`
}

// Snapshot encodes the whole state, compressed. Jobs in a final state keep only
// what people ask for. During detection the pages are part of it, but not the
// set of keys, which Restore rebuilds.
func (g *Group) Snapshot() ([]byte, error) {
	s := snapshot{
		Version: snapshotVersion, Config: g.cfg, Phase: g.phase,
		StartedAt: g.startedAt, PausedFor: g.pausedFor, Paused: g.paused, PausedAt: g.pausedAt, PausedBy: g.pausedBy, PauseNote: g.pauseNote,
		Stopping: g.stopping, Reason: g.reason, Detect: g.detect, Bytes: g.bytes, Counts: g.counts, Fence: g.fence,
		FenceEnd: g.fenceEnd, Deduped: g.deduped, HeldBack: g.heldBack, Reporter: g.reporter, Wants: g.wantsFences,
		Turn: g.workers.Turn, Gone: g.workers.Away(), Watching: g.workers.watching, ByWorker: g.byWorker, MeanJob: g.meanJob,
		Took: g.took, Kept: g.kept, Dropped: g.dropped,
		Returning: g.returning, Away: g.away, TurnAt: g.turnAt, Begun: g.begun, Elsewhere: g.elsewhere,
	}
	for _, j := range g.jobs {
		s.Jobs = append(s.Jobs, j.compact())
		if j.queued {
			s.Queued = append(s.Queued, j.N)
		}
	}
	for _, j := range g.held {
		s.Held = append(s.Held, j.N)
	}
	for _, w := range g.workers.Members() {
		s.Workers = append(s.Workers, savedWorker{w.Offer, w.CoolUntil, w.Suspect, w.SuspectBeat, w.Unsupported, w.Load, w.Pace})
	}
	for _, t := range g.timers {
		if g.matters(t) {
			s.Timers = append(s.Timers, savedTimer{t.at, t.kind, t.job, t.attempt, t.class})
		}
	}
	for _, c := range g.queue.order {
		if !c.noWorkerSince.IsZero() && c.settle() {
			s.NoWorker = append(s.NoWorker, savedNoWorker{c.key, c.noWorkerSince})
		}
	}
	return pack(s)
}

// compact drops from a finished job what only its execution needed.
func (j *job) compact() *job {
	if !j.State.Final() {
		return j
	}
	short := *j
	short.Proposal = jobtype.Proposal{DedupeKey: j.Proposal.DedupeKey, Summary: j.Proposal.Summary, Priority: j.Proposal.Priority}
	short.BatchKey, short.Items = "", j.shortItems()
	return &short
}

func pack(s snapshot) ([]byte, error) {
	var out bytes.Buffer
	packer, err := flate.NewWriter(&out, flate.BestSpeed)
	if err != nil {
		return nil, err
	}
	if err := json.NewEncoder(packer).Encode(s); err != nil {
		return nil, fmt.Errorf("encode the state of the group: %w", err)
	}
	if err := packer.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// Restore is the inverse of [Group.Snapshot].
func Restore(data []byte) (*Group, error) {
	raw, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(data)), maxSnapshotBytes))
	if err != nil {
		return nil, fmt.Errorf("unpack the state of the group: %w", err)
	}
	var s snapshot
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, fmt.Errorf("decode the state of the group: %w", err)
	}
	if s.Version != snapshotVersion {
		return nil, fmt.Errorf("the state of the group has version %d, this program reads %d: let the group end with the program that started it", s.Version, snapshotVersion)
	}
	return s.restore()
}

func (s snapshot) restore() (*Group, error) {
	g := New(s.Config, s.StartedAt)
	g.phase, g.pausedFor, g.paused, g.pausedAt = s.Phase, s.PausedFor, s.Paused, s.PausedAt
	g.pausedBy, g.pauseNote = s.PausedBy, s.PauseNote
	g.stopping, g.reason, g.detect = s.Stopping, s.Reason, s.Detect
	g.bytes, g.counts, g.fence, g.meanJob = s.Bytes, s.Counts, s.Fence, s.MeanJob
	g.fenceEnd, g.deduped, g.wantsFences = s.FenceEnd, s.Deduped, s.Wants
	g.heldBack, g.reporter = s.HeldBack, s.Reporter
	g.returning, g.away, g.turnAt, g.begun, g.elsewhere = s.Returning, s.Away, s.TurnAt, s.Begun, s.Elsewhere
	g.took, g.kept, g.dropped = s.Took, s.Kept, s.Dropped
	if s.ByWorker != nil {
		g.byWorker = s.ByWorker
	}
	g.timers = nil
	g.setDeadline()
	g.restoreWorkers(s)
	if err := g.restoreJobs(s); err != nil {
		return nil, err
	}
	for _, t := range s.Timers {
		if t.Kind != timerDeadline && t.Kind != timerHardStop {
			if t.Job < 0 || t.Job > len(g.jobs) {
				return nil, errors.New("the state of the group names a job that it does not have")
			}
			g.timers.push(timer{t.At, t.Kind, t.Job, t.Attempt, t.Class})
			if t.Kind == timerTry {
				g.tryAt = t.At
			}
			if t.Kind == timerNoFit {
				g.noFitAt = t.At
			}
		}
	}
	return g, nil
}

func (g *Group) restoreWorkers(s snapshot) {
	members := make([]*worker, len(s.Workers))
	for i, saved := range s.Workers {
		members[i] = &worker{
			Worker: saved.seen(), Offer: saved.Worker, CoolUntil: saved.CoolUntil,
			Suspect: saved.Suspect, SuspectBeat: saved.SuspectBeat, Unsupported: saved.Unsupported,
			Load: saved.Load, Pace: saved.Pace,
		}
	}
	g.workers.Restore(members, s.Turn)
	g.workers.RestoreAway(s.Gone)
	g.workers.watching, g.workers.restored = s.Watching, true
}

func (g *Group) restoreJobs(s snapshot) error {
	g.jobs = s.Jobs
	for i, j := range g.jobs {
		if j == nil || j.N != i+1 {
			return fmt.Errorf("the state of the group has job %d out of place", i+1)
		}
		if g.phase == PhaseDetecting && j.Proposal.DedupeKey != "" {
			g.keys[j.Proposal.DedupeKey] = j.N
		}
		if g.counted() && !j.State.Final() && !g.cfg.DryRun {
			g.open++
		}
		g.countDoor(j)
		if j.Late {
			g.late++
		}
		if j.State == StateRunning || j.State == StateRecalling {
			g.inFlight++
			if j.Instance != "" { // It was sent there, whatever the routing is by now.
				g.workers.Occupy(j.Worker, j.Instance, g.cfg.Handler)
			}
		}
	}
	for _, n := range s.Queued {
		if j := g.job(n); j != nil {
			j.queued = true
			g.queue.push(j)
		}
	}
	for _, n := range s.Held {
		if j := g.job(n); j != nil {
			g.held = append(g.held, j)
		}
	}
	for _, saved := range s.NoWorker {
		if c := g.queue.classes[saved.Class]; c != nil {
			c.noWorkerSince = saved.Since
		}
	}
	return nil
}

// counted: proposals have become jobs, which are open until they end.
func (g *Group) counted() bool {
	return g.phase == PhaseDispatching || g.phase == PhaseAway || g.phase == PhaseClaiming && g.begun
}

// Shed ends pending jobs, least urgent first, as not started until the snapshot
// fits into limit bytes. It is the last resort of a group whose pending jobs
// cannot travel in one continue-as-new; it returns how many it shed, and, as Next
// does, what is to be done: what those jobs were granted is given back.
func (g *Group) Shed(limit int, now time.Time) (shed int, decisions []Decision, err error) {
	g.out = g.out[:0]
	for {
		data, err := g.Snapshot()
		if err != nil || len(data) <= limit {
			return shed, g.out, err
		}
		pending := g.pendingByUrgency()
		if len(pending) == 0 {
			return shed, g.out, fmt.Errorf("the state of the group has %d bytes, the limit is %d", len(data), limit)
		}
		drop := max(1, min(len(pending), len(pending)*(len(data)-limit)/len(data)+1))
		for _, j := range pending[len(pending)-drop:] {
			g.finish(j, StateNotStarted, "the pending jobs of the group are larger than what can be carried on; it is proposed again by the next detection", now)
			short := j.compact()
			j.Proposal, j.Items = short.Proposal, short.Items
			shed++
		}
	}
}
