package api

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/edge/api/problem"
	"github.com/roundsman/roundsman/internal/edge/feed"
	"github.com/roundsman/roundsman/internal/engine/access"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/internal/lib/override"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

// JobTypePath names a job type in the path.
type JobTypePath struct {
	Name string `path:"name" maxLength:"63" doc:"The job type"`
}

// Scope implements [Scoped].
func (p JobTypePath) Scope() access.Scope { return access.Scope{JobType: p.Name} }

// HeldPath names a job type, or the tasks of a DAG, in the path of holds.
type HeldPath struct {
	Name string `path:"name" maxLength:"67" doc:"The job type, or dag:NAME for the tasks of a DAG"`
}

// Scope implements [Scoped].
func (p HeldPath) Scope() access.Scope { return scopeOfHeld(p.Name) }

func scopeOfHeld(name string) access.Scope {
	if dag, ok := contract.DAGOfTasks(name); ok {
		return access.Scope{DAG: dag}
	}
	return access.Scope{JobType: name}
}

type jobTypeList struct {
	JobTypes []ListedJobType `json:"job_types"`
	Stopped  int             `json:"stopped" doc:"Job types of all pages without automatic runs"`
	Running  int             `json:"running" doc:"Job types of all pages with an open run"`
	Page
}

// ListedJobType is a job type with its state.
type ListedJobType struct {
	jobtypes.JobType
	Standing explain.Standing `json:"standing"`
}

// ShownJobType is a job type with its details.
type ShownJobType struct {
	ListedJobType
	jobtypes.Details
}

// Paused confirms a pause or its end.
type Paused struct {
	JobType string `json:"job_type"`
	Paused  bool   `json:"paused"`
}

// PolicyInForce is the effective policy of a job type.
type PolicyInForce struct {
	JobType string         `json:"job_type"`
	Policy  jobtype.Policy `json:"policy"`
}

// SettingsChanged lists the changed settings; none if they were set already.
type SettingsChanged struct {
	JobType string                 `json:"job_type,omitempty"`
	Changed []contract.FieldChange `json:"changed"`
}

// TriggeredRun is the run of a trigger. An empty run_id means that it waits for the running one.
type TriggeredRun struct {
	JobType    string `json:"job_type"`
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id"`
	Buffered   bool   `json:"buffered"`
	Released   bool   `json:"released,omitempty" doc:"The run waited for its window, and has begun"`
}

// Begun returns the run; empty while it waits for the running one.
func (t TriggeredRun) Begun() starter.RunRef {
	return starter.RunRef{WorkflowID: t.WorkflowID, RunID: t.RunID}
}

var (
	viewJobTypes      = access.Permission{Verb: access.View, Kind: access.JobTypes}      //nolint:gochecknoglobals // constants
	viewConfiguration = access.Permission{Verb: access.View, Kind: access.Configuration} //nolint:gochecknoglobals // constants
	operateJobTypes   = access.Permission{Verb: access.Operate, Kind: access.JobTypes}   //nolint:gochecknoglobals // constants
)

func (a *API) jobTypes() {
	const tag, one = "job types", "/job-types/{name}"
	Add(a, Operation{
		ID: "list-job-types", Method: http.MethodGet, Path: "/job-types", Tag: tag, Summary: "List the applied job types and when they are due",
		May: viewJobTypes, Reach: Some,
	}, a.listJobTypes)
	Add(a, Operation{
		ID: "get-job-type", Method: http.MethodGet, Path: one, Tag: tag, Summary: "Show a job type: its policy, schedule and runs",
		May: viewJobTypes, Reach: Named,
		Live: &feed.Topic{Every: queriedEvery, Gap: visibleGap, Of: changesOfJobTypes()},
	}, getJobType)
	Add(a, Operation{
		ID: "get-job-type-policy", Method: http.MethodGet, Path: one + "/policy", Tag: tag, Summary: "Show the settings of a job type's policy",
		May: viewJobTypes, Reach: Named,
	}, func(ctx context.Context, call *Call, in *JobTypePath) (PolicyInForce, error) {
		known, err := jobtypes.Of(call.Client).Get(ctx, in.Name)
		return PolicyInForce{JobType: in.Name, Policy: known.Spec.Policy}, err
	})
	Add(a, Operation{
		ID: "set-job-type-policy", Method: http.MethodPatch, Path: one + "/policy", Tag: tag, Summary: "Change settings of a job type until the next apply",
		May: operateJobTypes, Reach: Named, Settings: true, Already: Already(hasPolicy),
	}, setJobType)
	a.jobTypeActions(tag, one)
	a.jobTypeKeys(tag, one)
}

