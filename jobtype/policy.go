package jobtype

import (
	"cmp"
	"time"
)

// Liveness selects the evidence that a job is alive.
type Liveness string

const (
	// LivenessProgress means: the handler must report within stall_timeout.
	LivenessProgress Liveness = "progress"
	// LivenessProcess means: the worker process beats for the job. Only progress_timeout and execution_timeout detect a hang.
	LivenessProcess Liveness = "process"
	// LivenessActivity means: the handler or its program must show a sign of life within stall_timeout: a report, output,
	// CPU or I/O. A longer silent job is stale.
	LivenessActivity Liveness = "activity"
)

// DefaultActivityStall lets programs wait minutes for disks, locks and networks without a sign of life.
const DefaultActivityStall = Duration(12 * time.Minute)

// OnDisconnect selects the action of a worker that cannot reach the server.
type OnDisconnect string

const (
	// DisconnectContinue lets the handler continue. The job may be placed elsewhere meanwhile, so two attempts may
	// run at once.
	DisconnectContinue OnDisconnect = "continue"
	// DisconnectStop ends the handler after stop_after. An outage of the server ends all such jobs.
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
	// WindowEndCheckpoint cancels jobs. The next job with the same dedupe key continues from the last checkpoint.
	WindowEndCheckpoint OnWindowEnd = "checkpoint"
)

// Overlap selects the action when a group is due while the previous one runs.
type Overlap string

// Temporal's ALLOW_ALL is excluded: its runs do not receive the history of the previous runs.
const (
	OverlapSkip           Overlap = "skip"
	OverlapBufferOne      Overlap = "buffer_one"
	OverlapBufferAll      Overlap = "buffer_all"
	OverlapCancelOther    Overlap = "cancel_other"
	OverlapTerminateOther Overlap = "terminate_other"
)

// Routing selects the path of a job to its worker.
type Routing string

const (
	// RoutingWorker means: the group chooses a worker and sends the job to the worker's own queue.
	RoutingWorker Routing = "worker"
	// RoutingShared means: one queue per job type for all workers that opted in. It is cheapest but cannot honor pins and labels.
	RoutingShared Routing = "shared"
)

// Policy configures the groups of one job type. In a descriptor a zero field means the default.
type Policy struct {
	// DetectionTimeout bounds one detection from its start on a worker. Default 45s.
	DetectionTimeout Duration `json:"detection_timeout,omitempty"`
	// Maximum retries of a failed detection; each has DetectionTimeout. Default 2.
	DetectionRetries int `json:"detection_retries,omitempty"`
	// ExecutionTimeout bounds one attempt of a job, and its wait for an executor. Default 30m.
	ExecutionTimeout Duration `json:"execution_timeout,omitempty"`
	// MaxRuntime bounds the group: detection and all jobs. Default 30m.
	MaxRuntime Duration `json:"max_runtime,omitempty"`
	// Maximum number of accepted proposals; the rest is counted as surplus. Default 1000.
	MaxJobsPerDetection int `json:"max_jobs_per_detection,omitempty"`
	// GlobalExecutionConcurrency is the maximum number of concurrent jobs of the group. Default 1.
	GlobalExecutionConcurrency int `json:"global_execution_concurrency,omitempty"`
	// PerWorkerExecutionConcurrency is that maximum on one worker. Default 1.
	PerWorkerExecutionConcurrency int `json:"per_worker_execution_concurrency,omitempty"`
	// RetryLimit is the maximum number of retries of a failed job. Default 0.
	RetryLimit int `json:"retry_limit,omitempty"`
	// RetryBackoff is the wait before a retry. Default 5s.
	RetryBackoff Duration `json:"retry_backoff,omitempty"`
	// Bound of the wait, which doubles with each retry. Default 0: the wait is always RetryBackoff.
	RetryMaxBackoff Duration `json:"retry_max_backoff,omitempty"`
	// Time without a heartbeat after which a job is placed elsewhere. Default 30s.
	HeartbeatTimeout Duration `json:"heartbeat_timeout,omitempty"`
	// Default progress.
	Liveness Liveness `json:"liveness,omitempty"`
	// Maximum silence under liveness progress or activity. Default: heartbeat_timeout, or 12m under activity.
	StallTimeout Duration `json:"stall_timeout,omitempty"`
	// Time without a change of progress after which a job is stale. Default 24h.
	ProgressTimeout Duration `json:"progress_timeout,omitempty"`
	// Interactive shortens the heartbeat throttle to 1s, for faster cancellation and progress at more server load.
	Interactive bool `json:"interactive,omitempty"`
	// WorkerLossLimit is the maximum number of lost workers per job within 72 hours. Default 3.
	WorkerLossLimit int `json:"worker_loss_limit,omitempty"`
	// Default replace.
	OnWorkerLoss OnWorkerLoss `json:"on_worker_loss,omitempty"`
	// Default resume.
	Recovery Recovery `json:"recovery,omitempty"`
	// Default continue.
	OnDisconnect OnDisconnect `json:"on_disconnect,omitempty"`
	// Time without an accepted heartbeat after which the worker ends the handler, under on_disconnect stop. Default:
	// [StopAfter].
	StopAfter Duration `json:"stop_after,omitempty"`
	// Default cancel.
	OnDeadline OnDeadline `json:"on_deadline,omitempty"`
	// Time of running jobs after max_runtime or their window under drain. Default 30m.
	DrainGrace Duration `json:"drain_grace,omitempty"`
	// Default drain.
	OnWindowEnd OnWindowEnd `json:"on_window_end,omitempty"`
	// Maximum delay of a missed tick. Default: one interval, at least 10s, at most 365 days.
	CatchupWindow Duration `json:"catchup_window,omitempty"`
	// Default skip.
	Overlap Overlap `json:"overlap,omitempty"`
	// Default worker.
	Routing Routing `json:"routing,omitempty"`
}

// DefaultPolicy returns the built-in defaults. CatchupWindow, StallTimeout and StopAfter stay 0; see
// [Policy.WithCatchupWindow] and [Policy.WithDerived].
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

// WithCatchupWindow sets a zero catch-up window to one interval. A Temporal server would use its own default.
func (p Policy) WithCatchupWindow(interval Duration) Policy {
	p.CatchupWindow = cmp.Or(p.CatchupWindow, min(max(interval, minCatchupWindow), maxPolicyDuration))
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

// stopGrace is 10s from SIGTERM to SIGKILL of a program, and 2s to report.
const stopGrace = Duration(12 * time.Second)

// DisconnectMargin is the minimum time from stop_after to heartbeat_timeout: 1s for a heartbeat in transit, and 1%
// for clock drift. Clock offsets do not matter: both sides measure durations.
func DisconnectMargin(heartbeatTimeout Duration) Duration {
	return Duration(time.Second) + heartbeatTimeout/100
}

// StopAfter returns the default of stop_after: 12s for a handler to end, and at least half of heartbeatTimeout.
func StopAfter(heartbeatTimeout Duration) Duration {
	return max(heartbeatTimeout/2, heartbeatTimeout-stopGrace-DisconnectMargin(heartbeatTimeout))
}
