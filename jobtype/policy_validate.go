package jobtype

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Over returns p with its zero fields taken from base.
func (p Policy) Over(base Policy) Policy {
	merged := base
	overlay(&merged.DetectionTimeout, p.DetectionTimeout)
	overlay(&merged.DetectionRetries, p.DetectionRetries)
	overlay(&merged.ExecutionTimeout, p.ExecutionTimeout)
	overlay(&merged.MaxRuntime, p.MaxRuntime)
	overlay(&merged.MaxJobsPerDetection, p.MaxJobsPerDetection)
	overlay(&merged.GlobalExecutionConcurrency, p.GlobalExecutionConcurrency)
	overlay(&merged.PerWorkerExecutionConcurrency, p.PerWorkerExecutionConcurrency)
	overlay(&merged.RetryLimit, p.RetryLimit)
	overlay(&merged.RetryBackoff, p.RetryBackoff)
	overlay(&merged.RetryMaxBackoff, p.RetryMaxBackoff)
	overlay(&merged.HeartbeatTimeout, p.HeartbeatTimeout)
	overlay(&merged.Liveness, p.Liveness)
	overlay(&merged.StallTimeout, p.StallTimeout)
	overlay(&merged.ProgressTimeout, p.ProgressTimeout)
	overlay(&merged.Interactive, p.Interactive)
	overlay(&merged.WorkerLossLimit, p.WorkerLossLimit)
	overlay(&merged.OnWorkerLoss, p.OnWorkerLoss)
	overlay(&merged.Recovery, p.Recovery)
	overlay(&merged.OnDisconnect, p.OnDisconnect)
	overlay(&merged.StopAfter, p.StopAfter)
	overlay(&merged.OnDeadline, p.OnDeadline)
	overlay(&merged.DrainGrace, p.DrainGrace)
	overlay(&merged.OnWindowEnd, p.OnWindowEnd)
	overlay(&merged.CatchupWindow, p.CatchupWindow)
	overlay(&merged.Overlap, p.Overlap)
	overlay(&merged.Routing, p.Routing)
	return merged
}

func overlay[T comparable](target *T, value T) {
	var zero T
	if value != zero {
		*target = value
	}
}

// MaxKeyedJobs bounds the jobs of a group that must hold its proposals: those with resources, objects, times or a
// DAG, or with a retry budget per key. One signal of 1.1 MB claims 100,000 keys (the server takes 2 MiB), and
// admission holds 120,000 over all groups.
const MaxKeyedJobs = 100_000

// A workflow with over 2,000 pending activities fails for ever. The proposals of 1,000,000 jobs are in pages.
const (
	MaxGlobalConcurrency   = 500
	MaxJobsLimit           = 1_000_000
	MaxRetryLimit          = 100
	maxDetectionRetries    = 10
	maxPolicyDuration      = Duration(365 * 24 * time.Hour)
	minHeartbeatTimeout    = Duration(time.Second)
	minCatchupWindow       = Duration(10 * time.Second)
	minDetectionTimeout    = Duration(time.Second)
	minExecutionTimeout    = Duration(time.Second)
	minGroupRuntime        = Duration(time.Second)
	minRetryBackoff        = Duration(0)
	maxRetryMaxBackoff     = Duration(24 * time.Hour)
	minStopAfter           = Duration(500 * time.Millisecond)
	minProgressTimeout     = Duration(time.Second)
	maxHeartbeatTimeout    = Duration(24 * time.Hour)
	maxPerWorkerConcurrent = MaxGlobalConcurrency
)

// PolicyFault is one setting out of range. Key is its name in the configuration.
type PolicyFault struct {
	Key     string
	Message string
}

func (f *PolicyFault) Error() string { return f.Key + ": " + f.Message }

// Validate returns every setting out of range as a [*PolicyFault], joined. It expects filled-in defaults.
func (p Policy) Validate() error {
	faults := append(p.durationFaults(), p.countFaults()...)
	return errors.Join(append(faults, p.choiceFaults()...)...)
}

