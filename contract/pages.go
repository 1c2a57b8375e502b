package contract

// StatePageWorkflow stores one part of the state of a run that continues as new.
const StatePageWorkflow = "roundsman.StatePage"

// The signals of pages.
const (
	// SignalReadState takes a ReadStateInput. The page sends its part and ends.
	SignalReadState = "read-state"
	// SignalDropState takes no argument. The page ends without sending its part.
	SignalDropState = "drop-state"
	// SignalStatePart takes a StatePart. A page sends it to its reader.
	SignalStatePart = "state-part"
)

// StatePage identifies a page.
type StatePage struct {
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id"`
}

// ReadStateInput identifies the reading run and the number of the part.
type ReadStateInput struct {
	WorkflowID string `json:"workflow_id"`
	Number     int    `json:"number"`
}

// StatePart is one part of a state, counted from 1.
type StatePart struct {
	Number int    `json:"number"`
	Data   []byte `json:"data"`
}
