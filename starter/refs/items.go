package refs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/action"
	"github.com/roundsman/roundsman/internal/engine/ref"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
)

// DAG finds the run of a DAG. A run of a job type, or its name, means the DAG of its one job.
func (r Resolver) DAG(ctx context.Context, text string) (starter.RunRef, error) {
	found, err := r.Run(ctx, text)
	if errors.Is(err, starter.ErrNotFound) && jobtype.ValidateName(text) == nil {
		return found, &starter.NotFoundError{What: "run of DAG", Name: text, Hint: newRuns()}
	}
	if err != nil || found.Kind() == starter.KindDAG {
		return found, err
	}
	return r.dagOf(ctx, found)
}

func (r Resolver) dagOf(ctx context.Context, group starter.RunRef) (starter.RunRef, error) {
	jobs, total, err := r.runs.Items(ctx, starter.RunRef{WorkflowID: group.WorkflowID}, starter.ItemFilter{Limit: 1})
	if err != nil {
		return starter.RunRef{}, err
	}
	if total == 1 {
		inner := starter.RunRef{WorkflowID: contract.SubDAGWorkflowID(group.WorkflowID, jobs[0].ID)}
		if _, err := r.runs.Describe(ctx, inner); err == nil || !errors.Is(err, starter.ErrNotFound) {
			return inner, err
		}
	}
	var started contract.JobGroupInput
	if err := r.runs.StartedWith(ctx, group, &started); err != nil {
		return starter.RunRef{}, err
	}
	args := action.Args{"run": group.WorkflowID}
	switch {
	case started.Spec.DAG == nil:
		return starter.RunRef{}, &starter.NotFoundError{
			What: "DAG of", Name: group.WorkflowID, Hint: fmt.Sprintf("handler %s executes its jobs; name a job that has a DAG (%s)", started.Spec.Handler, action.See(action.ListItems, args)),
		}
	case total > 1:
		return starter.RunRef{}, starter.Invalidf("%s has %d jobs: name the one whose DAG you mean, for instance %s",
			group, total, contract.SubDAGWorkflowID(group.WorkflowID, jobs[0].ID))
	}
	return starter.RunRef{}, fmt.Errorf("%s is a run of a job type, in which no DAG has begun: %s", group, action.See(action.GetRun, args))
}

// searchedRuns is how many of the newest runs are searched for a dedupe key.
const searchedRuns = 200

// Item finds a job or a task: RUN/ITEM at any depth, or the newest job of a dedupe key.
func (r Resolver) Item(ctx context.Context, text string) (starter.ItemRef, error) {
	parsed, err := ParseItem(text)
	if err != nil {
		return starter.ItemRef{}, err
	}
	if parsed.HasKey {
		return r.ofKey(ctx, parsed)
	}
	if parsed.Workflow != "" {
		return r.item(ctx, starter.RunRef{WorkflowID: parsed.Workflow}, parsed.Item)
	}
	if id, rest, deep := strings.Cut(parsed.Item, "/"); deep && !parsed.AtRun {
		// NAME/RUN/TASK, with the dag/ left out.
		if run, err := r.described(ctx, contract.DAGWorkflowID(parsed.Name, id)); err == nil {
			return r.item(ctx, run, rest)
		}
	}
	run, err := r.named(ctx, parsed)
	if err != nil {
		return starter.ItemRef{}, err
	}
	return r.item(ctx, run, parsed.Item)
}

// ParseItem reads the reference of an item; other references are an error. It needs no server.
func ParseItem(text string) (ref.Ref, error) {
	parsed, err := ref.Parse(text)
	if err != nil {
		return parsed, starter.Invalidf("%w", err)
	}
	if parsed.Item == "" && !parsed.HasKey {
		return parsed, starter.Invalidf("%s is no job or task: write RUN/ITEM, for instance scrub/12 or nightly@last/load, or TYPE:KEY (%s)", text, action.See(action.ListItems, nil))
	}
	return parsed, nil
}

// In a group, an item that is no job is a task of the one job's DAG. A final / means sub-DAGs only.
func (r Resolver) item(ctx context.Context, run starter.RunRef, path string) (starter.ItemRef, error) {
	path = ref.ItemID(path, run.Kind() == starter.KindGroup)
	if run.Kind() == starter.KindGroup && !ref.IsJob(path) {
		inner, err := r.dagOf(ctx, run)
		if err != nil {
			return starter.ItemRef{}, err
		}
		run = inner
	}
	return r.runs.Locate(ctx, starter.ItemRef{Run: run, ID: path})
}

func (r Resolver) ofKey(ctx context.Context, parsed ref.Ref) (starter.ItemRef, error) {
	if parsed.AtRun || parsed.Workflow != "" {
		run, err := r.named(ctx, parsed)
		if err != nil {
			return starter.ItemRef{}, err
		}
		job, err := r.runs.ItemByKey(ctx, run, parsed.Key)
		return job.Ref(), err
	}
	found, err := r.runs.Search(ctx, starter.ItemSearch{
		Runs: starter.RunFilter{JobType: parsed.Name, Limit: searchedRuns}, DedupeKey: parsed.Key, Limit: starter.All,
	})
	if len(found) > 0 {
		newest := found[0].Run.WorkflowID
		found = slices.DeleteFunc(found, func(item starter.Item) bool { return item.Run.WorkflowID != newest })
		one, err := starter.OfKey(newest, parsed.Key, found, len(found))
		return one.Ref(), err
	}
	if err != nil {
		return starter.ItemRef{}, err
	}
	return starter.ItemRef{}, &starter.NotFoundError{
		What: "job with key", Name: parsed.Key, Hint: fmt.Sprintf("the newest %d runs were searched, %s", searchedRuns, action.See(action.ListRuns, nil)),
	}
}
