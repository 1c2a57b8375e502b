package explain

import (
	"time"

	"github.com/roundsman/roundsman/contract"
)

// Code names a kind of reason.
type Code string

// The codes. A group uses the same words for its jobs.
const (
	Disabled          Code = "DISABLED"
	Paused            Code = "PAUSED"
	NotDueUntil       Code = "NOT_DUE_UNTIL"
	WindowClosed      Code = "WINDOW_CLOSED_UNTIL"
	DoesNotFit        Code = "DOES_NOT_FIT_WINDOW"
	LaneBusy          Code = "LANE_BUSY"
	ClaimHeld         Code = "CLAIM_HELD"
	PoolFull          Code = "POOL_FULL"
	NoWorker          Code = "NO_WORKER"
	AllSlotsFull      Code = "ALL_SLOTS_FULL"
	WorkerUnreachable Code = "WORKER_UNREACHABLE"
	WorkerCordoned    Code = "WORKER_CORDONED"
	CannotStart            = Code(contract.CodeCannotStart)
	NotInstalled           = Code(contract.CodeNotInstalled)
	GlobalLimit       Code = "GLOBAL_LIMIT"
	PerWorkerLimit    Code = "PER_WORKER_LIMIT"
	RetryBackoff      Code = "RETRY_BACKOFF_UNTIL"
	NotBefore         Code = "NOT_BEFORE"
	Deduped           Code = "DEDUPED"
	Detecting         Code = "DETECTING"
	ClaimsPending     Code = "CLAIMS_PENDING"
	ResourcesPending  Code = "RESOURCES_PENDING"
	OutcomePending    Code = "OUTCOME_PENDING"
	Recovering        Code = "ADMISSION_RECOVERING"
	Starting          Code = "STARTING"
	ControlPlaneDown  Code = "CONTROL_PLANE_DOWN"
	WorkflowStuck     Code = "WORKFLOW_STUCK"
	RetryBudget       Code = "RETRY_BUDGET"
	MarkedDone        Code = "MARKED_DONE"

	// Those of DAG runs and tasks alone.
	Held             Code = "HELD"
	AwaitingApproval Code = "AWAITING_APPROVAL"
	Upstream         Code = "UPSTREAM"
	ConcurrencyLimit Code = "CONCURRENCY_LIMIT"
	Sleeping         Code = "SLEEPING"

	// Those of receivers of notifications alone.
	ReceiverFailing = Code(contract.CodeReceiverFailing)
	NoReceiver      = Code(contract.CodeNoReceiver)

	// Idle is a worker's: it could work, and there is nothing to do.
	Idle Code = "IDLE"
)

// Reason is one answer to "why".
type Reason struct {
	Code Code `json:"code"`
	// Of is what has this reason, where that is not the thing itself: a run or a
	// job of a job type, the run of a sub-DAG.
	Of string `json:"of,omitempty"`
	// Object is what the code is about: a lane, a pool, a worker, a key.
	Object string `json:"object,omitempty"`
	// Since is when it began and Until when it ends, as far as that is known.
	Since  time.Time `json:"since,omitzero"`
	Until  time.Time `json:"until,omitzero"`
	Detail string    `json:"detail"`
	// Remedy says what would change it.
	Remedy string `json:"remedy"`
}

// Codes lists every code, in the order in which reasons are listed: what stops
// everything first, what passes by itself last.
func Codes() []Code {
	return []Code{
		ControlPlaneDown, WorkflowStuck, Disabled, Paused, RetryBudget, Held, AwaitingApproval, Recovering, WindowClosed, DoesNotFit, LaneBusy, NoWorker, WorkerUnreachable, WorkerCordoned, CannotStart, NotInstalled, NoReceiver, ReceiverFailing,
		ClaimHeld, PoolFull, ConcurrencyLimit, GlobalLimit, PerWorkerLimit, AllSlotsFull, RetryBackoff, NotBefore, Sleeping,
		Upstream, Deduped, MarkedDone, OutcomePending, ResourcesPending, ClaimsPending, Detecting, Starting, NotDueUntil, Idle,
	}
}

// remedy is what helps, where it does not depend on more than the object.
func remedy(code Code, object string) string {
	switch code {
	case ControlPlaneDown:
		return "start one with `roundsman server` (or `roundsman dev`); `roundsman doctor` looks closer"
	case WorkflowStuck:
		return "start `roundsman server` in the version that began it, or a corrected one, in place of all others (`roundsman doctor` lists them): " +
			"it continues by itself; the server's log has the stack. " +
			"`temporal workflow terminate --workflow-id " + object + "` gives it up"
	case Disabled:
		return "set `enabled: true` in the configuration and `roundsman apply`"
	case Paused:
		return "`roundsman jobtypes resume " + object + "`, or `roundsman runs resume` for a run"
	case NotDueUntil:
		return "wait, or `roundsman jobtypes run " + object + "`"
	case WindowClosed:
		return "wait, or `roundsman jobtypes run " + object + " --ignore-window`, or change its `windows:` and `blackouts:`, or those of its lane, and `roundsman apply`"
	case DoesNotFit:
		return "wait: a later window may have room for it; or make the window longer and `roundsman apply`, make the job smaller, or propose it with a shorter estimated_runtime"
	case LaneBusy:
		return "wait for the holder; `roundsman explain` its run tells what it waits for, `roundsman runs cancel` ends it; or give the job type another lane"
	case ClaimHeld:
		return "wait for the holder's job, or cancel it with `roundsman jobs cancel`"
	case PoolFull:
		return "wait, or `roundsman pools resize " + object + " --size N`, or raise it under `resources:`"
	case NoWorker:
		return "start a worker that has the handler and the labels, or goes by the name that is asked for: `roundsman worker --id NAME`; see `roundsman workers list`"
	case AllSlotsFull:
		return "wait, add workers, or raise --max-execute (for a detection: --max-detect)"
	case WorkerUnreachable:
		return "look at the worker's process and network; `roundsman workers show " + object + "`"
	case WorkerCordoned:
		return "`roundsman workers uncordon " + object + "`"
	case CannotStart:
		return "repair the node (open files, memory, disk, processes): one job is tried after each pause, and a start clears it; `roundsman workers show " + object + "`"
	case NotInstalled:
		return "install the program there, or write its path; `roundsman workers show " + object + "`"
	case GlobalLimit:
		return "wait, or raise global_execution_concurrency"
	case PerWorkerLimit:
		return "wait, or raise per_worker_execution_concurrency"
	case RetryBackoff:
		return "wait, or lower retry_backoff"
	case NotBefore:
		return "wait: this start was asked for, by the detection or with `--not-before`; or cancel it"
	case Deduped:
		return "nothing to do: the other run does it; cancel its job if it should not"
	case OutcomePending:
		return "wait a few seconds: the lost worker may still deliver the outcome"
	case Sleeping:
		return "wait"
	case ReceiverFailing:
		return "repair it: the next try tells it; after `roundsman notifications test " + object + "` the rest follows at once"
	case NoReceiver:
		return "write `notify.receivers." + object + "` into the configuration of `roundsman server --config FILE` and start it again"
	case Idle:
		return "nothing to do; apply a job type that uses its handlers"
	case RetryBudget, MarkedDone:
		return "" // The job type and the key are part of it: see reasonOfHold.
	case Held, AwaitingApproval, Upstream, ConcurrencyLimit:
		return "" // The run that they are about is part of it: see ofDAG.
	case Detecting, ClaimsPending, ResourcesPending, Starting, Recovering:
		return "wait a moment; if it lasts, `roundsman doctor`"
	}
	return ""
}
