package explain

import (
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/action"
)

// Code is the kind of a reason.
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
	Backlog           = contract.CodeBacklog
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
	FleetRecovering   = contract.CodeFleetRecovering
	ControlPlaneDown  = contract.CodeControlPlaneDown
	WorkflowStuck     = contract.CodeWorkflowStuck
	Idle              = contract.CodeIdle
)

// Reason is one answer to "why".
type Reason struct {
	Code Code `json:"code"`
	// Of names the thing with this reason, if it is not the explained thing: a run or a job of a
	// job type, the run of a sub-DAG.
	Of string `json:"of,omitempty"`
	// Object is the subject of the code: a lane, a pool, a worker, a key.
	Object string  `json:"object,omitempty"`
	Holder *Holder `json:"holder,omitempty"`
	// Since and Until bound the state; zero if unknown.
	Since  time.Time `json:"since,omitzero"`
	Until  time.Time `json:"until,omitzero"`
	Detail string    `json:"detail"`
	// Remedy is the text of the actions, with a hint if necessary.
	Remedy string `json:"remedy"`
	// Actions are the operations that change the state, or show more of it.
	Actions []action.Action `json:"actions"`
	// Actor is who can change the state, if no action has a request that does.
	Actor string `json:"actor,omitempty"`
	// more counts the other things with the same reason.
	more int
}

// Holder is a run, or a job or task of a run.
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

// Codes lists every code in the order of reasons: the gravest first, passing states last.
func Codes() []Code {
	return []Code{
		ControlPlaneDown, WorkflowStuck, Disabled, Paused, RetryBudget, Held, AwaitingApproval, Recovering, FleetRecovering, AfterPending, WindowClosed, DoesNotFit, LaneBusy, NoWorker, WorkerUnreachable, WorkerCordoned, CannotStart, NotInstalled, DiskFull, NoReceiver, ReceiverFailing,
		ClaimHeld, PoolFull, ConcurrencyLimit, ItemsInFlight, GlobalLimit, Backlog, PerWorkerLimit, AllSlotsFull, RetryBackoff, Deferred, Guard, NotBefore, Sleeping,
		Upstream, ItemFailed, Deduped, MarkedDone, OutcomePending, ResourcesPending, ClaimsPending, Detecting, Starting, NotDueUntil, Idle,
	}
}
