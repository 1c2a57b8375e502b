package explain

import (
	"fmt"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
)

// The texts of items that wait for a place on a worker, without fields.
const (
	// TextSharedWorker stands for the unknown worker of a shared queue's attempt.
	TextSharedWorker = "of the shared queue"
	// TextFences is the wait of an item for a fence.
	TextFences = "the run has requested more fences"
	// TextPlaced is the wait of an item with a free worker.
	TextPlaced = "it is about to be placed"
	// TextProbed is the wait for workers that are being probed.
	TextProbed = "it did not take work that it was sent, or lost some, and is being probed"
	// TextPinnedUnknown follows the wait for a node that is not registered.
	TextPinnedUnknown = ", and the job is pinned to it; until then it waits, then it fails"
	// TextLossFails follows the message of an item that is not placed again.
	TextLossFails = " (on_worker_loss is fail)"
	// TextOtherRun is the cause of trouble that another run has reported.
	TextOtherRun = "another run reported it"
	// TextNoHeartbeat and the next ones are reasons of workers that get nothing.
	TextNoHeartbeat = "no heartbeat for three intervals"
	TextSuspect     = "it lost a job and has not shown a heartbeat since"
	TextNoHandler   = "it does not have the handler"
	TextAtCapacity  = "it reported that it is at capacity"
	// Suspect is the [Server.Away] of a worker that lost a job.
	Suspect = "suspect (no heartbeat since it lost a job)"
)

// TextUnshared is the wait for a worker of a shared queue.
func TextUnshared(jobType string) string {
	return fmt.Sprintf("no worker pulls the shared queue of %s (start one with --shared %s)", jobType, jobType)
}

// TextUnserved is the wait for a worker although none lacks anything.
func TextUnserved(handler string, labels map[string]string) string {
	return "no online worker could serve " + HandlerWith(handler, labels)
}

// HandlerWith names a handler and labels.
func HandlerWith(handler string, labels map[string]string) string {
	return strings.TrimSpace(handler + " " + Labels(labels))
}

// TextHeldByLoss is the wait of an item for the worker that lost it. It may be back, but unfit.
func TextHeldByLoss(worker string, back bool, last string) string {
	if back {
		return fmt.Sprintf("its on_worker_loss is hold: worker %s is back, but cannot run it (%s); restart it when it can, or cancel the job", worker, last)
	}
	return fmt.Sprintf("its on_worker_loss is hold: worker %s must come back, or cancel the job", worker)
}

// TextGrace is the wait of an item for a late outcome.
func TextGrace(worker string) string {
	return fmt.Sprintf("worker %s was lost; its outcome may still arrive", worker)
}

// TextBackoff is the wait of an item after a failure.
func TextBackoff(next time.Time, attempt int, failure string) string {
	return fmt.Sprintf("the next attempt comes at %s; attempt %d failed: %s", stamp(next), attempt, failure)
}

// TextNotBefore is the wait of an item with a time of its own.
func TextNotBefore(at time.Time) string { return "its not_before is " + stamp(at) }

// TextResources is the wait of an item that requests resources; ahead means that it does not request them yet.
func TextResources(needs fmt.Stringer, ahead bool) string {
	text := "its resources: " + needs.String()
	if ahead {
		text += "; other jobs wait ahead of it"
	}
	return text
}

// TextGlobalLimit is the wait for global_execution_concurrency; requesting items count, too.
func TextGlobalLimit(limit, running, requesting int) string {
	text := fmt.Sprintf("its global_execution_concurrency of %d is reached", limit)
	if running >= limit {
		return text
	}
	return fmt.Sprintf("%d jobs run and %d request their resources: ", running, requesting) + text
}

// TextPerWorker is the wait for per_worker_execution_concurrency.
func TextPerWorker(limit int) string {
	return fmt.Sprintf("its per_worker_execution_concurrency of %d is reached", limit)
}

// Used is the number of slots of a worker that other runs use.
type Used struct {
	Worker string
	Slots  int
}

// TextSlots is the wait for a slot.
func TextSlots(others []Used) string {
	text := "all slots (max_execute) of the fitting workers are taken"
	for _, used := range others {
		if used.Slots == 1 {
			text += "; others use 1 slot of " + used.Worker
			continue
		}
		text += fmt.Sprintf("; others use %d slots of %s", used.Slots, used.Worker)
	}
	return text
}

// TextIs is the reason of a worker in a state without work.
func TextIs(state contract.WorkerState) string { return "it is " + string(state) }

// TextGone returns why a process reports nothing any more.
func TextGone(worker string, replaced bool) string {
	if replaced {
		return "worker " + worker + " was replaced by another process"
	}
	return "worker " + worker + " is OFFLINE"
}
