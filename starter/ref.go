package starter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// RunRef names one run of a job type. An empty RunID means the newest workflow
// run under that id.
type RunRef struct {
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id,omitempty"`
}

// Begun is the run itself: of an answer that embeds it, the run that was started.
func (r RunRef) Begun() RunRef { return r }

// String gives the workflow id, which is what people type.
func (r RunRef) String() string { return r.WorkflowID }

// ItemRef names one item of a run: a job of a group, a task of a DAG.
type ItemRef struct {
	Run RunRef `json:"run"`
	ID  string `json:"id"`
}

// String gives RUN/ITEM, the form that [ParseItemRef] reads.
func (r ItemRef) String() string { return r.Run.WorkflowID + "/" + r.ID }

const (
	groupPrefix = "group/"
	dagPrefix   = "dag/"
)

var jobIDPattern = regexp.MustCompile(`^job-[0-9]+$`)

// ParseItemRef reads RUN/ITEM: group/scrub-2026-11-20T09:00:00Z/job-00012, where the
// group/ may be left out, or dag/NAME/RUN/TASK.
func ParseItemRef(text string) (ItemRef, error) {
	cut := strings.LastIndexByte(text, '/')
	run, id := text[:max(cut, 0)], text[cut+1:]
	switch {
	case cut > 0 && jobIDPattern.MatchString(id):
		if run == strings.TrimSuffix(groupPrefix, "/") {
			return ItemRef{}, fmt.Errorf("job %q: the run is missing", text)
		}
		return ItemRef{Run: RunRef{WorkflowID: withGroupPrefix(run)}, ID: id}, nil
	case id != "" && RunRef{WorkflowID: run}.Kind() == KindDAG:
		return ItemRef{Run: RunRef{WorkflowID: run}, ID: id}, nil
	}
	return ItemRef{}, fmt.Errorf("job %q: write it as RUN/JOB, for instance group/scrub-2026-11-20T09:00:00Z/job-00012 "+
		"or dag/nightly/x/load (see `roundsman jobs list RUN`)", text)
}

func withGroupPrefix(run string) string {
	if strings.HasPrefix(run, groupPrefix) || strings.HasPrefix(run, dagPrefix) {
		return run
	}
	return groupPrefix + run
}

// JobTypeOfRun reads the job type from a run's workflow id, with or without group/, for
// runs whose search attributes are not at hand. The server appends "-" and the tick's time
// to what the Schedule names its workflow.
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

// Scheduled reports whether the id of a run is that of a Schedule's tick, which has the
// name of the job type for certain. Other ids have parts that callers choose.
func Scheduled(workflowID string) bool {
	rest, group := strings.CutPrefix(workflowID, groupPrefix)
	at := tickSuffix.FindStringIndex(rest)
	return group && at != nil && contract.ValidateJobTypeName(rest[:at[0]]) == nil
}

var tickSuffix = regexp.MustCompile(`-\d{4}-\d{2}-\d{2}T\d{2}:[0-9:.]+Z$`)

// TickOf is the instant in the id of a run that a Schedule started; zero: it has none.
func TickOf(workflowID string) time.Time {
	at, err := time.Parse(time.RFC3339, strings.TrimPrefix(tickSuffix.FindString(workflowID), "-"))
	if err != nil {
		return time.Time{}
	}
	return at
}

// Resolve finds the run that text means: its workflow id, with or without
// group/ or dag/, or the name of a job type, which means its running group or else
// its last one, or that of a DAG, which means its newest run.
func (r Runs) Resolve(ctx context.Context, text string) (RunRef, error) {
	if (RunRef{WorkflowID: text}).Kind() == KindDAG {
		return r.ResolveDAG(ctx, text)
	}
	ref, err := r.resolveGroup(ctx, text)
	if text != "" && errors.Is(err, ErrNotFound) && !strings.HasPrefix(text, groupPrefix) {
		if found, dagErr := r.ResolveDAG(ctx, text); dagErr == nil {
			return found, nil
		}
	}
	return ref, err
}