func (a *API) jobTypeActions(tag, one string) {
	Add(a, Operation{
		ID: "pause-job-type", Method: http.MethodPost, Path: one + "/pause", Tag: tag, Summary: "Stop a job type from being due; a running group continues",
		May: operateJobTypes, Reach: Named,
	}, func(ctx context.Context, call *Call, in *struct {
		JobTypePath
		Body noteBody
	},
	) (Paused, error) {
		return Paused{JobType: in.Name, Paused: true}, jobtypes.Of(call.Client).Pause(ctx, in.Name, in.Body.Note)
	})
	Add(a, Operation{
		ID: "resume-job-type", Method: http.MethodPost, Path: one + "/resume", Tag: tag, Summary: "End a pause",
		May: operateJobTypes, Reach: Named,
	}, func(ctx context.Context, call *Call, in *JobTypePath) (Paused, error) {
		if err := jobtypes.Of(call.Client).Resume(ctx, in.Name); err != nil {
			return Paused{}, err
		}
		known, err := jobtypes.Of(call.Client).Get(ctx, in.Name)
		return Paused{JobType: in.Name, Paused: known.Paused}, err
	})
	Add(a, Operation{
		ID: "run-job-type", Method: http.MethodPost, Path: one + "/run", Tag: tag, Summary: "Start a run now, as if the job type were due",
		Description: "A paused job type runs too. If a run of the type is open, policy.overlap decides.",
		May:         operateJobTypes, Reach: Named, Status: http.StatusAccepted,
	}, runJobType)
	Add(a, Operation{
		ID: "backfill-job-type", Method: http.MethodPost, Path: one + "/backfill", Tag: tag, Summary: "Start the runs that were due in a span of time, one after the other",
		May: operateJobTypes, Reach: Named, Status: http.StatusAccepted,
	}, func(ctx context.Context, call *Call, in *struct {
		JobTypePath
		DryRun
		Body struct {
			From time.Time `json:"from"`
			To   time.Time `json:"to"`
		}
	},
	) (jobtypes.Backfilled, error) {
		if in.Wanted {
			return jobtypes.Of(call.Client).PreviewBackfill(ctx, in.Name, in.Body.From, in.Body.To)
		}
		return jobtypes.Of(call.Client).Backfill(ctx, in.Name, in.Body.From, in.Body.To)
	})
	Add(a, Operation{
		ID: "detect-job-type", Method: http.MethodPost, Path: one + "/detect", Tag: tag, Summary: "Start a dry run: it detects and executes nothing",
		Description: "The answer names the run; GET /runs/{run} has its proposals when it has ended.",
		May:         operateJobTypes, Reach: Named, Status: http.StatusAccepted,
	}, detectJobType)
}

func (a *API) jobTypeKeys(tag, one string) {
	type keyBody struct {
		Key string `json:"dedupe_key" minLength:"1" maxLength:"1024"`
	}
	Add(a, Operation{
		ID: "re-enable-job-type", Method: http.MethodPost, Path: one + "/re-enable", Tag: tag, Summary: "Lift a hold of the retry budget on a job type, one of its keys, or a task of a DAG",
		May: operateJobTypes, Reach: Named,
	}, func(ctx context.Context, call *Call, in *struct {
		HeldPath
		Body struct {
			Key string `json:"dedupe_key,omitempty" maxLength:"1024" doc:"Only this key, not the job type"`
		}
	},
	) (contract.HoldResult, error) {
		return call.Client.Admission().ReEnable(ctx, in.Name, in.Body.Key)
	})
	Add(a, Operation{
		ID: "list-held-keys", Method: http.MethodGet, Path: one + "/keys", Tag: tag, Summary: "List holds of a job type: disabled by the retry budget, or marked as done",
		May: viewJobTypes, Reach: Named,
		Live: &feed.Topic{Every: queriedEvery, Of: []string{contract.AdmissionWorkflowID}},
	}, func(ctx context.Context, call *Call, in *struct {
		HeldPath
		Listing
	},
	) (heldList, error) {
		return a.held(ctx, call, in.Listing, in.Name)
	})
	Add(a, Operation{
		ID: "forgive-key", Method: http.MethodPost, Path: one + "/keys/forgive", Tag: tag, Summary: "Forget the failures and holds of a dedupe key",
		May: operateJobTypes, Reach: Named,
	}, func(ctx context.Context, call *Call, in *struct {
		HeldPath
		Body keyBody
	},
	) (contract.HoldResult, error) {
		return call.Client.Admission().Forgive(ctx, in.Name, in.Body.Key)
	})
	Add(a, Operation{
		ID: "mark-key-done", Method: http.MethodPost, Path: one + "/keys/mark-done", Tag: tag, Summary: "Mark the work of a dedupe key as done: it is left out for a time",
		May: operateJobTypes, Reach: Named,
	}, func(ctx context.Context, call *Call, in *struct {
		JobTypePath
		Body struct {
			Key string           `json:"dedupe_key" minLength:"1" maxLength:"1024"`
			For jobtype.Duration `json:"for,omitempty" doc:"1s to 365d; default 24h"`
		}
	},
	) (contract.HoldResult, error) {
		lasts := cmp.Or(in.Body.For, contract.DefaultMark)
		if lasts < contract.MinBudgetTime || lasts > contract.MaxDisableFor {
			return contract.HoldResult{}, problem.Newf(http.StatusUnprocessableEntity, "", "for is %s: write 1s to 365d", lasts)
		}
		return call.Client.Admission().MarkDone(ctx, in.Name, in.Body.Key, lasts.Std())
	})
}

