package refs

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/action"
	"github.com/roundsman/roundsman/internal/engine/ref"
	"github.com/roundsman/roundsman/starter"
)

// Resolver finds runs and items.
type Resolver struct {
	client *starter.Client
	runs   starter.Runs
	// Strict refuses NAME and NAME@ while several runs of the name are open: a change must not guess.
	Strict bool
	now    func() time.Time
}

// Of returns the resolver of a server.
func Of(client *starter.Client) Resolver {
	return Resolver{client: client, runs: client.Runs(), now: time.Now}
}

// listed is how many of the newest runs of a name are compared with its ID.
const listed = 200

// Run finds a run: of a job type, of a DAG, or of the DAG inside another run.
func (r Resolver) Run(ctx context.Context, text string) (starter.RunRef, error) {
	parsed, err := ref.Parse(text)
	if err != nil {
		return starter.RunRef{}, starter.Invalidf("%w (%s)", err, action.See(action.ListRuns, nil))
	}
	return r.run(ctx, parsed)
}

func (r Resolver) run(ctx context.Context, parsed ref.Ref) (starter.RunRef, error) {
	switch {
	case parsed.HasKey:
		return starter.RunRef{}, starter.Invalidf("%s is a dedupe key, not a run: %s", parsed.Text, action.See(action.ListRuns, nil))
	case parsed.Workflow != "" && parsed.Item != "":
		return r.described(ctx, contract.SubDAGWorkflowID(parsed.Workflow, ref.ItemID(parsed.Item, parsed.Group())))
	case parsed.Workflow != "":
		return r.described(ctx, parsed.Workflow)
	case parsed.Kind != "" && parsed.Kind != ref.DAG && parsed.Kind != ref.JobType:
		return starter.RunRef{}, starter.Invalidf("%s is a %s, not a run: %s", parsed.Text, parsed.Kind, action.See(action.ListRuns, nil))
	case parsed.Item != "" && !parsed.AtRun:
		return r.below(ctx, parsed)
	}
	found, err := r.named(ctx, parsed)
	if err != nil || parsed.Item == "" {
		return found, err
	}
	return r.inner(ctx, found, parsed)
}

// below finds NAME/… as a run: the run of a DAG with the dag/ left out, or a sub-DAG of the run of NAME.
func (r Resolver) below(ctx context.Context, parsed ref.Ref) (starter.RunRef, error) {
	found, err := r.described(ctx, contract.DAGWorkflowID(parsed.Name, parsed.Item))
	if !errors.Is(err, starter.ErrNotFound) {
		return found, err
	}
	if group, err := r.described(ctx, contract.SubDAGWorkflowID(contract.GroupWorkflowID(parsed.Name), parsed.Item)); err == nil {
		return group, nil
	}
	parent, parentErr := r.named(ctx, parsed)
	if parentErr != nil {
		return starter.RunRef{}, err
	}
	return r.inner(ctx, parent, parsed)
}

func (r Resolver) inner(ctx context.Context, parent starter.RunRef, parsed ref.Ref) (starter.RunRef, error) {
	item, err := r.item(ctx, parent, parsed.Item+"/")
	switch {
	case err != nil:
		return starter.RunRef{}, err
	case item.ID == "":
		return item.Run, nil
	}
	return starter.RunRef{}, &starter.NotFoundError{What: "run", Name: parsed.Text, Hint: action.See(action.GetRun, action.Args{"run": parent.WorkflowID})}
}

func (r Resolver) described(ctx context.Context, workflowID string) (starter.RunRef, error) {
	found := starter.RunRef{WorkflowID: workflowID}
	_, err := r.runs.Describe(ctx, found)
	if err != nil {
		return starter.RunRef{}, err
	}
	return found, nil
}

func (r Resolver) named(ctx context.Context, parsed ref.Ref) (starter.RunRef, error) {
	switch {
	case parsed.ID == "" || parsed.ID == ref.Open || parsed.ID == ref.Last || parsed.ID == ref.Bad:
		return r.selected(ctx, parsed)
	case !ref.Timed(parsed.ID):
		return r.called(ctx, parsed)
	}
	for _, at := range ref.Times(parsed.ID, r.now()) {
		found, err := r.described(ctx, contract.GroupWorkflowID(parsed.Name)+"-"+at.Format(time.RFC3339))
		if !errors.Is(err, starter.ErrNotFound) {
			return found, err
		}
	}
	return r.started(ctx, parsed)
}

func (r Resolver) called(ctx context.Context, parsed ref.Ref) (starter.RunRef, error) {
	var found []starter.RunRef
	for _, id := range []string{contract.AdHocWorkflowID(parsed.Name, parsed.ID), contract.DAGWorkflowID(parsed.Name, parsed.ID)} {
		run, err := r.described(ctx, id)
		switch {
		case err == nil:
			found = append(found, run)
		case !errors.Is(err, starter.ErrNotFound):
			return run, err
		}
	}
	if len(found) > 0 {
		return one(parsed, found)
	}
	runs, err := r.list(ctx, parsed)
	if err != nil {
		return starter.RunRef{}, err
	}
	for _, run := range runs {
		_, id, _ := strings.Cut(ref.OfRun(run.WorkflowID), "@")
		whole := "" // Only a tick has a time. The zero time would be that of every submission.
		if tick := starter.TickOf(run.WorkflowID); !tick.IsZero() {
			whole = tick.Format(time.RFC3339)
		}
		if _, unique, ok := contract.DAGOfWorkflow(run.WorkflowID); ok {
			id, whole = unique, unique
		}
		if strings.HasPrefix(id, parsed.ID) || strings.HasPrefix(whole, parsed.ID) {
			found = append(found, starter.RunRef{WorkflowID: run.WorkflowID})
		}
	}
	return one(parsed, found)
}

