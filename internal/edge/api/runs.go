package api

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/edge/api/cursor"
	"github.com/roundsman/roundsman/internal/edge/api/problem"
	"github.com/roundsman/roundsman/internal/edge/feed"
	"github.com/roundsman/roundsman/internal/engine/access"
	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/internal/lib/override"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/rerun"
)

// RunPath names a run in the path.
type RunPath struct {
	Run string `path:"run" maxLength:"1000" doc:"The run's workflow id without group/ or dag/, every other / written as ~"`
}

// Ref returns the run.
func (p RunPath) Ref() starter.RunRef {
	return starter.RunRef{WorkflowID: contract.WorkflowOfRunKey(p.Run)}
}

// Scope implements [Scoped].
func (p RunPath) Scope() access.Scope { return scopeOfThing(p.Ref().WorkflowID) }

func (p RunPath) workflowID() string { return p.Ref().WorkflowID }

type aboutRun interface{ workflowID() string }

type runList struct {
	Runs []starter.Run `json:"runs"`
	// Next is the cursor of older runs.
	Next string `json:"next,omitempty"`
	// Total counts the matches, if known: on a first page that has all of them.
	Total *int      `json:"total,omitempty"`
	AsOf  time.Time `json:"as_of"`
}

// Requested confirms a request to a run.
type Requested struct {
	WorkflowID string `json:"workflow_id"`
	Item       string `json:"item,omitempty"`
	Requested  string `json:"requested"`
}

// RunEnding confirms a request to end a run.
type RunEnding Requested

// Begun returns the run.
func (r RunEnding) Begun() starter.RunRef { return starter.RunRef{WorkflowID: r.WorkflowID} }

// RunSettingsChanged lists the changed settings of a run; none if they were set already.
type RunSettingsChanged struct {
	WorkflowID string                 `json:"workflow_id"`
	Changed    []contract.FieldChange `json:"changed"`
}

type reasonBody struct {
	Reason string `json:"reason,omitempty" maxLength:"1000" doc:"Is kept with the result"`
}

type noteBody struct {
	Note string `json:"note,omitempty" maxLength:"1000" doc:"Reason for others"`
}

var (
	viewRuns    = access.Permission{Verb: access.View, Kind: access.Runs}    //nolint:gochecknoglobals // constants
	operateRuns = access.Permission{Verb: access.Operate, Kind: access.Runs} //nolint:gochecknoglobals // constants
)

func (a *API) runs() {
	const tag, one = "runs", "/runs/{run}"
	Add(a, Operation{
		ID: "list-runs", Method: http.MethodGet, Path: "/runs", Tag: tag, Summary: "List the runs of job types and of DAGs, newest first",
		May: viewRuns, Reach: Some,
		Live: &feed.Topic{Every: visibleEvery, Gap: visibleGap, Lag: visibleLag, Of: ChangesOfRuns()},
	}, a.listRuns)
	Add(a, Operation{
		ID: "get-run", Method: http.MethodGet, Path: one, Tag: tag, Summary: "Show a run: its progress, its wait, its result",
		May: viewRuns, Reach: Named,
		Live: LiveRun(visibleGap),
	}, func(ctx context.Context, call *Call, in *RunPath) (starter.Snapshot, error) {
		run, err := call.Client.Runs().Show(ctx, in.Ref())
		if err == nil {
			run.RetriedBy, err = rerun.Of(call.Client).Later(ctx, run.Run)
		}
		return run, err
	})
	Add(a, Operation{
		ID: "set-run", Method: http.MethodPatch, Path: one, Tag: tag, Summary: "Change settings of an open run, for this run only",
		May: operateRuns, Reach: Named, Already: Already(runHas),
	}, func(ctx context.Context, call *Call, in *setRun) (RunSettingsChanged, error) {
		if err := settable(in.Ref(), in.Body); err != nil {
			return RunSettingsChanged{}, err
		}
		changed, err := call.Client.Runs().Set(ctx, in.Ref(), override.Change(in.Body))
		return RunSettingsChanged{WorkflowID: in.Ref().WorkflowID, Changed: lists.OrEmpty(changed)}, err
	})
	a.runActions(tag, one)
}

const lateNote = "A run that already has its outcome returns ALREADY_ENDED."

