package contract

// StatePageWorkflow keeps one part of the state of a run that continues as new.
const StatePageWorkflow = "roundsman.StatePage"

// The signals of pages.
const (
	// SignalReadState takes a ReadStateInput: the page delivers its part and ends.
	SignalReadState = "read-state"
	// SignalDropState takes nothing: the page is not needed.
	SignalDropState = "drop-state"
	// SignalStatePart takes a StatePart. A page sends it to the run that reads it.
	SignalStatePart = "state-part"
)

// StatePage names a page.
type StatePage struct {
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id"`
}

// ReadStateInput says which run reads the page, and the number of the part.
type ReadStateInput struct {
	WorkflowID string `json:"workflow_id"`
	Number     int    `json:"number"`
}

// StatePart is one part of a state, counted from 1.
type StatePart struct {
	Number int    `json:"number"`
	Data   []byte `json:"data"`
}
