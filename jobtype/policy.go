package jobtype

import "time"

// Liveness says what shows that a job still lives.
type Liveness string

// The kinds of liveness.
const (
	// LivenessProgress: the handler must report within stall_timeout.
	LivenessProgress Liveness = "progress"
	// LivenessProcess: the worker process beats for the job; only
	// progress_timeout and execution_timeout find a hang.
	LivenessProcess Liveness = "process"
	// LivenessActivity: the handler, or the program that it runs, must show a sign of
	// life within stall_timeout: a report, output, CPU or I/O. The worker process
	// beats meanwhile, and ends a job that is silent for longer as stale.
	LivenessActivity Liveness = "activity"
)

// DefaultActivityStall is the stall_timeout under [LivenessActivity]. Programs wait
// for disks, locks and networks for minutes without a sign of life.
const DefaultActivityStall = Duration(5 * time.Minute)

// OnDisconnect says what a worker does with a job while it cannot reach the server.
type OnDisconnect string

// The actions of a worker that is cut off.
const (
	// DisconnectContinue lets the handler continue: its outcome is delivered later.
	// The job may be placed elsewhere meanwhile, so that two attempts run at once.
	DisconnectContinue OnDisconnect = "continue"
	// DisconnectStop ends the handler after stop_after, before the job may be placed
	// elsewhere. A server that is away ends all such jobs.
	DisconnectStop OnDisconnect = "stop"
)

// OnWorkerLoss says what happens to a job whose worker is gone.
type OnWorkerLoss string

// The policies for a job whose worker is gone.
const (
	WorkerLossReplace OnWorkerLoss = "replace"
	WorkerLossFail    OnWorkerLoss = "fail"
	WorkerLossHold    OnWorkerLoss = "hold"
)

// OnDeadline says what happens to running jobs at max_runtime.
type OnDeadline string

// The actions at max_runtime.
const (
	DeadlineCancel OnDeadline = "cancel"
	DeadlineDrain  OnDeadline = "drain"
)

// OnWindowEnd says what happens to jobs that still run when their maintenance
// window closes.
type OnWindowEnd string

// The actions at the end of a window.
const (
	// WindowEndDrain lets them end, for drain_grace at most.
	WindowEndDrain OnWindowEnd = "drain"
	// WindowEndCheckpoint cancels them; the next group's job with the same dedupe
	// key continues from their last checkpoint.
	WindowEndCheckpoint OnWindowEnd = "checkpoint"
)

// Overlap says what happens when a group is due while the last one runs.
type Overlap string

// The overlap policies. Temporal's ALLOW_ALL is missing on purpose: runs under
// it do not learn the history of the runs before them.
const (
	OverlapSkip           Overlap = "skip"
	OverlapBufferOne      Overlap = "buffer_one"
	OverlapBufferAll      Overlap = "buffer_all"
	OverlapCancelOther    Overlap = "cancel_other"
	OverlapTerminateOther Overlap = "terminate_other"
)

// Routing says how a job reaches its worker.
type Routing string

// The routings.
const (
	// RoutingWorker: the group chooses a worker and sends the job to that
	// worker's own queue.
	RoutingWorker Routing = "worker"
	// RoutingShared: one queue per job type, pulled by every worker that opted
	// in. Cheapest for many small jobs; cannot honor pins and labels.
	RoutingShared Routing = "shared"
)

