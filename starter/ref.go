package starter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
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

// ResolveDAG is Resolve for a run of a DAG. A run of a job type whose job is a DAG, and
// the name of such a job type, mean the DAG of its one job; NAME/TASK means a sub-DAG.
func (r Runs) ResolveDAG(ctx context.Context, text string) (RunRef, error) {
	if jobtype.ValidateName(text) == nil {
		return r.newestDAG(ctx, text)
	}
	candidates := []string{text}
	if (RunRef{WorkflowID: text}).Kind() != KindDAG && !strings.HasPrefix(text, groupPrefix) {
		candidates = []string{dagPrefix + text, text, groupPrefix + text}
	}
	var err error
	for _, id := range candidates {
		var found Snapshot
		switch found, err = r.Describe(ctx, RunRef{WorkflowID: id}); {
		case err == nil && found.Kind == KindDAG:
			return RunRef{WorkflowID: id}, nil
		case err == nil:
			return r.dagOf(ctx, found.WorkflowID)
		}
	}
	if missing, ok := errors.AsType[*NotFoundError](err); ok {
		missing.What = "DAG run"
	}
	if name, path, below := strings.Cut(text, "/"); below && jobtype.ValidateName(name) == nil {
		newest := r.newestDAG
		if first, _, _ := strings.Cut(path, "/"); jobIDPattern.MatchString(first) {
			newest = r.resolveGroup
		}
		if found, nameErr := newest(ctx, name); nameErr == nil {
			// The end makes the whole path one of sub-DAGs.
			if located, locateErr := r.Locate(ctx, ItemRef{Run: found, ID: path + "/"}); locateErr == nil && located.ID == "" {
				return located.Run, nil
			}
		}
	}
	return RunRef{}, err
}

// newestDAG returns the open run of a DAG, or of a job type that is one, or else the newest.
func (r Runs) newestDAG(ctx context.Context, name string) (RunRef, error) {
	var found []Run
	for _, filter := range []RunFilter{{DAG: name, Limit: 1}, {JobType: name, Limit: 1}} {
		runs, err := r.List(ctx, filter)
		if err != nil {
			return RunRef{}, err
		}
		found = append(found, runs...)
	}
	slices.SortFunc(found, func(a, b Run) int { return b.Started.Compare(a.Started) })
	if len(found) > 1 && !found[0].Open() && found[1].Open() {
		slices.Reverse(found)
	}
	var err error
	for _, run := range found {
		if run.Kind == KindDAG {
			return RunRef{WorkflowID: run.WorkflowID}, nil
		}
		var inner RunRef
		if inner, err = r.dagOf(ctx, run.WorkflowID); err == nil {
			return inner, nil
		}
	}
	if err == nil {
		err = &NotFoundError{What: "run of DAG", Name: name, Hint: "see `roundsman runs list`; a run that was just started takes a second to be listed"}
	}
	return RunRef{}, err
}

// dagOf returns the DAG that is the one job of a group.
func (r Runs) dagOf(ctx context.Context, group string) (RunRef, error) {
	jobs, total, err := r.Items(ctx, RunRef{WorkflowID: group}, ItemFilter{Limit: 1})
	switch {
	case err != nil:
		return RunRef{}, err
	case total > 1:
		return RunRef{}, fmt.Errorf("%s has %d jobs: name the one whose DAG you mean, for instance %s", group, total, contract.SubDAGWorkflowID(group, jobs[0].ID))
	case total == 1:
		inner := RunRef{WorkflowID: contract.SubDAGWorkflowID(group, jobs[0].ID)}
		if _, err := r.Describe(ctx, inner); err == nil || !errors.Is(err, ErrNotFound) {
			return inner, err
		}
	}
	return RunRef{}, fmt.Errorf("%s is a run of a job type, in which no DAG has begun: see `roundsman runs show %s`", group, group)
}

// Locate follows the path in the id of an item through sub-DAGs, and through the DAG of a
// job, to the run that has the item.
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
			at++ // The key of a fan-out's task may have a slash.
		default:
			return item, err
		}
	}
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
			if parsed.Run, err = r.Resolve(ctx, text[:cut]); err == nil && parsed.Run.Kind() == KindGroup && !jobIDPattern.MatchString(parsed.ID) {
				parsed.Run, err = r.ResolveDAG(ctx, text[:cut])
			}
		}
	}
	return parsed, err
}
