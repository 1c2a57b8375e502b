package group

import (
	"cmp"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/backlog"
	"github.com/roundsman/roundsman/internal/engine/carry"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/group/spans"
	"github.com/roundsman/roundsman/jobtype"
)

// Bounds that the group keeps by itself.
const (
	// MaxGroupBytes bounds the proposals of one group, as JSON. A
	// detection writes them into the group's history, which the server bounds to 50 MiB.
	MaxGroupBytes = 32 << 20
	// MaxAway is how long after its start a submitted group still comes back. To
	// make it shorter give the jobs an expires_at.
	MaxAway = 36 * 24 * time.Hour

	// maxDetectAttempts bounds detections lost to workers; an error of the handler
	// itself is not retried within the group.
	maxDetectAttempts = 5
	// leaveAfter is how long a group holds its lane while it can place none of its jobs.
	// A worker that is started again is back before.
	leaveAfter = 10 * time.Second
	// freshFor is how long a view of the workers that was looked up is used.
	freshFor = 3 * time.Second
	// defaultMaxWait is for a group whose interval is unknown.
	defaultMaxWait = time.Hour
)

// Phase is where a group is. The values are the wire's.
type Phase string

// The phases of a group.
const (
	PhaseWaiting   Phase = "waiting"
	PhasePreparing Phase = "preparing"
	PhaseDetecting Phase = "detecting"
	PhaseClaiming  Phase = "claiming"
	PhaseRunning   Phase = "dispatching"
	PhaseEnded     Phase = contract.PhaseEnded
)

// Config has the constants of a group, and its policy.
type Config struct {
	JobType string         `json:"job_type"`
	Handler string         `json:"handler"`
	Policy  jobtype.Policy `json:"policy"`
	DryRun  bool           `json:"dry_run,omitempty"`
	// DAG names the DAG that each job is a run of; empty: Handler executes them. Such a
	// group detects nothing: it has one job.
	DAG string `json:"dag,omitempty"`
	// DetectEvery: each worker detects, and its findings are done there. EachWorker: each worker has one job, without a
	// detection. Labels restrict both to the workers with these labels.
	DetectEvery bool              `json:"detect_every,omitempty"`
	EachWorker  bool              `json:"each_worker,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	// Submitted: the work comes as [Submitted], nothing is detected.
	Submitted bool `json:"submitted,omitempty"`
	// Resources are the minimum of each job from pools.
	Resources map[string]int `json:"resources,omitempty"`
	// BatchSize is how many proposals of one batch key share a job; 0: every
	// proposal is a job of its own.
	BatchSize int `json:"batch_size,omitempty"`
	// StartBytes is the size of every job without its proposal.
	StartBytes int `json:"start_bytes,omitempty"`
	// LastDetector is preferred for the detection; AvoidDetector is the worker whose
	// detection failed last: another one is preferred, if there is one.
	LastDetector  string `json:"last_detector,omitempty"`
	AvoidDetector string `json:"avoid_detector,omitempty"`
	// Sequence rotates the detectors.
	Sequence int64 `json:"sequence"`
	// RollEvents is the length of history from which on the group continues as new
	// when it can; 0: 20,000.
	RollEvents int `json:"roll_events,omitempty"`
	// Window is the number of jobs of pages that are open at once; 0: [backlog.Window].
	Window int `json:"window,omitempty"`
	// Claims: [ClaimKeys] and the engine's requests are carried out; without it every job may start.
	Claims bool `json:"claims,omitempty"`
	// Budget: failed attempts are counted, see [ReportEndings].
	Budget bool `json:"budget,omitempty"`
	// NamesKeys: the keys are wanted by their names, not by hashes alone.
	NamesKeys bool `json:"names_keys,omitempty"`
	// Turn: the group needs a turn before it begins. Lane names its lane; empty: the turn only permits its job type to
	// start.
	Turn bool   `json:"turn,omitempty"`
	Lane string `json:"lane,omitempty"`
	// Windows: the group has maintenance windows.
	Windows bool `json:"windows,omitempty"`
	// MaxWait is how long a group of the Schedule waits for its window or a worker:
	// until it is due again; 0: an hour.
	MaxWait time.Duration `json:"max_wait,omitempty"`
	// Due is the tick that the group was started for; zero: none.
	Due time.Time `json:"due,omitzero"`
	// After are the successes of other job types that the group waits for. It is skipped if its
	// own, LastSuccess, is younger than Rest.
	After       map[string]contract.AfterRule `json:"after,omitempty"`
	LastSuccess time.Time                     `json:"last_success,omitzero"`
	Rest        time.Duration                 `json:"rest,omitempty"`
	// ClosedUntil is the opening until which the run before was skipped.
	ClosedUntil time.Time `json:"closed_until,omitzero"`
	// Took are how long the last completed attempts took, oldest first.
	Took []time.Duration `json:"took,omitempty"`
	// Carried are checkpoints that earlier groups left, oldest first.
	Carried []carry.Checkpoint `json:"carried,omitempty"`
}

// theWork is the one kind of work of a group.
const theWork = "job"

func (c Config) window() int { return cmp.Or(c.Window, backlog.Window) }

// keyedInGroup is the number of proposals with a key that the group itself takes; 0: all.
func (c Config) keyedInGroup() int {
	if c.DetectEvery || c.NamesKeys || c.BatchSize > 0 || c.DryRun {
		return 0
	}
	return min(c.window(), backlog.KeyedInGroup)
}

func (c Config) engine() run.Config {
	limit := c.Policy.GlobalExecutionConcurrency
	return run.Config{Limit: max(limit, 1), Claims: c.Claims, Adopt: true, Reoffer: true, RollEvents: c.RollEvents, Work: map[string]run.Work{theWork: c.work()}}
}

func (c Config) work() run.Work {
	return run.Work{Handler: c.Handler, JobType: c.JobType, Policy: c.Policy, Bytes: c.StartBytes, PerWorker: c.Policy.PerWorkerExecutionConcurrency}
}

// Window is the maintenance window that a group runs in.
type Window = spans.Window

// Outcome is how a group ended.
type Outcome = contract.Outcome
