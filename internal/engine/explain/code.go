package explain

import (
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/action"
)

// Code names a kind of reason.
type Code = contract.Code

// The codes of an explanation.
const (
	Paused            = contract.CodePaused
	WindowClosed      = contract.CodeWindowClosed
	DoesNotFit        = contract.CodeWindowFit
	AfterPending      = contract.CodeAfter
	LaneBusy          = contract.CodeLaneBusy
	NoWorker          = contract.CodeNoWorker
	AllSlotsFull      = contract.CodeSlots
	WorkerUnreachable = contract.CodeUnreachable
	WorkerCordoned    = contract.CodeCordoned
	CannotStart       = contract.CodeCannotStart
	NotInstalled      = contract.CodeNotInstalled
	DiskFull          = contract.CodeDiskFull
	GlobalLimit       = contract.CodeGlobalLimit
	PerWorkerLimit    = contract.CodeWorkerLimit
	RetryBackoff      = contract.CodeBackoff
	Deferred          = contract.CodeDeferred
	Guard             = contract.CodeGuard
	NotBefore         = contract.CodeNotBefore
	Deduped           = contract.CodeDeduped
	Detecting         = contract.CodeDetecting
	ClaimsPending     = contract.CodeClaims
	ResourcesPending  = contract.CodeResources
	OutcomePending    = contract.CodeOutcome
	Starting          = contract.CodeStarting
	RetryBudget       = contract.CodeRetryBudget
	MarkedDone        = contract.CodeMarkedDone
	Held              = contract.CodeParked
	AwaitingApproval  = contract.CodeApproval
	Upstream          = contract.CodeUpstream
	ConcurrencyLimit  = contract.CodeConcurrency
	ItemsInFlight     = contract.CodeItemsInFlight
	ItemFailed        = contract.CodeItemFailed
	Sleeping          = contract.CodeSleeping
	ReceiverFailing   = contract.CodeReceiverFailing
	NoReceiver        = contract.CodeNoReceiver
	Disabled          = contract.CodeDisabled
	NotDueUntil       = contract.CodeNotDue
	ClaimHeld         = contract.CodeClaimHeld
	PoolFull          = contract.CodePoolFull
	Recovering        = contract.CodeRecovering
	ControlPlaneDown  = contract.CodeControlPlaneDown
	WorkflowStuck     = contract.CodeWorkflowStuck
	Idle              = contract.CodeIdle
)

// Reason is one answer to "why".
type Reason struct {
	Code Code `json:"code"`
	// Of is what has this reason, where that is not the thing itself: a run or a
	// job of a job type, the run of a sub-DAG.
	Of string `json:"of,omitempty"`
	// Object is what the code is about: a lane, a pool, a worker, a key.
	Object string `json:"object,omitempty"`
	// Holder has the object.
	Holder *Holder `json:"holder,omitempty"`
	// Since is when it began and Until when it ends, as far as that is known.
	Since  time.Time `json:"since,omitzero"`
	Until  time.Time `json:"until,omitzero"`
	Detail string    `json:"detail"`
	// Remedy is the text of the actions, with a hint where one is needed.
	Remedy string `json:"remedy"`
	// Actions are the operations that change the state, or show more of it.
	Actions []action.Action `json:"actions"`
}

// Holder is a run, or a job or task of it.
type Holder struct {
	Run  string `json:"run"`
	Item string `json:"item,omitempty"`
}

// Thing names the holder for an explanation: RUN or RUN/ITEM.
func (h Holder) Thing() string {
	if h.Item == "" {
		return h.Run
	}
	return h.Run + "/" + h.Item
}

// Codes lists every code, in the order in which reasons are listed: what stops
// everything first, what passes by itself last.
func Codes() []Code {
	return []Code{
		ControlPlaneDown, WorkflowStuck, Disabled, Paused, RetryBudget, Held, AwaitingApproval, Recovering, AfterPending, WindowClosed, DoesNotFit, LaneBusy, NoWorker, WorkerUnreachable, WorkerCordoned, CannotStart, NotInstalled, DiskFull, NoReceiver, ReceiverFailing,
		ClaimHeld, PoolFull, ConcurrencyLimit, ItemsInFlight, GlobalLimit, PerWorkerLimit, AllSlotsFull, RetryBackoff, Deferred, Guard, NotBefore, Sleeping,
		Upstream, ItemFailed, Deduped, MarkedDone, OutcomePending, ResourcesPending, ClaimsPending, Detecting, Starting, NotDueUntil, Idle,
	}
}