// Policy is how the groups of one job type are run. A zero field of a
// descriptor's policy means "the default"; in a configuration only the keys
// that are written override.
type Policy struct {
	// DetectionTimeout bounds one detection, from the moment it starts on a
	// worker. Default 45s.
	DetectionTimeout Duration `json:"detection_timeout,omitempty"`
	// ExecutionTimeout bounds one attempt of a job, and how long a job waits
	// for an executor. Default 30m.
	ExecutionTimeout Duration `json:"execution_timeout,omitempty"`
	// MaxRuntime bounds the group: detection and all jobs. Default 30m.
	MaxRuntime Duration `json:"max_runtime,omitempty"`
	// MaxJobsPerDetection is how many proposals a detection may hand over; the
	// rest is counted as surplus. Default 1000.
	MaxJobsPerDetection int `json:"max_jobs_per_detection,omitempty"`
	// GlobalExecutionConcurrency is how many jobs of the group run at once.
	// Default 1.
	GlobalExecutionConcurrency int `json:"global_execution_concurrency,omitempty"`
	// PerWorkerExecutionConcurrency is how many of them run at once on one
	// worker. Default 1.
	PerWorkerExecutionConcurrency int `json:"per_worker_execution_concurrency,omitempty"`
	// RetryLimit is how often a failed job is tried again. Default 0.
	RetryLimit int `json:"retry_limit,omitempty"`
	// RetryBackoff is the wait before a retry. Default 5s.
	RetryBackoff Duration `json:"retry_backoff,omitempty"`
	// RetryMaxBackoff bounds the wait, which doubles with each retry. Default 0: the
	// wait is always RetryBackoff.
	RetryMaxBackoff Duration `json:"retry_max_backoff,omitempty"`
	// HeartbeatTimeout is how long a worker may be silent about a job before
	// the job is placed elsewhere. Default 30s.
	HeartbeatTimeout Duration `json:"heartbeat_timeout,omitempty"`
	// Liveness is progress or process. Default progress.
	Liveness Liveness `json:"liveness,omitempty"`
	// StallTimeout is how long a handler may be silent under liveness progress or
	// activity. Default: heartbeat_timeout, or 5m under activity.
	StallTimeout Duration `json:"stall_timeout,omitempty"`
	// ProgressTimeout: a job whose reported progress does not change for this
	// long is stale. Default 24h.
	ProgressTimeout Duration `json:"progress_timeout,omitempty"`
	// Interactive shortens the heartbeat throttle to 1s, so that cancel and
	// progress are seen sooner, for more load on the server.
	Interactive bool `json:"interactive,omitempty"`
	// WorkerLossLimit is how often a job may lose its worker. Default 3.
	WorkerLossLimit int `json:"worker_loss_limit,omitempty"`
	// OnWorkerLoss is replace, fail or hold. Default replace.
	OnWorkerLoss OnWorkerLoss `json:"on_worker_loss,omitempty"`
	// OnDisconnect is continue or stop. Default continue.
	OnDisconnect OnDisconnect `json:"on_disconnect,omitempty"`
	// StopAfter is how long under on_disconnect stop no heartbeat may reach the server
	// before the worker ends the handler. Default: [StopAfter] of heartbeat_timeout.
	StopAfter Duration `json:"stop_after,omitempty"`
	// OnDeadline is cancel or drain. Default cancel.
	OnDeadline OnDeadline `json:"on_deadline,omitempty"`
	// DrainGrace is how long running jobs may continue after max_runtime under
	// on_deadline drain, and after their window under on_window_end drain.
	// Default 30m.
	DrainGrace Duration `json:"drain_grace,omitempty"`
	// OnWindowEnd is drain or checkpoint. Default drain, for drain_grace at most.
	OnWindowEnd OnWindowEnd `json:"on_window_end,omitempty"`
	// CatchupWindow is how late a missed tick may still start. Default: one
	// interval, at least 10s, at most 365 days.
	CatchupWindow Duration `json:"catchup_window,omitempty"`
	// Overlap is what happens when the last group still runs. Default skip.
	Overlap Overlap `json:"overlap,omitempty"`
	// Routing is worker or shared. Default worker.
	Routing Routing `json:"routing,omitempty"`
}

// DefaultPolicy returns the built-in defaults. CatchupWindow stays 0 because
// it depends on the schedule (see [Policy.WithCatchupWindow]), StallTimeout and StopAfter because they follow other
// settings, see [Policy.WithDerived].
func DefaultPolicy() Policy {
	return Policy{
		DetectionTimeout:              Duration(45 * time.Second),
		ExecutionTimeout:              Duration(30 * time.Minute),
		MaxRuntime:                    Duration(30 * time.Minute),
		MaxJobsPerDetection:           1000,
		GlobalExecutionConcurrency:    1,
		PerWorkerExecutionConcurrency: 1,
		RetryBackoff:                  Duration(5 * time.Second),
		HeartbeatTimeout:              Duration(30 * time.Second),
		Liveness:                      LivenessProgress,
		ProgressTimeout:               Duration(24 * time.Hour),
		WorkerLossLimit:               3,
		OnWorkerLoss:                  WorkerLossReplace,
		OnDisconnect:                  DisconnectContinue,
		OnDeadline:                    DeadlineCancel,
		DrainGrace:                    Duration(30 * time.Minute),
		OnWindowEnd:                   WindowEndDrain,
		Overlap:                       OverlapSkip,
		Routing:                       RoutingWorker,
	}
}

// WithDefaults fills every zero field with the built-in default.
func (p Policy) WithDefaults() Policy {
	return p.Over(DefaultPolicy()).WithDerived()
}

// WithCatchupWindow fills the catch-up window of a job type that is due once in an
// interval: one interval, within what a Temporal server takes. A server puts a window of
// its own in the place of none.
func (p Policy) WithCatchupWindow(interval Duration) Policy {
	if p.CatchupWindow == 0 {
		p.CatchupWindow = min(max(interval, minCatchupWindow), maxPolicyDuration)
	}
	return p
}

// WithDerived fills the settings whose defaults follow other settings.
func (p Policy) WithDerived() Policy {
	switch {
	case p.StallTimeout != 0:
	case p.Liveness == LivenessActivity:
		p.StallTimeout = DefaultActivityStall
	default:
		p.StallTimeout = p.HeartbeatTimeout
	}
	if p.StopAfter == 0 && p.OnDisconnect == DisconnectStop {
		p.StopAfter = StopAfter(p.HeartbeatTimeout)
	}
	return p
}

// stopGrace is how long a handler may take to end: the 10s of a program between
// SIGTERM and SIGKILL, and 2s to tell.
const stopGrace = Duration(12 * time.Second)

// DisconnectMargin is what must lie at least between stop_after and
// heartbeat_timeout: 1s for a task or beat on its way, and 1% for the drift between
// the clock of the worker and that of the server. Both measure durations only; what
// time it is does not matter.
func DisconnectMargin(heartbeatTimeout Duration) Duration {
	return Duration(time.Second) + heartbeatTimeout/100
}

// StopAfter is the default of stop_after: it leaves a handler 12s to end, and at
// least half of a short heartbeat timeout to beat again.
func StopAfter(heartbeatTimeout Duration) Duration {
	return max(heartbeatTimeout/2, heartbeatTimeout-stopGrace-DisconnectMargin(heartbeatTimeout))
}
