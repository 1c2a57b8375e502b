package jobtype

import "time"

// Liveness selects the evidence that a job is alive.
type Liveness string

// The kinds of liveness.
const (
	// LivenessProgress: the handler must report within stall_timeout.
	LivenessProgress Liveness = "progress"
	// LivenessProcess: the worker process beats for the job. Only progress_timeout and
	// execution_timeout detect a hang.
	LivenessProcess Liveness = "process"
	// LivenessActivity: the handler or its program must show a sign of life within stall_timeout: a
	// report, output, CPU or I/O. The worker process beats meanwhile. It ends a longer silent job as
	// stale.
	LivenessActivity Liveness = "activity"
)

// DefaultActivityStall is the stall_timeout under [LivenessActivity]. Programs may wait minutes for
// disks, locks and networks without a sign of life.
const DefaultActivityStall = Duration(12 * time.Minute)

// OnDisconnect selects the action of a worker that cannot reach the server.
type OnDisconnect string

// The actions of a disconnected worker.
const (
	// DisconnectContinue lets the handler continue; its outcome is delivered later. The job may be
	// placed elsewhere meanwhile, so two attempts may run at once.
	DisconnectContinue OnDisconnect = "continue"
	// DisconnectStop ends the handler after stop_after, before the job may be placed elsewhere. An
	// outage of the server ends all such jobs.
	DisconnectStop OnDisconnect = "stop"
)

// OnWorkerLoss selects the action for a job of a lost worker.
type OnWorkerLoss string

// The actions for a job of a lost worker.
const (
	WorkerLossReplace OnWorkerLoss = "replace"
	WorkerLossFail    OnWorkerLoss = "fail"
	WorkerLossHold    OnWorkerLoss = "hold"
)

// Recovery selects the action for a whole run that lost a worker with one of its items.
type Recovery string

// The recoveries.
const (
	// RecoveryResume lets the run continue; OnWorkerLoss decides about the item.
	RecoveryResume Recovery = "resume"
	// RecoveryFail fails the run with all its open items. The next tick starts a new one.
	RecoveryFail Recovery = "fail"
)

// OnDeadline selects the action for running jobs at max_runtime.
type OnDeadline string

// The actions at max_runtime.
const (
	DeadlineCancel OnDeadline = "cancel"
	DeadlineDrain  OnDeadline = "drain"
)

// OnWindowEnd selects the action for running jobs at the end of their maintenance window.
type OnWindowEnd string

// The actions at the end of a window.
const (
	// WindowEndDrain lets jobs end within drain_grace.
	WindowEndDrain OnWindowEnd = "drain"
	// WindowEndCheckpoint cancels jobs. The next job with the same dedupe key continues from the last
	// checkpoint.
	WindowEndCheckpoint OnWindowEnd = "checkpoint"
)

// Overlap selects the action when a group is due while the previous one runs.
type Overlap string

// The overlap policies. Temporal's ALLOW_ALL is excluded on purpose: its runs do not receive the
// history of the previous runs.
const (
	OverlapSkip           Overlap = "skip"
	OverlapBufferOne      Overlap = "buffer_one"
	OverlapBufferAll      Overlap = "buffer_all"
	OverlapCancelOther    Overlap = "cancel_other"
	OverlapTerminateOther Overlap = "terminate_other"
)

// Routing selects the path of a job to its worker.
type Routing string

// The routings.
const (
	// RoutingWorker: the group chooses a worker and sends the job to the worker's own queue.
	RoutingWorker Routing = "worker"
	// RoutingShared: one queue per job type, polled by every worker that opted in. It is cheapest for
	// many small jobs but cannot honor pins and labels.
	RoutingShared Routing = "shared"
)

