package contract

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Code is the reason why work does not continue, or how it ended. docs/explain.md lists the codes.
type Code string

// Codes of waiting items and runs.
const (
	CodePaused        Code = "PAUSED"
	CodeParked        Code = "HELD"
	CodeDetecting     Code = "DETECTING"
	CodeClaims        Code = "CLAIMS_PENDING"
	CodeUpstream      Code = "UPSTREAM"
	CodeApproval      Code = "AWAITING_APPROVAL"
	CodeSleeping      Code = "SLEEPING"
	CodeConcurrency   Code = "CONCURRENCY_LIMIT"
	CodeItemsInFlight Code = "ITEMS_IN_FLIGHT"
	CodeItemFailed    Code = "ITEM_FAILED"
	CodeGlobalLimit   Code = "GLOBAL_LIMIT"
	CodeBacklog       Code = "BACKLOG"
	CodeWorkerLimit   Code = "PER_WORKER_LIMIT"
	CodeSlots         Code = "ALL_SLOTS_FULL"
	CodeNoWorker      Code = "NO_WORKER"
	CodeUnreachable   Code = "WORKER_UNREACHABLE"
	CodeCordoned      Code = "WORKER_CORDONED"
	CodeResources     Code = "RESOURCES_PENDING"
	CodeBackoff       Code = "RETRY_BACKOFF_UNTIL"
	CodeDeferred      Code = "DEFERRED"
	CodeGuard         Code = "GUARD"
	CodeNotBefore     Code = "NOT_BEFORE"
	CodeOutcome       Code = "OUTCOME_PENDING"
	CodeStarting      Code = "STARTING"
	CodeLaneBusy      Code = "LANE_BUSY"
	CodeWindowClosed  Code = "WINDOW_CLOSED_UNTIL"
	CodeWindowFit     Code = "DOES_NOT_FIT_WINDOW"
	// CodeAfter: the run waits for a success of another job type.
	CodeAfter Code = "AFTER_PENDING"
)

// Codes of interrupted work. The audit log uses these and those above.
const (
	CodeWorkerLost Code = "WORKER_LOST"
	// CodeLosesWorkers: the item was lost with several workers. It is kept apart, or has failed.
	CodeLosesWorkers Code = "LOSES_WORKERS"
	CodeAtCapacity   Code = "AT_CAPACITY"
	CodeDraining     Code = "WORKER_DRAINING"
	CodeUnsupported  Code = "UNSUPPORTED"
	CodeNotTaken     Code = "NOT_TAKEN"
	// CodeCannotStart and CodeNotInstalled are about a program that did not start on a worker.
	CodeCannotStart  Code = "CANNOT_START"
	CodeNotInstalled Code = "NOT_INSTALLED"
	// CodeDiskFull is about the file system of a worker's data directory.
	CodeDiskFull   Code = "DISK_FULL"
	CodeGrantLost  Code = "GRANT_LOST"
	CodeDeduped    Code = "DEDUPED"
	CodeDuplicate  Code = "DUPLICATE"
	CodeSurplus    Code = "SURPLUS"
	CodeInvalid    Code = "INVALID"
	CodeExpired    Code = "EXPIRED"
	CodeNotStarted Code = "NOT_STARTED"
	CodeStale      Code = "STALE"
	CodeDeadline   Code = "DEADLINE"
	CodeWindowEnd  Code = "WINDOW_CLOSED"
	CodeCheckpoint Code = "CHECKPOINT_DROPPED"
	CodeStopped    Code = "STOPPED"
	// CodePageLost: the work of the job lies in a page that the server does not have. A retry cannot read it.
	CodePageLost Code = "PAGE_LOST"
	// CodeDetectionFailed applies to one worker of a job type with detect_on: every.
	CodeDetectionFailed Code = "DETECTION_FAILED"
)

// Codes of receivers that get no notifications.
const (
	CodeReceiverFailing Code = "RECEIVER_FAILING"
	CodeNoReceiver      Code = "NO_RECEIVER"
)

// Codes of job types, resources, workers and the installation.
const (
	CodeDisabled         Code = "DISABLED"
	CodeNotDue           Code = "NOT_DUE_UNTIL"
	CodeRetryBudget      Code = HoldRetryBudget
	CodeMarkedDone       Code = HoldMarkedDone
	CodeClaimHeld        Code = "CLAIM_HELD"
	CodePoolFull         Code = "POOL_FULL"
	CodeRecovering       Code = "ADMISSION_RECOVERING"
	CodeFleetRecovering  Code = "FLEET_RECOVERING"
	CodeControlPlaneDown Code = "CONTROL_PLANE_DOWN"
	CodeWorkflowStuck    Code = "WORKFLOW_STUCK"
	CodeIdle             Code = "IDLE"
)

// Codes of refused requests and messages.
const (
	CodeRefused  Code = "REFUSED"
	CodeTooLarge Code = "TOO_LARGE"
	// CodeIDInUse: another live process has the id of the worker.
	CodeIDInUse     Code = "ID_IN_USE"
	CodeUnavailable Code = "UNAVAILABLE"
)

// NoteCodes lists the codes that runs note in the audit log.
func NoteCodes() []Code {
	return []Code{
		CodeBackoff, CodeNoWorker, CodeResources, CodeWindowFit, CodeWorkerLost, CodeLosesWorkers, CodeAtCapacity, CodeDraining, CodeUnsupported, CodeNotTaken,
		CodeGrantLost, CodeDeduped, CodeDuplicate, CodeSurplus, CodeInvalid, CodeExpired, CodeNotStarted, CodeStale, CodeDeadline,
		CodeWindowEnd, CodeStopped, CodeCheckpoint, CodeDetectionFailed, CodeUnreachable, CodeCordoned, CodeSlots,
		CodeCannotStart, CodeNotInstalled, CodeDeferred, CodeGuard, CodeFleetRecovering,
	}
}

// Wrap puts the code before the error of a job.
func (c Code) Wrap(err error) error { return fmt.Errorf("%s: %w", c, err) }

// CodeOfError returns the code before the error of a job; empty for the error of a program.
func CodeOfError(message string) Code {
	code, _, _ := strings.Cut(message, ": ")
	if coded := []Code{CodePageLost, CodeLosesWorkers, CodeNotInstalled, CodeInvalid}; slices.Contains(coded, Code(code)) {
		return Code(code)
	}
	return ""
}

// FailureNone is the zero FailureKind: the attempt succeeded.
const FailureNone FailureKind = ""

// Valid reports whether this version has the kind.
func (k FailureKind) Valid() bool {
	switch k {
	case FailureNone, FailureFailed, FailurePermanent, FailureStale, FailureTimeout, FailureCanceled, FailureAtCapacity,
		FailureDraining, FailureUnsupported, FailureWorkerLost, FailureNotRunning, FailureNotTaken, FailureCannotStart, FailureNotInstalled,
		FailureDeferred, FailureGuard:
		return true
	}
	return false
}

// AskID returns the id of an item's n-th request for resources in its run.
func AskID(item string, ask int) string { return item + "." + strconv.Itoa(ask) }

// ItemOfAsk is the inverse of [AskID]; ok is false for any other id.
func ItemOfAsk(id string) (item string, ask int, ok bool) {
	at := strings.LastIndexByte(id, '.')
	if at < 0 {
		return "", 0, false
	}
	ask, err := strconv.Atoi(id[at+1:])
	return id[:at], ask, err == nil
}
