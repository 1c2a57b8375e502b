package explain

import (
	"fmt"

	"github.com/roundsman/roundsman/contract"
)

// TextRefusal is the text of a refused request about an item.
func TextRefusal(r contract.ItemRefusal) string {
	text := fmt.Sprintf("%s: ", r.Code)
	switch r.Code { //nolint:exhaustive // no other code refuses
	case contract.CodeUnknownItem:
		text += fmt.Sprintf("there is no open item %q in this run", r.Item)
		if r.Total > 0 {
			return text + TextFansOut(r.Total, r.Tasks)
		}
		return text + TextDidYouMean(r.Similar)
	case contract.CodeAlreadyEnded:
		return text + TextEnded(r.Item, r.State) + ": there is nothing to cancel"
	case contract.CodeCanceling:
		return text + fmt.Sprintf("%s is being canceled; `roundsman show` has its progress, `roundsman cancel --force` ends a job at once", r.Item)
	case contract.CodeNoExpiry:
		return text + fmt.Sprintf("%s is a task, which cannot expire: cancel it without --force", r.Item)
	case contract.CodeDetecting:
		return text + "jobs have no numbers before the detection has ended: cancel the run, or wait"
	}
	return text + TextRunNotBegun
}

// TextBudgetOfPages refuses a rule for keys that are known by their hashes.
const TextBudgetOfPages = "retry_budget.per_key: it would not count the jobs of this group that lie in pages: set it for the job type, from its next run on"

// TextEnded is the state of an item that has ended; the state may be unknown.
func TextEnded(item, state string) string {
	if state == "" {
		return item + " has already ended"
	}
	return fmt.Sprintf("%s has already ended (%s)", item, state)
}