// Policy configures the groups of one job type. A zero field of a descriptor's policy means the
// default. In a configuration only the written keys override.
type Policy struct {
	// DetectionTimeout bounds one detection from its start on a worker. Default 45s.
	DetectionTimeout Duration `json:"detection_timeout,omitempty"`
	// DetectionRetries is the maximum number of retries of a failed detection; each has
	// DetectionTimeout. Default 2.
	DetectionRetries int `json:"detection_retries,omitempty"`
	// ExecutionTimeout bounds one attempt of a job, and its wait for an executor. Default 30m.
	ExecutionTimeout Duration `json:"execution_timeout,omitempty"`
	// MaxRuntime bounds the group: detection and all jobs. Default 30m.
	MaxRuntime Duration `json:"max_runtime,omitempty"`
	// MaxJobsPerDetection is the maximum number of accepted proposals; the rest is counted as surplus.
	// Default 1000.
	MaxJobsPerDetection int `json:"max_jobs_per_detection,omitempty"`
	// GlobalExecutionConcurrency is the maximum number of concurrent jobs of the group. Default 1.
	GlobalExecutionConcurrency int `json:"global_execution_concurrency,omitempty"`
	// PerWorkerExecutionConcurrency is that maximum on one worker. Default 1.
	PerWorkerExecutionConcurrency int `json:"per_worker_execution_concurrency,omitempty"`
	// RetryLimit is the maximum number of retries of a failed job. Default 0.
	RetryLimit int `json:"retry_limit,omitempty"`
	// RetryBackoff is the wait before a retry. Default 5s.
	RetryBackoff Duration `json:"retry_backoff,omitempty"`
	// RetryMaxBackoff bounds the wait, which doubles with each retry. Default 0: the wait is always
	// RetryBackoff.
	RetryMaxBackoff Duration `json:"retry_max_backoff,omitempty"`
	// HeartbeatTimeout is the time without a heartbeat after which a job is placed elsewhere. Default
	// 30s.
	HeartbeatTimeout Duration `json:"heartbeat_timeout,omitempty"`
	// Liveness is progress, process or activity. Default progress.
	Liveness Liveness `json:"liveness,omitempty"`
	// StallTimeout is the maximum silence of a handler under liveness progress or activity. Default:
	// heartbeat_timeout, or 5m under activity.
	StallTimeout Duration `json:"stall_timeout,omitempty"`
	// ProgressTimeout is the time without a change of progress after which a job is stale. Default
	// 24h.
	ProgressTimeout Duration `json:"progress_timeout,omitempty"`
	// Interactive shortens the heartbeat throttle to 1s. Cancellation and progress are visible sooner,
	// at the cost of more server load.
	Interactive bool `json:"interactive,omitempty"`
	// WorkerLossLimit is the maximum number of lost workers per job. Default 3.
	WorkerLossLimit int `json:"worker_loss_limit,omitempty"`
	// OnWorkerLoss is replace, fail or hold. Default replace.
	OnWorkerLoss OnWorkerLoss `json:"on_worker_loss,omitempty"`
	// Recovery is resume or fail. Default resume.
	Recovery Recovery `json:"recovery,omitempty"`
	// OnDisconnect is continue or stop. Default continue.
	OnDisconnect OnDisconnect `json:"on_disconnect,omitempty"`
	// StopAfter is the time without a heartbeat accepted by the server after which the worker ends the
	// handler, under on_disconnect stop. Default: [StopAfter] of heartbeat_timeout.
	StopAfter Duration `json:"stop_after,omitempty"`
	// OnDeadline is cancel or drain. Default cancel.
	OnDeadline OnDeadline `json:"on_deadline,omitempty"`
	// DrainGrace bounds the time of running jobs after max_runtime under on_deadline drain, and after
	// their window under on_window_end drain. Default 30m.
	DrainGrace Duration `json:"drain_grace,omitempty"`
	// OnWindowEnd is drain or checkpoint. Default drain.
	OnWindowEnd OnWindowEnd `json:"on_window_end,omitempty"`
	// CatchupWindow is the maximum delay of a missed tick. Default: one interval, at least 10s, at
	// most 365 days.
	CatchupWindow Duration `json:"catchup_window,omitempty"`
	// Overlap is the action when the previous group still runs. Default skip.
	Overlap Overlap `json:"overlap,omitempty"`
	// Routing is worker or shared. Default worker.
	Routing Routing `json:"routing,omitempty"`
}

// DefaultPolicy returns the built-in defaults. CatchupWindow stays 0 because it depends on the
// schedule, see [Policy.WithCatchupWindow]. StallTimeout and StopAfter stay 0 because they depend on
// other settings, see [Policy.WithDerived].
func DefaultPolicy() Policy {
	return Policy{
		DetectionTimeout:              Duration(45 * time.Second),
		DetectionRetries:              2,
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
		Recovery:                      RecoveryResume,
		OnDisconnect:                  DisconnectContinue,
		OnDeadline:                    DeadlineCancel,
		DrainGrace:                    Duration(30 * time.Minute),
		OnWindowEnd:                   WindowEndDrain,
		Overlap:                       OverlapSkip,
		Routing:                       RoutingWorker,
	}
}

// WithDefaults replaces every zero field by the built-in default.
func (p Policy) WithDefaults() Policy {
	return p.Over(DefaultPolicy()).WithDerived()
}

// WithCatchupWindow sets a zero catch-up window to one interval, within the bounds of a Temporal
// server. A server replaces a zero window by its own default.
func (p Policy) WithCatchupWindow(interval Duration) Policy {
	if p.CatchupWindow == 0 {
		p.CatchupWindow = min(max(interval, minCatchupWindow), maxPolicyDuration)
	}
	return p
}

// WithDerived fills in the settings whose defaults depend on other settings.
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

// stopGrace is the time for a handler to end: 10s from SIGTERM to SIGKILL of a program, and 2s to
// report.
const stopGrace = Duration(12 * time.Second)

// DisconnectMargin is the minimum time from stop_after to heartbeat_timeout: 1s for a task or
// heartbeat in transit, and 1% for clock drift between worker and server. Both sides measure durations
// only, so clock offsets do not matter.
func DisconnectMargin(heartbeatTimeout Duration) Duration {
	return Duration(time.Second) + heartbeatTimeout/100
}

// StopAfter returns the default of stop_after. It leaves a handler 12s to end, and at least half of a
// short heartbeat timeout to beat again.
func StopAfter(heartbeatTimeout Duration) Duration {
	return max(heartbeatTimeout/2, heartbeatTimeout-stopGrace-DisconnectMargin(heartbeatTimeout))
}
