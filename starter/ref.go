package starter

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// RunRef names one run of a job type. An empty RunID means the newest workflow
// run under that id.
type RunRef struct {
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id,omitempty"`
}

// String gives the workflow id, which is what people type.
func (r RunRef) String() string { return r.WorkflowID }

// JobRef names one job of a run.
type JobRef struct {
	Run   RunRef
	JobID string
}

// String gives RUN/JOB, the form that [ParseJobRef] reads.
func (r JobRef) String() string { return r.Run.WorkflowID + "/" + r.JobID }

const groupPrefix = "group/"

var jobIDPattern = regexp.MustCompile(`^job-[0-9]+$`)

// ParseJobRef reads RUN/JOB, for instance
// group/scrub-2026-11-20T09:00:00Z/job-00012. The group/ may be left out.
func ParseJobRef(text string) (JobRef, error) {
	cut := strings.LastIndexByte(text, '/')
	if cut <= 0 || !jobIDPattern.MatchString(text[cut+1:]) {
		return JobRef{}, fmt.Errorf("job %q: write it as RUN/JOB, for instance group/scrub-2026-11-20T09:00:00Z/job-00012 (see `roundsman jobs list RUN`)", text)
	}
	run := text[:cut]
	if run == strings.TrimSuffix(groupPrefix, "/") {
		return JobRef{}, fmt.Errorf("job %q: the run is missing", text)
	}
	return JobRef{Run: RunRef{WorkflowID: withGroupPrefix(run)}, JobID: text[cut+1:]}, nil
}

// IsJobID reports whether text is the id of a job within its run.
func IsJobID(text string) bool { return jobIDPattern.MatchString(text) }

// GroupOf is the workflow id of a run that was written without group/.
func GroupOf(run string) string { return withGroupPrefix(run) }

func withGroupPrefix(run string) string {
	if strings.HasPrefix(run, groupPrefix) {
		return run
	}
	return groupPrefix + run
}

// JobTypeOfRun guesses the job type from a run's workflow id, for runs whose
// search attributes are not at hand. The server appends "-" and the tick's time
// to what the Schedule names its workflow.
func JobTypeOfRun(workflowID string) string {
	rest := strings.TrimPrefix(workflowID, groupPrefix)
	if at := tickSuffix.FindStringIndex(rest); at != nil {
		return rest[:at[0]]
	}
	if name, _, adHoc := contract.AdHocOf(workflowID); adHoc {
		return name
	}
	if name, _, found := strings.Cut(rest, "-detect-"); found {
		return name
	}
	return rest
}

var tickSuffix = regexp.MustCompile(`-\d{4}-\d{2}-\d{2}T\d{2}:[0-9:.]+Z$`)

// Resolve finds the run that text means: its workflow id, with or without
// group/ or dag/, or the name of a job type, which means its running group or else
// its last one, or that of a DAG, which means its newest run.
func (r Runs) Resolve(ctx context.Context, text string) (RunRef, error) {
	if (RunRef{WorkflowID: text}).Kind() == KindDAG {
		return r.client.DAGs().Resolve(ctx, text)
	}
	ref, err := r.resolveGroup(ctx, text)
	if text != "" && errors.Is(err, ErrNotFound) && !strings.HasPrefix(text, groupPrefix) {
		if found, dagErr := r.client.DAGs().Resolve(ctx, text); dagErr == nil {
			return found, nil
		}
	}
	return ref, err
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
			err = unknown // What was meant is the name of a job type.
		}
		return RunRef{}, err
	}
	return ref, nil
}

// latestListed looks for the runs that a Schedule does not know which is gone, or
// was made again: they go on, and must be found to be canceled. What was submitted
// and dry runs are no runs of the job type. Visibility is asked only where nothing
// else is known.
func (r Runs) latestListed(ctx context.Context, name string) (RunRef, bool) {
	runs, err := r.List(ctx, RunFilter{JobType: name})
	if err != nil {
		return RunRef{}, false
	}
	var last *RunRef
	for _, run := range runs {
		switch {
		case run.AdHoc != "":
		case run.Open():
			return RunRef{WorkflowID: run.WorkflowID}, true
		case last == nil:
			last = &RunRef{WorkflowID: run.WorkflowID}
		}
	}
	if last == nil {
		return RunRef{}, false
	}
	return *last, true
}

// ResolveJob finds the job that text means: RUN/JOB as [ParseJobRef] reads it,
// where RUN may also be the name of a job type, as for [Runs.Resolve].
func (r Runs) ResolveJob(ctx context.Context, text string) (JobRef, error) {
	parsed, err := ParseJobRef(text)
	name := JobTypeOfRun(parsed.Run.WorkflowID)
	if err != nil || withGroupPrefix(name) != parsed.Run.WorkflowID {
		return parsed, err
	}
	run, err := r.Resolve(ctx, name)
	return JobRef{Run: run, JobID: parsed.JobID}, err
}

// Latest is the running group of a job type, or else the last one that its
// Schedule started. It asks the Schedule, not visibility, and so sees a group
// as soon as it was started.
func (r Runs) Latest(ctx context.Context, jobType string) (RunRef, error) {
	ticks, err := r.client.JobTypes().Ticks(ctx, jobType)
	switch {
	case err != nil:
		return RunRef{}, err
	case ticks.Running != nil:
		return *ticks.Running, nil
	case ticks.Last != nil:
		return *ticks.Last, nil
	}
	return RunRef{}, &NotFoundError{
		What: "run of job type", Name: jobType,
		Hint: "it has not run yet; start it with `roundsman jobtypes run " + jobType + "`",
	}
}
