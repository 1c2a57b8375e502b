package jobtypes

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
)

// Changed is the last change of a job type's settings.
type Changed struct {
	By     string `json:"by,omitempty"`
	Action string `json:"action"`
	// Did is the action in words.
	Did string    `json:"did"`
	At  time.Time `json:"at"`
	// Before and After are the changed settings, as in the audit log.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	// Change is both in one line, with the name of a single setting once.
	Change string `json:"change,omitempty"`
}

// String returns the action, and the settings before and after.
func (c Changed) String() string {
	switch {
	case c.Before+c.After == "":
		return c.Action
	case c.Before == "":
		return c.Action + ", now " + c.After
	}
	return c.Action + ", " + c.Before + " → " + cmp.Or(c.After, "none")
}

// The entries of a job type include pauses and starts.
const changedLooks = 200

// Changed returns the last change in the audit log; nil if the log has none.
func (c Client) Changed(ctx context.Context, name string) (*Changed, error) {
	found, err := c.client.Audit().Read(ctx, contract.AuditFilter{JobType: name, Kind: contract.AuditOperator, Object: contract.ScheduleID(name), Limit: changedLooks})
	for _, entry := range slices.Backward(found.Entries) {
		if entry.Action == "jobtype.set" || strings.HasPrefix(entry.Action, "apply.") {
			return &Changed{
				By: entry.Actor, Action: entry.Action, Did: explain.Did(entry), At: entry.At,
				Before: entry.Before, After: entry.After, Change: explain.TextChange(entry.Before, entry.After),
			}, err
		}
	}
	return nil, err
}
