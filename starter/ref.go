package starter

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/ref"
)

// RunRef names one run. An empty RunID means the newest workflow run under that id.
type RunRef struct {
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id,omitempty"`
}

// Begun returns the run itself. A result that embeds a RunRef thus returns the started run.
func (r RunRef) Begun() RunRef { return r }

// String returns the workflow id, as people type it.
func (r RunRef) String() string { return r.WorkflowID }

// ItemRef names one item of a run: a job of a group, a task of a DAG.
type ItemRef struct {
	Run RunRef `json:"run"`
	ID  string `json:"id"`
}

// String returns RUN/ITEM.
func (r ItemRef) String() string { return r.Run.WorkflowID + "/" + r.ID }

const (
	groupPrefix = "group/"
	dagPrefix   = "dag/"
)

// JobTypeOfRun parses the job type from a workflow id. The server appends "-" and the tick's time to the workflow id
// of a Schedule.
func JobTypeOfRun(workflowID string) string {
	rest := strings.TrimPrefix(workflowID, groupPrefix)
	if name, _, adHoc := contract.AdHocOf(groupPrefix + rest); adHoc {
		return name
	}
	if name, _, dry := contract.DryRunOf(groupPrefix + rest); dry {
		return name
	}
	if at := tickSuffix.FindStringIndex(rest); at != nil {
		return rest[:at[0]]
	}
	return rest
}

// NameOfRun returns the DAG or the job type in a run's id.
func NameOfRun(workflowID string) string {
	if name, _, standalone := contract.DAGOfWorkflow(workflowID); standalone {
		return name
	}
	if parsed, err := ref.Parse(workflowID); err == nil && parsed.Workflow != "" {
		workflowID = parsed.Workflow // A run of a job's DAG has the job in its id.
	}
	return JobTypeOfRun(workflowID)
}

// Scheduled reports whether a run's id is that of a Schedule's tick. Callers choose parts of other ids.
func Scheduled(workflowID string) bool {
	rest, group := strings.CutPrefix(workflowID, groupPrefix)
	at := tickSuffix.FindStringIndex(rest)
	return group && at != nil && contract.ValidateJobTypeName(rest[:at[0]]) == nil
}

var tickSuffix = regexp.MustCompile(`-\d{4}-\d{2}-\d{2}T\d{2}:[0-9:.]+Z$`)

// TickOf parses the tick from the id of a run that a Schedule started; zero for other ids.
func TickOf(workflowID string) time.Time {
	at, err := time.Parse(time.RFC3339, strings.TrimPrefix(tickSuffix.FindString(workflowID), "-"))
	if err != nil {
		return time.Time{}
	}
	return at
}

// Locate follows an item's path through sub-DAGs, and through the DAG of a job, to its run.
func (r Runs) Locate(ctx context.Context, item ItemRef) (ItemRef, error) {
	for at := 0; ; {
		cut := strings.IndexByte(item.ID[at:], '/')
		if cut < 0 {
			return item, nil
		}
		at += cut
		below := RunRef{WorkflowID: contract.SubDAGWorkflowID(item.Run.WorkflowID, item.ID[:at])}
		switch _, err := r.Describe(ctx, below); {
		case err == nil:
			item, at = ItemRef{Run: below, ID: item.ID[at+1:]}, 0
		case errors.Is(err, ErrNotFound):
			at++ // The key of a fan-out's task may contain a slash.
		default:
			return item, err
		}
	}
}
