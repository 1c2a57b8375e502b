package explainer

import (
	"cmp"
	"context"
	"errors"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
	"github.com/roundsman/roundsman/starter/refs"
)

// explainRuns bounds the queried open runs of a job type.
const explainRuns = 20

func (e *explainer) jobType(ctx context.Context, name string, facts *explain.Facts) (bool, error) {
	known, err := jobtypes.Of(e.client).Get(ctx, name)
	if errors.Is(err, starter.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	facts.Type = new(typeFacts(known))
	open, err := e.client.Runs().List(ctx, starter.RunFilter{JobType: name, Running: true, Limit: explainRuns + 1})
	if err != nil {
		return true, err
	}
	for i, run := range open {
		switch {
		case i >= explainRuns:
			facts.MoreRuns++
			continue
		case facts.Down != "":
			// One missing answer has been waited for.
			facts.Runs = append(facts.Runs, explain.RunFacts{ID: run.WorkflowID, JobType: name, Open: true, StartedAt: run.Started})
			continue
		}
		// Without the run id, so that it follows a continue-as-new.
		one, err := e.runFacts(ctx, starter.RunRef{WorkflowID: run.WorkflowID}, facts)
		if err != nil && !errors.Is(err, starter.ErrNotFound) {
			return true, err
		}
		// Visibility lags, so an ended run may be in the list.
		if one.Open {
			facts.Runs = append(facts.Runs, one)
		}
	}
	if last := e.lastRun(ctx, known); last != nil {
		e.ended = last
	}
	if err := e.surroundings(ctx, facts, len(facts.Runs) == 0); err != nil {
		return true, err
	}
	return true, e.holds(ctx, facts)
}

func typeFacts(known jobtypes.JobType) explain.TypeFacts {
	facts := explain.TypeFacts{
		Name: known.Name, Wants: jobtypes.Wants(known.Spec, []contract.JobTypeSpec{known.Spec}), Paused: known.Paused, Disabled: known.DisabledByConfig, PauseNote: known.PauseNote, PausedBy: known.PausedBy, PausedAt: known.PausedAt,
		ChangedAt: known.UpdatedAt,
	}
	if facts.ChangedAt.IsZero() {
		facts.ChangedAt = known.CreatedAt
	}
	facts.LastTick = facts.ChangedAt
	if len(known.Recent) > 0 && known.Recent[0].StartedAt.After(facts.LastTick) {
		facts.LastTick = known.Recent[0].StartedAt
	}
	if len(known.Next) > 0 {
		facts.Next = known.Next[0]
	}
	if w := known.Window; w != nil && !w.Open {
		facts.WindowClosed, facts.WindowSince, facts.WindowOpens = cmp.Or(w.Closed, w.Fault), w.Since, w.Until
	}
	return facts
}

func (e *explainer) run(ctx context.Context, found *Explanation, ref starter.RunRef, facts *explain.Facts) error {
	found.Kind, found.Name = kindRun, ref.WorkflowID
	run, err := e.runFacts(ctx, ref, facts)
	if err != nil {
		return err
	}
	facts.Run = &run
	if err := e.surroundings(ctx, facts, false); err != nil {
		return err
	}
	return e.holds(ctx, facts)
}

func (e *explainer) runFacts(ctx context.Context, ref starter.RunRef, facts *explain.Facts) (explain.RunFacts, error) {
	shown, err := e.client.Runs().Show(ctx, ref)
	if err != nil {
		return explain.RunFacts{}, err
	}
	e.pace = cmp.Or(e.pace, shown.Pace)
	if shown.Open() && e.open == nil {
		e.open = &shown
	}
	if !shown.Open() && e.ended == nil {
		e.ended = endedRun(shown)
	}
	run := explain.RunFacts{
		ID: ref.WorkflowID, JobType: shown.JobType, Open: shown.Open(), Outcome: string(shown.Outcome), StartedAt: shown.Started,
	}
	noteDown(facts, shown.Silence())
	if shown.Group == nil {
		return run, nil
	}
	run.Answer = answerOf(*shown.Group)
	for _, job := range shown.Group.DAGJobs {
		e.inner(ctx, contract.SubDAGWorkflowID(ref.WorkflowID, job), facts)
	}
	for _, wait := range shown.Group.Waits {
		if wait.Items > 0 {
			run.Pending = append(run.Pending, explain.ItemFacts{ID: wait.Item, State: contract.JobPending, More: wait.Items - 1, Waits: []contract.WaitReason{wait}})
		}
	}
	return run, nil
}

func answerOf(status contract.GroupStatus) *explain.RunAnswer {
	answer := &explain.RunAnswer{Phase: status.Phase, Running: status.Running, Deduped: status.Deduped, HeldBack: status.HeldBack, Missed: status.Missed}
	if status.Wait != nil {
		answer.Waits = []contract.WaitReason{*status.Wait}
	}
	return answer
}

func (e *explainer) job(ctx context.Context, found *Explanation, facts *explain.Facts) error {
	ref, err := refs.Of(e.client).Item(ctx, found.Name)
	if err != nil {
		return err
	}
	found.Kind, found.Name, found.Item = kindJob, ref.String(), ref.ID
	shown, err := e.client.Runs().Describe(ctx, ref.Run)
	if err != nil {
		return err
	}
	e.open = &shown
	facts.Run = &explain.RunFacts{
		ID: ref.Run.WorkflowID, JobType: shown.JobType, Open: shown.Open(), Outcome: string(shown.Outcome), StartedAt: shown.Started,
	}
	job, err := e.client.Runs().Item(ctx, ref)
	if noteDown(facts, err) {
		return nil
	}
	if err != nil {
		return err
	}
	job.Run = ref.Run // Without the run's own id, so that it follows a continue-as-new.
	e.ended = endedItem(job, shown.JobType)
	switch {
	case job.State == contract.JobRunning && job.Active == nil:
		// Without an activity it may be a DAG.
		e.inner(ctx, contract.SubDAGWorkflowID(ref.Run.WorkflowID, ref.ID), facts)
	case job.State == contract.JobAssigned:
		if err := e.taker(ctx, job.Worker, job.StartedAt, facts); err != nil {
			return err
		}
	}
	if job.State == contract.JobAssigned {
		job.State = contract.JobRunning // The group counts it as running toward its limits.
	}
	facts.Item = new(itemFacts(job))
	if err := e.surroundings(ctx, facts, false); err != nil {
		return err
	}
	return e.holds(ctx, facts)
}

func itemFacts(item starter.Item) explain.ItemFacts {
	facts := explain.ItemFacts{ID: item.ID, State: item.State, Key: item.DedupeKey}
	if item.Wait != nil {
		facts.Waits = []contract.WaitReason{*item.Wait}
	}
	return facts
}

// surroundings queries admission and the registry if a fact includes a wait for them, or always.
func (e *explainer) surroundings(ctx context.Context, facts *explain.Facts, always bool) error {
	if facts.Down != "" {
		return nil
	}
	waits := map[contract.Code]bool{}
	var doubted []string
	mark := func(list []contract.WaitReason) {
		for _, wait := range list {
			waits[contract.Code(wait.Code)] = true
			if contract.Code(wait.Code) == contract.CodeUnreachable {
				doubted = append(doubted, explain.NamesIn(wait.Object)...)
			}
		}
	}
	runs := facts.Runs
	if facts.Run != nil {
		runs = append(runs, *facts.Run)
	}
	for _, run := range runs {
		if run.Answer != nil {
			mark(run.Answer.Waits)
		}
		for _, item := range run.Pending {
			mark(item.Waits)
		}
	}
	if facts.Item != nil {
		mark(facts.Item.Waits)
	}
	if waits[contract.CodeLaneBusy] || waits[contract.CodeClaims] || waits[contract.CodeResources] {
		if err := e.admission(ctx, facts); err != nil {
			return err
		}
	}
	e.ask(ctx, doubted, facts)
	if always || waits[contract.CodeNoWorker] {
		workers, err := e.client.Workers().List(ctx, contract.WorkersQueryInput{})
		if err != nil && !noteDown(facts, err) {
			return err
		}
		facts.Workers = workers
	}
	return nil
}

func (e *explainer) admission(ctx context.Context, facts *explain.Facts) error {
	// For one run, only its own waits; for several runs, the first waits of all.
	filter := contract.AdmissionFilter{Limit: 200}
	if facts.Run != nil && len(facts.Runs) == 0 {
		filter.WorkflowID = facts.Run.ID
	}
	view, err := e.client.Admission().View(ctx, filter)
	switch {
	case err == nil:
		facts.Admission = &view
	case errors.Is(err, starter.ErrNotFound):
		facts.NoAdmission = true
	case noteDown(facts, err):
	default:
		return err
	}
	return nil
}

const explainHolds = 50

func (e *explainer) holds(ctx context.Context, facts *explain.Facts) error {
	if facts.Down != "" {
		return nil
	}
	jobType := ""
	switch {
	case facts.Type != nil:
		jobType = facts.Type.Name
	case facts.Run != nil:
		jobType = facts.Run.JobType
	}
	if jobType == "" {
		return nil
	}
	filter := contract.HoldsInput{JobType: jobType, Limit: explainHolds}
	held, err := e.client.Admission().Holds(ctx, filter)
	if noteDown(facts, err) {
		return nil
	}
	facts.Holds = held.Holds
	return err
}
