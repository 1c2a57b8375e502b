package starter

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// RunFilter narrows [Runs.List].
type RunFilter struct {
	// JobType keeps the runs of one job type, JobTypes those of several, DAG those of one DAG.
	JobType, DAG string
	JobTypes     []string
	// Kind keeps one kind; empty: both.
	Kind Kind
	// Since and Until keep runs that started within; zero: no bound.
	Since, Until time.Time
	// EndedSince and EndedUntil keep runs that ended within; zero: no bound.
	EndedSince, EndedUntil time.Time
	// Running keeps open runs only.
	Running bool
	// Outcomes keeps runs that ended as one of these; empty: all.
	Outcomes []contract.Outcome
	// DryRuns adds dry runs, SubDAGs the runs of sub-DAGs and of jobs.
	DryRuns, SubDAGs bool
	// Counts adds the counts of each run, at the cost of one query each.
	Counts bool
	// Limit is the most runs returned, newest first. Default 20.
	Limit int
}

// DefaultRunLimit is the default limit of a list of runs.
const DefaultRunLimit = 20

// hasScheduled reports whether the filter keeps the running group of a job type.
func (f RunFilter) hasScheduled() bool {
	ended := len(f.Outcomes) > 0 || !f.EndedSince.IsZero() || !f.EndedUntil.IsZero()
	return f.JobType != "" && f.DAG == "" && f.Kind != KindDAG && !ended && f.Until.IsZero()
}

func (f RunFilter) query() (string, error) {
	if f.Kind == KindDAG && (f.JobType != "" && !f.SubDAGs || len(f.JobTypes) > 0) || f.DAG != "" && (f.Kind == KindGroup || f.JobType != "" || len(f.JobTypes) > 0) {
		return "", Invalidf("a run is of a job type or of a DAG: choose one of both")
	}
	types := map[Kind]string{
		KindGroup: fmt.Sprintf("WorkflowType = '%s'", contract.JobGroupWorkflow),
		KindDAG:   fmt.Sprintf("WorkflowType = '%s'", contract.DAGWorkflow),
		"":        fmt.Sprintf("WorkflowType IN ('%s', '%s')", contract.JobGroupWorkflow, contract.DAGWorkflow),
	}
	kind := f.Kind
	var terms []string
	// Names become part of the query. Validation keeps quotes out.
	if f.JobType != "" {
		name, err := quoted("job type", []string{f.JobType})
		if err != nil {
			return "", err
		}
		term := fmt.Sprintf("%s = %s", contract.SearchAttributeJobType, name)
		if f.SubDAGs && kind != KindGroup {
			// The run of a job's DAG has the job type in its id only; [RunFilter.keeps] drops those of longer names.
			term = fmt.Sprintf("(%s OR (%s AND WorkflowId STARTS_WITH '%s-'))", term, types[KindDAG], contract.GroupWorkflowID(f.JobType))
		} else {
			kind = KindGroup
		}
		terms = append(terms, term)
	}
	if len(f.JobTypes) > 0 {
		names, err := quoted("job type", f.JobTypes)
		if err != nil {
			return "", err
		}
		kind = KindGroup
		terms = append(terms, fmt.Sprintf("%s IN (%s)", contract.SearchAttributeJobType, names))
	}
	if f.DAG != "" {
		if _, err := quoted("DAG", []string{f.DAG}); err != nil {
			return "", err
		}
		kind = KindDAG
		terms = append(terms, fmt.Sprintf("WorkflowId STARTS_WITH '%s'", contract.DAGWorkflowID(f.DAG, "")))
	}
	terms = append(terms, f.times()...)
	outcomes, err := quoted("outcome", f.Outcomes)
	if err != nil {
		return "", err
	}
	if outcomes != "" {
		term := fmt.Sprintf("%s IN (%s)", contract.SearchAttributeOutcome, outcomes)
		if slices.Contains(f.Outcomes, contract.OutcomeCompleted) {
			term = fmt.Sprintf("(%s OR %s IS NULL AND ExecutionStatus = 'Completed')", term, contract.SearchAttributeOutcome)
		}
		terms = append(terms, term)
	}
	return strings.Join(append([]string{types[kind], "ExecutionStatus != 'ContinuedAsNew'"}, terms...), " AND "), nil
}

func (f RunFilter) times() []string {
	var terms []string
	if f.Running {
		terms = append(terms, contract.QueryOpen)
	}
	bounds := [...]time.Time{f.Since, f.Until, f.EndedSince, f.EndedUntil}
	for i, compared := range [...]string{"StartTime >=", "StartTime <=", "CloseTime >=", "CloseTime <="} {
		if at := bounds[i]; !at.IsZero() {
			terms = append(terms, fmt.Sprintf("%s '%s'", compared, at.UTC().Format(time.RFC3339Nano)))
		}
	}
	return terms
}

func quoted[S ~string](what string, names []S) (string, error) {
	list := make([]string, len(names))
	for i, name := range names {
		if err := jobtype.ValidateName(string(name)); err != nil {
			return "", Invalidf("%s: %v", what, err)
		}
		list[i] = "'" + string(name) + "'"
	}
	return strings.Join(list, ", "), nil
}