func (p Policy) durationFaults() []error {
	var faults []error
	within := func(key string, value, low, high Duration) {
		if value < low || value > high {
			faults = append(faults, &PolicyFault{key, fmt.Sprintf("%s is out of range: use %s to %s", value, low, high)})
		}
	}
	within("detection_timeout", p.DetectionTimeout, minDetectionTimeout, maxPolicyDuration)
	within("execution_timeout", p.ExecutionTimeout, minExecutionTimeout, maxPolicyDuration)
	within("max_runtime", p.MaxRuntime, minGroupRuntime, maxPolicyDuration)
	within("retry_backoff", p.RetryBackoff, minRetryBackoff, maxPolicyDuration)
	if bound := p.RetryMaxBackoff; bound != 0 && (bound < p.RetryBackoff || bound > maxRetryMaxBackoff) {
		faults = append(faults, &PolicyFault{"retry_max_backoff", fmt.Sprintf("%s is out of range: use retry_backoff (%s) to %s, or 0 for a wait that does not grow", bound, p.RetryBackoff, maxRetryMaxBackoff)})
	}
	within("heartbeat_timeout", p.HeartbeatTimeout, minHeartbeatTimeout, maxHeartbeatTimeout)
	within("stall_timeout", p.StallTimeout, minHeartbeatTimeout, maxPolicyDuration)
	within("progress_timeout", p.ProgressTimeout, minProgressTimeout, maxPolicyDuration)
	within("drain_grace", p.DrainGrace, 0, maxPolicyDuration)
	if p.OnDisconnect == DisconnectStop {
		longest := p.HeartbeatTimeout - DisconnectMargin(p.HeartbeatTimeout)
		if p.StopAfter < minStopAfter || p.StopAfter > longest {
			faults = append(faults, &PolicyFault{"stop_after", fmt.Sprintf("%s is out of range: use %s to %s, so that the handler has ended before heartbeat_timeout (%s) is over",
				p.StopAfter, minStopAfter, longest, p.HeartbeatTimeout)})
		}
	}
	if p.CatchupWindow != 0 {
		within("catchup_window", p.CatchupWindow, minCatchupWindow, maxPolicyDuration)
	}
	return faults
}

func (p Policy) countFaults() []error {
	var faults []error
	within := func(key string, value, low, high int) {
		if value < low || value > high {
			faults = append(faults, &PolicyFault{key, fmt.Sprintf("%d is out of range: use %d to %d", value, low, high)})
		}
	}
	if n := p.MaxJobsPerDetection; n < 1 || n > MaxJobsLimit {
		faults = append(faults, &PolicyFault{"max_jobs_per_detection", fmt.Sprintf("%d is out of range: use 1 to %d", n, MaxJobsLimit)})
	}
	within("global_execution_concurrency", p.GlobalExecutionConcurrency, 1, MaxGlobalConcurrency)
	within("per_worker_execution_concurrency", p.PerWorkerExecutionConcurrency, 1, maxPerWorkerConcurrent)
	within("detection_retries", p.DetectionRetries, 0, maxDetectionRetries)
	within("retry_limit", p.RetryLimit, 0, MaxRetryLimit)
	within("worker_loss_limit", p.WorkerLossLimit, 0, MaxRetryLimit)
	return faults
}

func (p Policy) choiceFaults() []error {
	var faults []error
	faults = oneOf(faults, "liveness", p.Liveness, LivenessProgress, LivenessProcess, LivenessActivity)
	faults = oneOf(faults, "on_disconnect", p.OnDisconnect, DisconnectContinue, DisconnectStop)
	faults = oneOf(faults, "on_worker_loss", p.OnWorkerLoss, WorkerLossReplace, WorkerLossFail, WorkerLossHold)
	faults = oneOf(faults, "recovery", p.Recovery, RecoveryResume, RecoveryFail)
	faults = oneOf(faults, "on_deadline", p.OnDeadline, DeadlineCancel, DeadlineDrain)
	faults = oneOf(faults, "on_window_end", p.OnWindowEnd, WindowEndDrain, WindowEndCheckpoint)
	faults = oneOf(faults, "routing", p.Routing, RoutingWorker, RoutingShared)
	if p.Routing == RoutingShared && p.OnWorkerLoss == WorkerLossHold {
		faults = append(faults, &PolicyFault{"on_worker_loss", "hold needs routing worker: it continues with a lost job on the very worker that lost it, and on a shared queue (routing shared) any worker may take it; use replace or fail, or routing worker"})
	}
	if p.Overlap == "allow_all" {
		return append(faults, &PolicyFault{"overlap", "allow_all is refused: runs under it do not learn the history of the runs before them; use skip, buffer_one, buffer_all, cancel_other or terminate_other"})
	}
	return oneOf(faults, "overlap", p.Overlap, OverlapSkip, OverlapBufferOne, OverlapBufferAll, OverlapCancelOther, OverlapTerminateOther)
}

func oneOf[T ~string](faults []error, key string, value T, allowed ...T) []error {
	if slices.Contains(allowed, value) {
		return faults
	}
	known := make([]string, len(allowed))
	for i, one := range allowed {
		known[i] = string(one)
	}
	return append(faults, &PolicyFault{key, fmt.Sprintf("%q is none of %s", string(value), strings.Join(known, ", "))})
}
