package explain

import (
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/action"
)

// Reason is one answer to "why".
type Reason struct {
	Code contract.Code `json:"code"`
	// Of names the thing with this reason, if it is not the explained thing: a run or a job of a
	// job type, the run of a sub-DAG.
	Of string `json:"of,omitempty"`
	// Object is the subject of the code: a lane, a pool, a worker, a key.
	Object string `json:"object,omitempty"`
	// OfRun is the run or item named by Of; absent for other things.
	OfRun *Holder `json:"of_run,omitempty"`
	// Targets are the things named by Object that have a page, in its order.
	Targets []Target `json:"targets,omitempty"`
	// Named means that a word of Detail begins with Object.
	Named bool `json:"named,omitempty"`
	// Runs are the runs and items that Detail names, in its order.
	Runs []Holder `json:"runs,omitempty"`
	// Quoted means that Detail is the text of a person, not a sentence.
	Quoted bool    `json:"quoted,omitempty"`
	Holder *Holder `json:"holder,omitempty"`
	// Since and Until bound the state; zero if unknown.
	Since time.Time `json:"since,omitzero"`
	Until time.Time `json:"until,omitzero"`
	// Detail begins with a word of the sentence, not with a name.
	Detail string `json:"detail"`
	// Remedy is the text of the actions. Hint is its part without them; empty if there is none.
	Remedy string `json:"remedy"`
	Hint   string `json:"hint,omitempty"`
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
func Codes() []contract.Code {
	return []contract.Code{
		contract.CodeControlPlaneDown, contract.CodeWorkflowStuck, contract.CodeDisabled, contract.CodePaused,
		contract.CodeRetryBudget, contract.CodeParked, contract.CodeApproval, contract.CodeRecovering, contract.CodeFleetRecovering,
		contract.CodeAfter, contract.CodeWindowClosed, contract.CodeWindowFit, contract.CodeLaneBusy, contract.CodeNoWorker,
		contract.CodeUnreachable, contract.CodeCordoned, contract.CodeCannotStart, contract.CodeNotInstalled, contract.CodeDiskFull,
		contract.CodeNoReceiver, contract.CodeReceiverFailing, contract.CodeClaimHeld, contract.CodePoolFull,
		contract.CodeConcurrency, contract.CodeItemsInFlight, contract.CodeGlobalLimit, contract.CodeBacklog,
		contract.CodeWorkerLimit, contract.CodeLosesWorkers, contract.CodeSlots, contract.CodeBackoff, contract.CodeDeferred, contract.CodeGuard,
		contract.CodeNotBefore, contract.CodeSleeping, contract.CodeUpstream, contract.CodeItemFailed, contract.CodeDeduped,
		contract.CodeMarkedDone, contract.CodeOutcome, contract.CodeResources, contract.CodeClaims, contract.CodeDetecting,
		contract.CodeStarting, contract.CodeNotDue, contract.CodeIdle,
	}
}
