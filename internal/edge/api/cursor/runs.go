package cursor

import (
	"slices"
	"time"

	"github.com/roundsman/roundsman/starter"
)

// Runs is a position in a list of runs: the listed start of the last run returned, and the IDs returned for that instant.
// A search may continue within a run.
type Runs struct {
	Until  time.Time      `json:"until"`
	Seen   []string       `json:"seen"`
	Partly starter.Partly `json:"partly,omitzero"`
}

// After returns the position after the shown runs.
func (p Runs) After(shown []starter.Run) Runs {
	return p.from(shown[len(shown)-1].Started, shown)
}

// Within ends a page of found items at its limit. It returns the runs whose items are all on this page or earlier ones,
// and the position of the next item.
func (p Runs) Within(runs []starter.Run, items []starter.Item, limit int) (whole []starter.Run, next Runs) {
	of := items[limit].Run.WorkflowID
	at := max(0, slices.IndexFunc(runs, func(run starter.Run) bool { return run.WorkflowID == of }))
	next = p.from(runs[at].Started, runs[:at])
	next.Partly.RunID = runs[at].RunID
	if next.Partly.RunID == p.Partly.RunID {
		next.Partly.Items = p.Partly.Items
	}
	for _, item := range slices.Backward(items[:limit]) {
		if item.Run.WorkflowID != of {
			break
		}
		next.Partly.Items++
	}
	return runs[:at], next
}

// from is the position from a start on, without the shown runs.
func (p Runs) from(until time.Time, shown []starter.Run) Runs {
	next := Runs{Until: until}
	if next.Until.Equal(p.Until) {
		next.Seen = p.Seen
	}
	for _, run := range shown {
		if run.Started.Equal(next.Until) {
			next.Seen = append(next.Seen, run.RunID)
		}
	}
	return next
}
