package contract

import "go.temporal.io/sdk/temporal"

// UpdateCancelItem takes a CancelItemInput and returns a CancelItemResult. A refusal is an application error of type
// ItemRefusedError with an ItemRefusal.
const UpdateCancelItem = "cancel-item"

// ItemRefusedError is the type of the application error with which a run refuses a request about an item.
const ItemRefusedError = "ItemRefused"

// Codes of refused requests about items.
const (
	CodeUnknownItem  Code = "UNKNOWN_ITEM"
	CodeAlreadyEnded Code = "ALREADY_ENDED"
	CodeCanceling    Code = "ALREADY_CANCELING"
	// CodeNoExpiry refuses to end a task without waiting for its handler.
	CodeNoExpiry Code = "TASK_CANNOT_EXPIRE"
)

// CancelItemInput selects a job or task by its id, or a job by its dedupe key.
type CancelItemInput struct {
	Item string `json:"item,omitempty"`
	// Key is the dedupe key of a job, if Item is empty.
	Key string `json:"key,omitempty"`
	// Force ends a job at once, without waiting for its handler.
	Force  bool   `json:"force,omitempty"`
	Reason string `json:"reason,omitempty"`
	By     string `json:"by,omitempty"`
}

// CancelItemResult is the answer to an accepted CancelItemInput.
type CancelItemResult struct {
	// State is the state of the item before the request.
	State string `json:"state"`
}

// ItemRefusal is the reason why a run refuses a request about an item.
type ItemRefusal struct {
	Code Code `json:"code"`
	// Item is the id or the dedupe key of the request.
	Item string `json:"item,omitempty"`
	// State is the state of the item, if known.
	State string `json:"state,omitempty"`
	// Tasks are the first of Total tasks for which the id stands.
	Tasks []string `json:"tasks,omitempty"`
	Total int      `json:"total,omitempty"`
	// Similar is the id that was probably meant.
	Similar string `json:"similar,omitempty"`
}

// RefuseItem returns the error of a refused update, with its text.
func RefuseItem(refusal ItemRefusal, text string) error {
	return temporal.NewApplicationErrorWithOptions(text, ItemRefusedError, temporal.ApplicationErrorOptions{NonRetryable: true, Details: []any{refusal}})
}

// ItemRefusalOf returns the refusal of an error from [RefuseItem].
func ItemRefusalOf(refused *temporal.ApplicationError) (refusal ItemRefusal, ok bool) {
	ok = refused.Type() == ItemRefusedError && refused.HasDetails() && refused.Details(&refusal) == nil
	return refusal, ok
}
