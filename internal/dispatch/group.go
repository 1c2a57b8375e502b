package dispatch

import (
	"time"

	"github.com/roundsman/roundsman/internal/placement"
	"github.com/roundsman/roundsman/jobtype"
)

// Bounds that the group keeps by itself.
const (
	// MaxGroupBytes bounds the proposals of one group, as JSON. A group's pages
	// stay in its history (limit 50 MiB) and the pending ones in its state.
	MaxGroupBytes = 16 << 20
	// RecallGrace, CoolDown, DrainCoolDown and cancelPatience are everybody's who
	// places work; see package placement.
	RecallGrace    = placement.RecallGrace
	CoolDown       = placement.CoolDown
	DrainCoolDown  = placement.DrainCoolDown
	cancelPatience = placement.CancelPatience
	// maxDetectAttempts bounds detections lost to workers; an error of the
	// handler itself is not retried within the group.
	maxDetectAttempts = 5
	// maxErrorBytes bounds the message kept of one failure.
	maxErrorBytes = 1024
)

// Phase is where a group is.
type Phase string

// The phases of a group.
const (
	PhaseDetecting Phase = "detecting"
	// PhaseClaiming: what was found is claimed against the jobs of other groups.
	PhaseClaiming    Phase = "claiming"
	PhaseDispatching Phase = "dispatching"
	// PhaseAway: it waits for its next window and holds nothing meanwhile.
	PhaseAway  Phase = "waiting"
	PhaseEnded Phase = "ended"
)

// Config is what does not change while the group runs, but for the policy.
type Config struct {
	JobType string         `json:"job_type"`
	Handler string         `json:"handler"`
	Policy  jobtype.Policy `json:"policy"`
	DryRun  bool           `json:"dry_run,omitempty"`
	// Submitted: what is to be done comes as [Submitted], nothing is detected.
	Submitted bool `json:"submitted,omitempty"`
	// BatchSize is how many proposals of one batch key share a job; 0: every
	// proposal is a job of its own.
	BatchSize int `json:"batch_size,omitempty"`
	// StartBytes is what every job carries beside its proposal.
	StartBytes int `json:"start_bytes,omitempty"`
	// LastDetector is preferred for the detection.
	LastDetector string `json:"last_detector,omitempty"`
	// AvoidDetector is the worker whose detection failed last: another one is
	// preferred, if there is one.
	AvoidDetector string `json:"avoid_detector,omitempty"`
	// Sequence turns the round among detectors.
	Sequence int64 `json:"sequence"`
	// RollEvents is the length of history from which on the group continues as
	// new when it can; 0: 20,000.
	RollEvents int `json:"roll_events,omitempty"`
	// Claims says that somebody carries out [ClaimKeys], [Acquire] and
	// [MoreFences]; without it every job may start.
	Claims bool `json:"claims,omitempty"`
	// Fence and Fences are a range granted to the group as a whole; without one
	// fences count from the clock.
	Fence  int64 `json:"fence,omitempty"`
	Fences int64 `json:"fences,omitempty"`
	// Budget says that somebody counts failed attempts, see [ReportEndings].
	Budget bool `json:"budget,omitempty"`
	// Window bounds when jobs may start; nil: they always may.
	Window *Window `json:"window,omitempty"`
	// Kept are checkpoints that earlier groups left, oldest first.
	Kept []Kept `json:"kept,omitempty"`
}

// Counts are the figures of a group, see [Group] for the invariant they keep.
type Counts struct {
	Detected      int  `json:"detected"`
	DetectedMore  bool `json:"detected_more,omitempty"`
	Accepted      int  `json:"accepted"`
	Batched       int  `json:"batched"`
	Duplicates    int  `json:"duplicates"`
	AlreadyActive int  `json:"already_active"`
	Disabled      int  `json:"disabled"`
	Surplus       int  `json:"surplus"`
	Invalid       int  `json:"invalid"`
	Completed     int  `json:"completed"`
	Failed        int  `json:"failed"`
	Canceled      int  `json:"canceled"`
	Stale         int  `json:"stale"`
	Expired       int  `json:"expired"`
	NotStarted    int  `json:"not_started"`
	Retries       int  `json:"retries"`
	Replacements  int  `json:"replacements"`
}