// ResolveDAG is Resolve for what can only be a run of a DAG.
func (r Runs) ResolveDAG(ctx context.Context, text string) (RunRef, error) {
	if jobtype.ValidateName(text) == nil {
		runs, err := r.List(ctx, RunFilter{DAG: text, Limit: 1})
		if err != nil {
			return RunRef{}, err
		}
		if len(runs) == 0 {
			return RunRef{}, &NotFoundError{What: "run of DAG", Name: text, Hint: "see `roundsman runs list`; a run that was just started takes a second to be listed"}
		}
		return RunRef{WorkflowID: runs[0].WorkflowID}, nil
	}
	candidates := []string{text}
	if (RunRef{WorkflowID: text}).Kind() != KindDAG {
		candidates = []string{dagPrefix + text, text}
	}
	var err error
	for _, id := range candidates {
		var found Snapshot
		if found, err = r.Describe(ctx, RunRef{WorkflowID: id}); err == nil && found.Kind == KindDAG {
			return RunRef{WorkflowID: id}, nil
		}
		if missing, ok := errors.AsType[*NotFoundError](err); ok {
			missing.What = "DAG run"
		}
	}
	if err == nil {
		err = fmt.Errorf("workflow %s is a run of a job type, not of a DAG", text)
	}
	return RunRef{}, err
}

func (r Runs) resolveGroup(ctx context.Context, text string) (RunRef, error) {
	if text == "" {
		return RunRef{}, errors.New("the run is empty: give a workflow id (see `roundsman runs list`) or the name of a job type")
	}
	var unknown error
	if jobtype.ValidateName(text) == nil {
		ref, err := r.Latest(ctx, text)
		if err == nil || !errors.Is(err, ErrNotFound) {
			return ref, err
		}
		if listed, found := r.latestListed(ctx, text); found {
			return listed, nil
		}
		unknown = err
	}
	ref := RunRef{WorkflowID: withGroupPrefix(text)}
	_, err := r.client.temporal.DescribeWorkflowExecution(ctx, ref.WorkflowID, "")
	if err != nil {
		err = runError(ref, err)
		if unknown != nil && errors.Is(err, ErrNotFound) {
			err = unknown // The argument is the name of a job type.
		}
		return RunRef{}, err
	}
	return ref, nil
}

// latestListed looks for the runs that a Schedule does not know. A Schedule that is gone, or
// was made again, has runs that continue, and must be found to be canceled. A run of
// submitted jobs is found where there is no other. Visibility is asked only where nothing else is known.
func (r Runs) latestListed(ctx context.Context, name string) (RunRef, bool) {
	runs, err := r.List(ctx, RunFilter{JobType: name})
	if err != nil {
		return RunRef{}, false
	}
	var last, adHoc string
	for _, run := range runs {
		switch {
		case run.AdHoc != "":
			adHoc = cmp.Or(adHoc, run.WorkflowID)
		case run.Open():
			return RunRef{WorkflowID: run.WorkflowID}, true
		default:
			last = cmp.Or(last, run.WorkflowID)
		}
	}
	last = cmp.Or(last, adHoc)
	return RunRef{WorkflowID: last}, last != ""
}

// ResolveItem finds the item that text means: RUN/ITEM, where RUN may also be what
// [Runs.Resolve] takes.
func (r Runs) ResolveItem(ctx context.Context, text string) (ItemRef, error) {
	parsed, err := ParseItemRef(text)
	switch name := JobTypeOfRun(parsed.Run.WorkflowID); {
	case err == nil && withGroupPrefix(name) == parsed.Run.WorkflowID:
		parsed.Run, err = r.Resolve(ctx, name)
	case err != nil:
		if cut := strings.LastIndexByte(text, '/'); cut > 0 && cut < len(text)-1 {
			parsed.ID = text[cut+1:]
			parsed.Run, err = r.Resolve(ctx, text[:cut])
		}
	}
	return parsed, err
}
