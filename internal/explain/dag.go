package explain

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
)

// DAGFacts is what a run of a DAG says of itself or of one task.
type DAGFacts struct {
	ID string
	// Name is that of the DAG.
	Name      string
	Open      bool
	Outcome   string
	StartedAt time.Time
	// Task is empty for the run as a whole.
	Task string
	// Answer is nil if the run did not answer.
	Answer *contract.ExplainQueryResult
}

// state is one word for what the run or the task does.
func (d DAGFacts) state() string {
	switch {
	case d.Task == "" && !d.Open:
		return d.Outcome
	case d.Answer == nil:
		return "open"
	case d.Task == "" && d.Answer.State == "running" && len(d.Answer.Waits) > 0 && d.Answer.Running+len(d.Answer.SubDAGs) == 0:
		return "waiting"
	}
	return d.Answer.State
}

// ofDAG gives the reasons of a run or a task. A task that is upstream_failed has
// ended and still has one: what it needed.
func (f Facts) ofDAG() []Reason {
	d := f.DAG
	if d.Answer == nil || d.Task == "" && !d.Open {
		return nil
	}
	var reasons []Reason
	for _, wait := range d.Answer.Waits {
		reasons = append(reasons, f.expandDAG(wait)...)
	}
	if n := d.Answer.More; n > 0 {
		last := &reasons[len(reasons)-1]
		last.Detail += fmt.Sprintf(" (and %d more reasons of other tasks)", n)
	}
	return reasons
}

func (f Facts) expandDAG(wait contract.WaitReason) []Reason {
	run := f.DAG.ID
	if wait.Since.IsZero() {
		wait.Since = f.DAG.StartedAt
	}
	remedy := ""
	switch Code(wait.Code) { //nolint:exhaustive // the others' remedies are the same for jobs
	case Paused:
		wait.Object, remedy = run, "`roundsman runs resume "+run+"`"
	case ConcurrencyLimit:
		wait.Object, remedy = run, "wait, or `roundsman runs set "+run+" concurrency=N`"
	case Held:
		remedy = fmt.Sprintf("`roundsman dag retry %s`, `roundsman dag skip %s TASK`, or let it end: `roundsman dag release %s`", run, run, run)
	case AwaitingApproval:
		remedy = fmt.Sprintf("`roundsman dag approve %s %s`, or `roundsman dag reject %s %s`", run, wait.Object, run, wait.Object)
	case Upstream:
		first, _, _ := strings.Cut(wait.Object, ",")
		remedy = fmt.Sprintf("`roundsman explain %s %s`", run, first)
		if f.DAG.Answer.State == "upstream_failed" {
			remedy += fmt.Sprintf(", then `roundsman dag retry %s`", run)
		}
	case Sleeping:
		remedy = fmt.Sprintf("wait, or end it: `roundsman runs cancel %s --task %s`", run, cmp.Or(f.DAG.Task, "TASK"))
	case RetryBackoff:
		remedy = "wait, or lower the task's retries.backoff"
	}
	reasons := f.expand(wait, run, f.DAG.Name)
	if remedy != "" && len(reasons) > 0 {
		reasons[0].Remedy = remedy
	}
	return reasons
}