// Group is the state of one job group. Create it with [New] or [Restore]; it
// is not safe for concurrent use.
type Group struct {
	cfg       Config
	phase     Phase
	startedAt time.Time
	// pausedFor does not count against max_runtime.
	pausedFor time.Duration
	deadline  time.Time
	// hardStop is when jobs still running after the deadline are canceled.
	hardStop time.Time
	// stopping is why nothing new starts; empty while jobs may start.
	stopping stopCause
	reason   string
	// returning: the window that has closed is not the end, see [Withdraw]. away is
	// what keeps the group away, turnAt when it came back last.
	returning bool
	away      Wait
	turnAt    time.Time
	// begun: what was found has become jobs whose numbers are known outside.
	begun bool
	// elsewhere counts jobs that were left to others when the group came back.
	elsewhere int
	paused    bool
	pausedAt  time.Time
	// pausedBy and pauseNote are the operator's.
	pausedBy, pauseNote string

	detect detection
	jobs   []*job
	keys   map[string]int
	bytes  int
	counts Counts
	// fence is the last one given, fenceEnd the last that may be; 0: no end.
	fence, fenceEnd int64
	// wantsFences: more were asked for.
	wantsFences bool
	// doors counts jobs that wait for their resources, or have them and do not
	// run yet.
	doors int
	// deduped are the first proposals that other groups are at already.
	deduped []Deduped
	// heldBack are the first proposals whose keys are held back.
	heldBack []HeldBack
	reporter reporter
	queue    queue
	workers  fleet
	timers   timerHeap
	// inFlight counts attempts that run or may still run.
	inFlight int
	// open counts jobs in no final state.
	open     int
	byWorker map[string]int
	// held lists jobs that wait for their worker to come back.
	held     []*job
	rollover rollover
	// late counts pending jobs that do not fit before the window closes.
	late int
	// tryAt is when a worker that looks full may be tried.
	tryAt time.Time
	// noFitAt is when not even the shortest job fits any more; zero: at the
	// closing.
	noFitAt time.Time
	// took are the run times of the last completed attempts.
	took []time.Duration
	// kept are checkpoints for later groups, dropped those that have no room.
	kept    []Kept
	dropped Dropped
	// meanJob is a moving average of how long completed attempts took.
	meanJob time.Duration

	out     []Decision
	notes   placement.Notes
	outcome Outcome
}

type stopCause string

const (
	stopNone     stopCause = ""
	stopDeadline stopCause = "deadline"
	stopWindow   stopCause = "window"
	stopCanceled stopCause = "canceled"
	stopBudget   stopCause = "budget"
)

// New returns a group that begins at now: max_runtime counts from here.
func New(cfg Config, now time.Time) *Group {
	g := &Group{
		cfg: cfg, phase: PhaseDetecting, startedAt: now,
		keys: map[string]int{}, byWorker: map[string]int{},
		fence: now.UnixMilli() << 20,
	}
	if cfg.Fences > 0 {
		g.fence, g.fenceEnd = cfg.Fence-1, cfg.Fence+cfg.Fences-1
	}
	g.detect.Avoid = cfg.AvoidDetector
	g.queue.init()
	g.setDeadline()
	g.inherit(cfg.Kept, now)
	g.cfg.Kept = nil
	g.setWindowTimers()
	return g
}

// Policy returns the policy in force.
func (g *Group) Policy() jobtype.Policy { return g.cfg.Policy }

// Phase returns where the group is.
func (g *Group) Phase() Phase { return g.phase }

// Counts returns the figures so far.
func (g *Group) Counts() Counts { return g.counts }

// InFlight is how many attempts run or may still run.
func (g *Group) InFlight() int { return g.inFlight }

// Deadline is when max_runtime is over.
func (g *Group) Deadline() time.Time { return g.deadline }

// Next takes one event and returns what is to be done, in order. The slice is
// valid until the next call. After [End] was returned, Next returns nothing.
func (g *Group) Next(now time.Time, event Event) []Decision {
	g.out = g.out[:0]
	if g.phase == PhaseEnded {
		return nil
	}
	g.reprobe()
	event.apply(g, now)
	g.fireTimers(now)
	g.advance(now)
	g.report(now)
	return g.out
}

// advance does what has become possible.
func (g *Group) advance(now time.Time) {
	if g.phase == PhaseDetecting {
		g.advanceDetection(now)
	}
	if g.phase == PhaseDispatching {
		g.dispatch(now)
		g.endIfNothingFits(now)
		g.withdraw(now)
		g.endIfDone()
	}
	if g.begun && (g.phase == PhaseAway || g.phase == PhaseClaiming) {
		g.endIfDone() // What was left has expired, or was canceled.
	}
}

func (g *Group) decide(d Decision) { g.out = append(g.out, d) }

func (g *Group) setDeadline() {
	g.deadline = g.turnBegan().Add(g.pausedFor + g.cfg.Policy.MaxRuntime.Std())
	g.hardStop = g.deadline
	if g.cfg.Policy.OnDeadline == jobtype.DeadlineDrain {
		g.hardStop = g.deadline.Add(g.cfg.Policy.DrainGrace.Std())
	}
	g.timers.push(timer{at: g.deadline, kind: timerDeadline})
	g.timers.push(timer{at: g.hardStop, kind: timerHardStop})
}