func (a *API) listJobTypes(ctx context.Context, call *Call, in *struct{ Listing }) (jobTypeList, error) {
	known, at, err := read(ctx, call, a.known.jobTypes)
	if err != nil {
		return jobTypeList{}, err
	}
	all := access.Filter(call.Rights, call.operation.May, known, func(t jobtypes.JobType) access.Scope { return access.Scope{JobType: t.Name} })
	kept, page, err := Cut(call, "job-types", in.Listing, all, func(t jobtypes.JobType) string { return t.Name })
	listed := make([]ListedJobType, len(kept)) // Callers share the list of job types, so it must not be changed.
	for i := range kept {
		listed[i] = ListedJobType{withoutSecrets(call, kept[i]), kept[i].Standing()}
	}
	page.AsOf = at
	list := jobTypeList{JobTypes: listed, Page: page}
	for _, one := range all {
		if one.Standing().Stopped {
			list.Stopped++
		}
		if len(one.Running) > 0 {
			list.Running++
		}
	}
	return list, err
}

// withoutSecrets also removes the hash: with all other settings known, a short secret could be guessed with it.
func withoutSecrets(call *Call, t jobtypes.JobType) jobtypes.JobType {
	if !call.Rights.Allows(viewConfiguration, access.Scope{JobType: t.Name}) {
		t.Spec = t.Spec.WithoutSecrets()
		t.Spec.Hash = ""
	}
	return t
}

func getJobType(ctx context.Context, call *Call, in *JobTypePath) (ShownJobType, error) {
	known, err := jobtypes.Of(call.Client).Get(ctx, in.Name)
	if err != nil {
		return ShownJobType{}, err
	}
	one := []jobtypes.JobType{known}
	if err := jobtypes.Of(call.Client).AddHolds(ctx, one); err != nil {
		call.Logf("the holds of %s are unknown: %v", in.Name, err)
	}
	if err := jobtypes.Of(call.Client).AddServed(ctx, one); err != nil {
		call.Logf("whether a worker can serve %s is not known: %v", in.Name, err)
	}
	jobtypes.Of(call.Client).AddOutcomes(ctx, one, len(known.Recent))
	details, err := jobtypes.Of(call.Client).Details(ctx, one[0])
	if err != nil {
		call.Logf("some details of %s are not known: %v", in.Name, err)
	}
	if changed := details.Changed; changed != nil && !call.Rights.Allows(viewConfiguration, access.Scope{JobType: in.Name}) {
		changed.Before, changed.After, changed.Change = "", "", ""
	}
	return ShownJobType{ListedJobType{withoutSecrets(call, one[0]), one[0].Standing()}, details}, nil
}

type setPolicy struct {
	JobTypePath
	Body map[string]json.RawMessage `doc:"Settings by their names in the configuration, and every"`
}

func hasPolicy(ctx context.Context, call *Call, in *setPolicy) (bool, error) {
	now, err := jobtypes.Of(call.Client).Settings(ctx, in.Name)
	if err != nil {
		return false, err
	}
	after, err := override.Change(in.Body).OverSpec(now.Spec)
	return err == nil && len(jobtypes.Changes(now.Spec, after)) == 0, nil
}

func setJobType(ctx context.Context, call *Call, in *setPolicy) (SettingsChanged, error) {
	change := override.Change(in.Body)
	if change.HasParams() {
		return SettingsChanged{}, problem.New(http.StatusUnprocessableEntity, "", "params are no setting of the policy: change them in the configuration").With("roundsman set NAME params.KEY=VALUE")
	}
	changed, err := jobtypes.Of(call.Client).Set(ctx, in.Name, change)
	return SettingsChanged{JobType: in.Name, Changed: lists.OrEmpty(changed)}, err
}

func runJobType(ctx context.Context, call *Call, in *struct {
	JobTypePath
	Body struct {
		IgnoreWindow bool `json:"ignore_window,omitempty" doc:"Run although the maintenance window is closed"`
	}
},
) (TriggeredRun, error) {
	trigger := jobtypes.Of(call.Client).Trigger
	if in.Body.IgnoreWindow {
		trigger = jobtypes.Of(call.Client).TriggerIgnoringWindow
	}
	triggered, err := trigger(ctx, in.Name)
	return TriggeredRun{JobType: in.Name, WorkflowID: triggered.WorkflowID, RunID: triggered.RunID, Buffered: triggered.Buffered, Released: triggered.Released}, err
}

func detectJobType(ctx context.Context, call *Call, in *JobTypePath) (starter.RunRef, error) {
	known, err := jobtypes.Of(call.Client).Get(ctx, in.Name)
	if err != nil {
		return starter.RunRef{}, err
	}
	return call.Client.Runs().StartDryRun(ctx, known.Spec, cmp.Or(call.Request, time.Now().UTC().Format("20060102t150405.000")))
}
