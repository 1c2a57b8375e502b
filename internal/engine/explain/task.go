package explain

import (
	"fmt"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
)

// The texts of tasks and DAG runs without fields. They are data: the record, the audit log and the
// terminal show them unchanged.
const (
	// TextOutside precedes the reason of a task that was canceled from outside.
	TextOutside = "canceled from outside: "
	// TextDoneBut precedes the fault of a result.
	TextDoneBut = "it was done, but "
	// TextCannotAdd precedes the fault of the tasks of a result.
	TextCannotAdd = "it was done, but the tasks it returned cannot be added: "
	// TextRunHeld is the wait of a held run.
	TextRunHeld = "held after a failure: retry or skip tasks, or release the run"
	// TextRunNotBegun is the wait of a run without a first step.
	TextRunNotBegun = "the run has not begun"
	// TextRolls is the wait of a run that continues as new.
	TextRolls = "tasks are about to start; the run continues as new first"
	// TextStarting is the wait of an item that starts.
	TextStarting = "it is about to start"
	// TextLaneAgain is the wait of a task for the lane of its run.
	TextLaneAgain = "the lane was given back for an approval; it begins when the lane is granted again"
	// TextPerson is the wait of an approval without a prompt.
	TextPerson = "it waits for a person"
	// TextYielded and TextAdmitted are short waits for a concurrency slot.
	TextYielded  = "a place: the holders of all places wait themselves"
	TextAdmitted = "a place; it has its resources"
	// TextNotApproved ends an approval.
	TextNotApproved = "not approved in time"
	// TextByOperator is the reason of a cancellation without a reason. TextExpiredBy is the reason of such an expiry.
	TextByOperator = "canceled by an operator"
	TextExpiredBy  = "expired by an operator"
	// TextAddedFile is the file name of tasks from a request.
	TextAddedFile = "added tasks"
)

// TextTaskTooLarge is the error of a task whose command and params do not fit.
func TextTaskTooLarge(size, most int) string {
	return fmt.Sprintf("its command and params have %d bytes, the limit is %d: pass a reference instead of the data", size, most)
}

// TextNoItems is the error of a fan-out whose items no task returns.
func TextNoItems(of, state string) string {
	return fmt.Sprintf("%s: it has no items: %s, which returns them, is %s; rerun %s, or skip this task", contract.CodeInvalid, of, state, of)
}

// TextRunsDAG is the error of a task whose job type has no handler.
func TextRunsDAG(jobType string) string {
	return "job type " + jobType + " runs a DAG, and no handler: name its file with dag instead of job_type"
}

// TextDeadline is the reason of a run that ended at its deadline.
func TextDeadline(after time.Duration) string {
	return "the deadline of " + Setting(after) + " is over"
}

// TextApproval is the error of a task without an approval in time.
func TextApproval(timeout time.Duration) string {
	return "not approved within " + Setting(timeout)
}

// TextObject is the error of a task with a name of an object that is none.
func TextObject(object string, most int) string {
	return fmt.Sprintf("%s: %.40q is no name of an object: it has %d bytes, 1 to %d are possible", contract.CodeInvalid, object, len(object), most)
}

// TextItemsInFlight is the wait of an item of a chain that is full; open are its items with their states.
func TextItemsInFlight(chain string, inFlight, limit int, open []string) string {
	return fmt.Sprintf("%d of %d items of %s are in flight: %s", inFlight, limit, chain, strings.Join(open, ", ")) + textAndMore(inFlight-len(open))
}

// TextHalfDone is the wait of an item behind one that an earlier attempt has begun.
func TextHalfDone(chain string) string {
	return "an item of " + chain + " that an earlier attempt left half done begins first"
}

// TextItemStopped is the end of an item that did not begin.
func TextItemStopped(item, task, state string) string {
	return fmt.Sprintf("its item did not begin (on_item_failure: stop): item %s failed, %s %s", item, task, state)
}

// TextFansOut follows the refusal of an entry that stands for several tasks.
func TextFansOut(total int, names []string) string {
	if total > len(names) {
		names = append(names, "…")
	}
	return fmt.Sprintf(": it fans out to %d; name those: %s", total, strings.Join(names, ", "))
}

// TextDidYouMean follows the refusal of an unknown task.
func TextDidYouMean(similar string) string {
	if similar == "" {
		return "; `roundsman show` lists them"
	}
	return fmt.Sprintf(": did you mean %q? `roundsman show` lists them", similar)
}

// TextItemsWait and TextReady precede the wait of several items or tasks.
func TextItemsWait(n int, wait string) string { return fmt.Sprintf("%d items wait: %s", n, wait) }

// TextReady precedes the wait of ready tasks.
func TextReady(n int, wait string) string { return fmt.Sprintf("%d tasks are ready, and %s", n, wait) }

// TextOfTask precedes the wait of a task, and of more tasks with the same one.
func TextOfTask(id string, more int, wait string) string {
	return "task " + id + textAndMore(more) + ": " + wait
}

// TextParked is the wait of a run that is held.
func TextParked(failed, blocked int) string {
	return fmt.Sprintf("tasks that failed: %d, blocked by them: %d; the run ends then unless a person acts", failed, blocked)
}

// TextPrompt is the short wait for an approval.
func TextPrompt(prompt string) string { return strings.TrimSuffix("an approval: "+prompt, ": ") }

// TextLookedUp is the wait for a job type.
func TextLookedUp(jobType string) string { return "job type " + jobType + " is being looked up" }

// TextNextAttempt is the short wait after a failure.
func TextNextAttempt(failure string) string { return "the next attempt: " + failure }

// TextTaskResources is the wait of a run whose tasks all request resources.
func TextTaskResources(id string, needs fmt.Stringer) string {
	return "task " + id + " waits for resources: " + needs.String()
}

// TextUpstream is the wait for dependencies, or the reason of a task that they kept from running; states are those of
// the first of open ones.
func TextUpstream(failed bool, open, of int, rule fmt.Stringer, states []string) string {
	text := fmt.Sprintf("it waits for %d of %d tasks (trigger_rule %s): ", open, of, rule)
	if failed {
		text = fmt.Sprintf("it was not run, because of %d of the %d tasks before it: ", open, of)
	}
	return text + strings.Join(states, ", ") + textAndMore(open-len(states))
}

// TextAhead is the wait of a task for tasks that requested resources before.
func TextAhead(n int) string {
	return fmt.Sprintf("%d tasks wait for their resources ahead of it: at most as many as the run's concurrency request at once", n)
}

// TextFanOutFull is the wait for the limit of a fan-out.
func TextFanOutFull(limit int, name string) string {
	return fmt.Sprintf("the concurrency of %d of the fan-out %s is used up", limit, name)
}

// TextRunFull is the wait for the limit of a run.
func TextRunFull(limit int) string {
	return fmt.Sprintf("the run's concurrency of %d is used up", limit)
}

// TextYields is the wait of a task that has given its resources back.
func TextYields(limit int) string {
	return TextRunFull(limit) + " by tasks that wait, perhaps for its resources: it requests them again when one of these ends"
}

// TextHasResources is the wait of a task that has its resources.
func TextHasResources(limit int) string {
	return TextRunFull(limit) + "; it has its resources and gets the next place before others of its priority"
}

// TextSleeps is the wait of a task that sleeps.
func TextSleeps(long fmt.Stringer) string { return "it sleeps " + long.String() }

func textAndMore(more int) string {
	if more < 1 {
		return ""
	}
	return fmt.Sprintf(" and %d more", more)
}