func (a *API) runActions(tag, one string) {
	Add(a, Operation{
		ID: "cancel-run", Method: http.MethodPost, Path: one + "/cancel", Tag: tag, Summary: "Cancel a run: running items are stopped, the rest never starts",
		Description: "Of a DAG, tasks with trigger_rule always still run, to clean up; a second cancel stops those too. " + lateNote,
		May:         operateRuns, Reach: Named, Status: http.StatusAccepted,
	}, func(ctx context.Context, call *Call, in *struct {
		RunPath
		Body reasonBody
	},
	) (RunEnding, error) {
		return RunEnding(in.requested("cancel")), call.Client.Runs().Cancel(ctx, in.Ref(), in.Body.Reason)
	})
	Add(a, Operation{
		ID: "pause-run", Method: http.MethodPost, Path: one + "/pause", Tag: tag, Summary: "Keep a run from starting more items; running items continue",
		Description: lateNote,
		May:         operateRuns, Reach: Named, Status: http.StatusAccepted,
	}, func(ctx context.Context, call *Call, in *struct {
		RunPath
		Body noteBody
	},
	) (Requested, error) {
		return in.requested("pause"), call.Client.Runs().Pause(ctx, in.Ref(), in.Body.Note)
	})
	Add(a, Operation{
		ID: "resume-run", Method: http.MethodPost, Path: one + "/resume", Tag: tag, Summary: "End a pause of a run",
		May: operateRuns, Reach: Named, Status: http.StatusAccepted,
	}, func(ctx context.Context, call *Call, in *RunPath) (Requested, error) {
		return in.requested("resume"), call.Client.Runs().Resume(ctx, in.Ref())
	})
	a.dagRunActions(tag, one)
}

func (a *API) dagRunActions(tag, one string) {
	Add(a, Operation{
		ID: "release-run", Method: http.MethodPost, Path: one + "/release", Tag: tag, Summary: "End a run of a DAG that is held after a failure",
		May: operateRuns, Reach: Named,
	}, func(ctx context.Context, call *Call, in *RunPath) (contract.DAGChanged, error) {
		return ofDAG(in.Ref(), func() (contract.DAGChanged, error) { return call.Client.DAGs().Release(ctx, in.Ref(), call.Name) })
	})
	Add(a, Operation{
		ID: "add-tasks", Method: http.MethodPost, Path: one + "/tasks", Tag: tag, Summary: "Insert tasks into an open run of a DAG, or redefine some that have not started",
		Description: "The caller writes the tasks, so this needs the permission to change the configuration.",
		May:         access.Permission{Verb: access.Change, Kind: access.Configuration}, Reach: Named, AnyHandler: true,
	}, func(ctx context.Context, call *Call, in *struct {
		RunPath
		Body struct {
			Tasks []json.RawMessage `json:"tasks,omitempty" doc:"As tasks of a spec, with before besides needs"`
			Text  string            `json:"text,omitempty" doc:"The same list as YAML, instead of tasks"`
		}
	},
	) (contract.DAGChanged, error) {
		text := []byte(in.Body.Text)
		if (len(text) == 0) == (len(in.Body.Tasks) == 0) {
			return contract.DAGChanged{}, problem.New(http.StatusUnprocessableEntity, "", "give tasks or text")
		}
		if len(text) == 0 {
			var err error
			if text, err = json.Marshal(in.Body.Tasks); err != nil {
				return contract.DAGChanged{}, problem.New(http.StatusUnprocessableEntity, "", err.Error())
			}
		}
		return ofDAG(in.Ref(), func() (contract.DAGChanged, error) {
			return call.Client.DAGs().AddTasks(ctx, in.Ref(), "tasks", text, call.Name)
		})
	})
}

func ofDAG[T any](ref starter.RunRef, do func() (T, error)) (T, error) {
	if ref.Kind() != starter.KindDAG {
		var none T
		return none, problem.Newf(http.StatusConflict, problem.CodeRefused, "%s is a run of a job type; this is for runs of DAGs", ref)
	}
	return do()
}

type setRun struct {
	RunPath
	Body map[string]json.RawMessage `doc:"Settings by their names in the configuration; a run of a DAG has concurrency, and concurrency.FANOUT for each fan-out, only"`
}

// runHas is false for a fan-out, whose setting cannot be read.
func runHas(ctx context.Context, call *Call, in *setRun) (bool, error) {
	run, err := call.Client.Runs().Show(ctx, in.Ref())
	if err != nil {
		return false, err
	}
	switch change := override.Change(in.Body); {
	case run.DAGStatus != nil:
		fanOut, n, err := change.OfDAG()
		return err == nil && fanOut == "" && run.DAGStatus.Concurrency == n, nil
	case run.Group != nil:
		encoded, err := json.Marshal(change)
		if err != nil {
			return false, err
		}
		after, err := contract.SetPolicyInput{Change: encoded}.Over(run.Group.Policy)
		return err == nil && after == run.Group.Policy, nil
	}
	return false, nil
}