func (r Resolver) started(ctx context.Context, parsed ref.Ref) (starter.RunRef, error) {
	runs, err := r.list(ctx, parsed)
	if err != nil {
		return starter.RunRef{}, err
	}
	var found []starter.RunRef
	for _, run := range runs {
		for _, at := range ref.Times(parsed.ID, r.now()) {
			exact := run.Started.Truncate(time.Second).Equal(at)
			if exact || at.Second() == 0 && run.Started.Truncate(time.Minute).Equal(at) {
				found = append(found, starter.RunRef{WorkflowID: run.WorkflowID})
			}
		}
	}
	return one(parsed, found)
}

func one(parsed ref.Ref, found []starter.RunRef) (starter.RunRef, error) {
	switch len(found) {
	case 0:
		return starter.RunRef{}, &starter.NotFoundError{What: "run", Name: parsed.Text, Hint: runsOf(parsed.Name)}
	case 1:
		return found[0], nil
	}
	return starter.RunRef{}, ambiguous(parsed.Text, found)
}

const shown = 10

func ambiguous(text string, found []starter.RunRef) error {
	var forms strings.Builder
	for _, run := range found[:min(len(found), shown)] {
		forms.WriteString("\n  " + run.WorkflowID)
	}
	return starter.Invalidf("%s is ambiguous, write one of:%s", text, forms.String())
}

func (r Resolver) selected(ctx context.Context, parsed ref.Ref) (starter.RunRef, error) {
	runs, err := r.list(ctx, parsed)
	if err != nil {
		return starter.RunRef{}, err
	}
	wanted := func(run starter.Run) bool { return run.Open() == (parsed.ID == "" || parsed.ID == ref.Open) }
	if parsed.ID == ref.Bad {
		wanted = func(run starter.Run) bool { return !run.Open() && bad(run) }
	}
	var found []starter.RunRef
	for _, run := range runs {
		if wanted(run) {
			found = append(found, starter.RunRef{WorkflowID: run.WorkflowID})
		}
	}
	if r.Strict && len(found) > 1 && (parsed.ID == "" || parsed.ID == ref.Open) {
		return starter.RunRef{}, ambiguous(parsed.Text, found)
	}
	switch {
	case len(found) > 0:
		return found[0], nil
	case parsed.ID == "" && len(runs) > 0:
		return starter.RunRef{WorkflowID: runs[0].WorkflowID}, nil
	case len(runs) == 0:
		// The name may be the workflow id of a run, with the group/ left out.
		if run, err := r.described(ctx, contract.GroupWorkflowID(parsed.Name)); err == nil && parsed.ID == "" {
			return run, nil
		}
		return starter.RunRef{}, r.nothing(ctx, parsed)
	}
	hint := "the newest run is " + ref.OfRun(runs[0].WorkflowID) + ", " + runsOf(parsed.Name)
	if parsed.ID == ref.Bad {
		hint = "no run that is kept failed; " + hint
	}
	return starter.RunRef{}, &starter.NotFoundError{What: "run", Name: parsed.Text, Hint: hint}
}

func bad(run starter.Run) bool {
	switch run.Outcome {
	case contract.OutcomeFailed, contract.OutcomePartial, contract.OutcomeTimeout, "":
		return true
	case contract.OutcomeCompleted, contract.OutcomeCanceled, contract.OutcomeSkipped:
	}
	return false
}

func (r Resolver) nothing(ctx context.Context, parsed ref.Ref) error {
	if parsed.Kind == ref.DAG {
		return &starter.NotFoundError{What: "run of DAG", Name: parsed.Name, Hint: newRuns()}
	}
	_, err := r.runs.Latest(ctx, parsed.Name)
	return err
}

// list adds the newest run of the Schedule, which visibility may lack.
func (r Resolver) list(ctx context.Context, parsed ref.Ref) ([]starter.Run, error) {
	var (
		group           errgroup.Group
		ofType, ofDAG   []starter.Run
		latest          starter.RunRef
		typeErr, dagErr error
	)
	if parsed.Kind != ref.DAG {
		group.Go(func() error {
			ofType, typeErr = r.runs.List(ctx, starter.RunFilter{JobType: parsed.Name, Limit: listed})
			return nil
		})
		group.Go(func() error {
			latest, _ = r.runs.Latest(ctx, parsed.Name) // A job type that is not applied may have runs.
			return nil
		})
	}
	if parsed.Kind != ref.JobType {
		group.Go(func() error {
			ofDAG, dagErr = r.runs.List(ctx, starter.RunFilter{DAG: parsed.Name, Limit: listed})
			return nil
		})
	}
	if err := errors.Join(group.Wait(), typeErr, dagErr); err != nil {
		return nil, err
	}
	found := slices.Concat(ofType, ofDAG)
	if latest.WorkflowID != "" && !slices.ContainsFunc(found, func(run starter.Run) bool { return run.WorkflowID == latest.WorkflowID }) {
		if described, err := r.runs.Describe(ctx, latest); err == nil {
			found = append(found, described.Run)
		}
	}
	slices.SortStableFunc(found, func(a, b starter.Run) int { return b.Started.Compare(a.Started) })
	return found, nil
}

func runsOf(name string) string { return action.See(action.ListRuns, action.Args{"job_type": name}) }

func newRuns() string {
	return action.See(action.ListRuns, nil) + "; a new run is listed after a second"
}