func settable(ref starter.RunRef, change override.Change) error {
	_, every := change[override.Every]
	switch {
	case ref.Kind() == starter.KindDAG:
		if _, _, err := change.OfDAG(); err != nil {
			return problem.Newf(http.StatusUnprocessableEntity, "", "a run of a DAG: %v", err)
		}
	case every:
		return problem.New(http.StatusUnprocessableEntity, "", "every is a setting of the job type").With("PATCH /job-types/{name}/policy")
	}
	return nil
}

func (p RunPath) requested(what string) Requested {
	return Requested{WorkflowID: p.Ref().WorkflowID, Requested: what}
}

type runsInput struct {
	JobType string    `query:"job_type" maxLength:"63" doc:"Only runs of this job type"`
	DAG     string    `query:"dag" maxLength:"63" doc:"Only runs of this DAG"`
	Kind    string    `query:"kind" enum:"group,dag" doc:"Only runs of job types, or of DAGs"`
	Since   time.Time `query:"since" doc:"Started from this time on"`
	Until   time.Time `query:"until" doc:"Started until this time"`
	Running bool      `query:"running" doc:"Only open runs"`
	Outcome []string  `query:"outcome" doc:"Only runs that ended so" enum:"completed,partial,failed,timeout,canceled,skipped"`
	DryRuns bool      `query:"dry_runs" doc:"Dry runs too"`
	SubDAGs bool      `query:"sub_dags" doc:"Runs of sub-DAGs and of jobs too"`
	Counts  bool      `query:"counts" doc:"With counts, progress, and the state of open runs (waiting, paused, held). It queries every run. Without it an open run is running"`
	Listing
}

func (in runsInput) filter() starter.RunFilter {
	filter := starter.RunFilter{
		JobType: in.JobType, DAG: in.DAG, Kind: starter.Kind(in.Kind), Since: in.Since, Until: in.Until, Running: in.Running,
		DryRuns: in.DryRuns, SubDAGs: in.SubDAGs, Counts: in.Counts,
	}
	for _, outcome := range in.Outcome {
		filter.Outcomes = append(filter.Outcomes, contract.Outcome(outcome))
	}
	return filter
}

// listRuns reads one run more than the page, for the next cursor. Hidden runs make a page shorter.
func (a *API) listRuns(ctx context.Context, call *Call, in *runsInput) (runList, error) {
	list, filter := runList{AsOf: time.Now().UTC()}, in.filter()
	for _, name := range []string{in.JobType, in.DAG} {
		if err := jobtype.ValidateName(name); name != "" && err != nil {
			return list, problem.New(http.StatusUnprocessableEntity, "", err.Error())
		}
	}
	found, next, _, err := a.runsPage(ctx, call, "runs", in.Cursor, filter, in.Limit)
	if err != nil {
		return list, err
	}
	list.Next = next
	list.Runs = access.Filter(call.Rights, call.operation.May, found, func(run starter.Run) access.Scope { return access.Scope{JobType: run.JobType, DAG: run.DAG} })
	if next == "" && in.Cursor == "" {
		list.Total = new(len(list.Runs))
	}
	return list, nil
}

func (a *API) runsPage(ctx context.Context, call *Call, list, place string, filter starter.RunFilter, limit int) (found []starter.Run, next string, at cursor.Runs, err error) {
	at.Until = filter.Until
	if err = a.cursors.Resume(list, place, &at); err != nil {
		return nil, "", at, err
	}
	filter.Until, filter.Limit = at.Until, limit+len(at.Seen)+1
	counts := filter.Counts
	filter.Counts = false // They change the start, which a cursor needs as it is listed.
	if found, err = call.Client.Runs().List(ctx, filter); err != nil {
		return nil, "", at, err
	}
	found = slices.DeleteFunc(found, func(run starter.Run) bool { return slices.Contains(at.Seen, run.RunID) })
	if len(found) > limit {
		found = found[:limit]
		next, err = a.cursors.Next(list, at.After(found))
	}
	if counts {
		call.Client.Runs().AddCounts(ctx, found)
	}
	return found, next, at, err
}

func checkStates(states []string) error {
	for _, state := range states {
		if !slices.Contains(starter.ItemStates(), state) {
			return problem.Newf(http.StatusUnprocessableEntity, "", "no item is ever %q: a state is one of %s", state, strings.Join(starter.ItemStates(), ", "))
		}
	}
	return nil
}
