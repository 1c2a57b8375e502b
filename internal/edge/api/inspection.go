package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/doctor"
	"github.com/roundsman/roundsman/internal/edge/api/problem"
	"github.com/roundsman/roundsman/internal/edge/feed"
	"github.com/roundsman/roundsman/internal/engine/access"
	"github.com/roundsman/roundsman/internal/engine/action"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/ref"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/explainer"
	"github.com/roundsman/roundsman/starter/refs"
)

// Version holds the versions of the program and of the API.
type Version struct {
	Version string `json:"version"`
	API     string `json:"api"`
}

// Me is the caller as authenticated by this server.
type Me struct {
	Name    string           `json:"name"`
	Auth    string           `json:"auth" enum:"none,key,oidc,session,certificate,worker"`
	Address string           `json:"address"`
	Key     string           `json:"key,omitempty"`
	Worker  string           `json:"worker,omitempty"`
	Grants  []access.Granted `json:"grants"`
}

// Doctor is the result of `roundsman doctor`.
type Doctor doctor.Report

type handlerList struct {
	Handlers []jobtype.Descriptor `json:"handlers"`
	Page
}

// RecordedEntry is an entry of the audit log in words, with the action that reverts it.
type RecordedEntry struct {
	contract.AuditEntry
	Did     string           `json:"did" doc:"The action in words; the object follows them"`
	Change  string           `json:"change,omitempty" doc:"Before and after in one line, with the name of a single setting once"`
	Target  *explain.Target  `json:"target,omitempty" doc:"The worker, job type, run or item that the object is; absent for other objects"`
	PutBack *explain.PutBack `json:"put_back,omitempty" doc:"The action that reverts it, or the reason why none does; absent for the scheduler"`
}

type auditList struct {
	Entries []RecordedEntry `json:"entries"`
	// Next is the cursor of older entries.
	Next    string    `json:"next,omitempty"`
	Kept    int       `json:"kept"`
	Dropped int64     `json:"dropped"`
	Keeps   int       `json:"keeps"`
	AsOf    time.Time `json:"as_of"`
}

func (a *API) inspection() {
	Add(a, Operation{
		ID: "get-version", Method: http.MethodGet, Path: "/version", Tag: "system", Summary: "Get the version",
		May: access.Permission{Verb: access.View, Kind: access.Self},
	}, func(context.Context, *Call, *struct{}) (Version, error) {
		return Version{Version: version(), API: "v1"}, nil
	})
	Add(a, Operation{
		ID: "get-me", Method: http.MethodGet, Path: "/me", Tag: "access", Summary: "Get the caller and their permissions",
		May: access.Permission{Verb: access.View, Kind: access.Self},
	}, func(_ context.Context, call *Call, _ *struct{}) (Me, error) {
		return Me{Name: call.Name, Auth: call.Auth, Address: call.Address, Key: call.Key, Worker: call.Worker, Grants: call.Rights.Granted()}, nil
	})
	Add(a, Operation{
		ID: "get-doctor", Method: http.MethodGet, Path: "/doctor", Tag: "system", Summary: "Check the server, the namespace, the control plane and the workers",
		May: access.Permission{Verb: access.View, Kind: access.System},
	}, getDoctor)
	Add(a, Operation{
		ID: "list-handlers", Method: http.MethodGet, Path: "/handlers", Tag: "job types", Summary: "List the handlers that the workers have, with their schemas",
		May: access.Permission{Verb: access.View, Kind: access.Handlers},
	}, listHandlers)
	Add(a, Operation{
		ID: "explain", Method: http.MethodGet, Path: "/explain", Tag: "runs", Summary: "Explain why a thing does not run, or its wait",
		May: access.Permission{Verb: access.View, Kind: access.Runs}, Reach: Some,
		Live: &feed.Topic{Every: queriedEvery, Gap: visibleGap, Of: []string{OfThing}},
	}, explainThing)
	Add(a, Operation{
		ID: "list-needs", Method: http.MethodGet, Path: "/needs", Tag: "system", Summary: "List states that wait for a person, with the actions that help",
		May: access.Permission{Verb: access.View, Kind: access.Runs}, Reach: Some,
		Live: &feed.Topic{Every: queriedEvery, Gap: visibleGap},
	}, listNeeds)
	Add(a, Operation{
		ID: "list-audit", Method: http.MethodGet, Path: "/audit", Tag: "audit", Summary: "List actions of operators, refusals and delays, newest page first",
		May: access.Permission{Verb: access.View, Kind: access.Audit}, Reach: Some,
		Live: &feed.Topic{Every: queriedEvery, Of: []string{contract.AuditWorkflowID}},
	}, a.listAudit)
}

func getDoctor(ctx context.Context, call *Call, _ *struct{}) (Doctor, error) {
	return Doctor(doctor.ReportOf(doctor.Examine(ctx, call.Client))), nil
}

func listHandlers(ctx context.Context, call *Call, in *struct{ Listing }) (handlerList, error) {
	all, err := call.Client.Workers().Handlers(ctx)
	if err != nil {
		return handlerList{}, err
	}
	slices.SortFunc(all, func(a, b jobtype.Descriptor) int { return cmp.Compare(a.Name, b.Name) })
	kept, page, err := Cut(call, "handlers", in.Listing, all, func(d jobtype.Descriptor) string { return d.Name })
	return handlerList{kept, page}, err
}

type explainInput struct {
	Thing string `query:"thing" required:"true" maxLength:"1000" doc:"A job type, worker, run, job (RUN/JOB), run of a DAG, task (RUN/TASK) or receiver of notifications"`
}

// The holders in an explanation may belong to other job types. A caller who may not view those gets the code only.
func explainThing(ctx context.Context, call *Call, in *explainInput) (explainer.Explanation, error) {
	scope, err := call.scopeOf(ctx, in.Thing)
	if err == nil {
		err = call.Need(scope)
	}
	if err != nil {
		return explainer.Explanation{}, err
	}
	explanation, err := explainer.Explain(ctx, call.Client, in.Thing)
	if err != nil {
		return explanation, err
	}
	if !call.Sees(access.Scope{}) {
		explanation.Receiver, explanation.Chain = nil, nil // They belong to all job types.
		for i := range explanation.Reasons {
			blank(&explanation.Reasons[i])
		}
	}
	return explanation, nil
}

func blank(reason *explain.Reason) {
	*reason = explain.Reason{Code: reason.Code, Of: reason.Of, Since: reason.Since, Until: reason.Until, Actor: reason.Actor, Actions: []action.Action{}}
}

// Needs holds the states that wait for a person.
type Needs struct {
	Needs []explain.Need `json:"needs"`
	// Total includes the states that the limit leaves out.
	Total int `json:"total"`
	// Facts that could not be read.
	Unknown  string                `json:"unknown,omitempty"`
	Standing explain.NeedsStanding `json:"standing"`
}

type needsInput struct {
	Limit int `query:"limit" minimum:"1" maximum:"1000" default:"1000" doc:"At most so many, the gravest first"`
}

// Only callers who may view everything get the workers named by NO_WORKER.
func listNeeds(ctx context.Context, call *Call, in *needsInput) (Needs, error) {
	all, err := explainer.NeedsPerson(ctx, call.Client)
	found := Needs{Needs: access.Filter(call.Rights, call.operation.May, all, func(n explain.Need) access.Scope {
		return access.Scope{JobType: n.JobType, DAG: n.DAG}
	})}
	found.Total = len(found.Needs)
	found.Needs = found.Needs[:min(found.Total, in.Limit)]
	for i := range found.Needs {
		if reason := &found.Needs[i].Reason; reason.Code == contract.CodeNoWorker && !call.Sees(access.Scope{}) {
			blank(reason)
		}
	}
	if err != nil {
		found.Unknown = err.Error()
	}
	found.Standing = explain.NeedsStandingOf(found.Total, err != nil)
	return found, nil
}

// Callers choose parts of some ids, which could look like another job type. The job type of such runs comes from
// their search attribute.
func (c *Call) scopeOf(ctx context.Context, thing string) (access.Scope, error) {
	parsed, err := ref.Parse(thing)
	switch {
	case c.Client == nil || c.Sees(access.Scope{}):
		return scopeOfThing(thing), nil
	case err != nil || parsed.HasKey && parsed.Name == "":
		return access.Scope{}, nil //nolint:nilerr // it names nothing: a caller who sees everything gets the error
	case parsed.Name != "" && parsed.Kind == "" && !parsed.HasKey && (parsed.AtRun || parsed.Item != ""):
		// NAME/RUN as a run of a DAG comes before an item of the newest run.
		run, err := refs.Of(c.Client).Run(ctx, thing)
		if errors.Is(err, starter.ErrNotFound) {
			run, err = refs.Of(c.Client).Run(ctx, parsed.Whole())
		}
		if err != nil && !errors.Is(err, starter.ErrNotFound) {
			return access.Scope{}, err
		}
		if err != nil {
			return scopeOfThing(thing), nil //nolint:nilerr // there is no such run
		}
		return c.scopeOf(ctx, run.WorkflowID)
	case !parsed.Group() || starter.Scheduled(parsed.Workflow):
		return scopeOfThing(thing), nil
	}
	found, err := c.Client.Runs().Describe(ctx, starter.RunRef{WorkflowID: parsed.Workflow})
	if errors.Is(err, starter.ErrNotFound) {
		return scopeOfThing(thing), nil
	}
	if err != nil {
		return access.Scope{}, err
	}
	return access.Scope{JobType: found.JobType}, nil
}

// scopeOfThing returns the scope in a reference without a request. A name may be a job type, a DAG or a worker.
func scopeOfThing(thing string) access.Scope {
	parsed, err := ref.Parse(thing)
	name, _, standalone := contract.DAGOfWorkflow(parsed.Workflow)
	switch {
	case standalone:
		return access.Scope{DAG: name}
	case parsed.Kind == ref.DAG:
		return access.Scope{DAG: parsed.Name}
	case parsed.Group():
		return access.Scope{JobType: starter.JobTypeOfRun(parsed.Workflow)}
	case parsed.Kind == ref.JobType || err == nil && parsed.Kind == "":
		return access.Scope{JobType: parsed.Name}
	}
	return access.Scope{JobType: thing}
}

type auditInput struct {
	Since   time.Time `query:"since" doc:"From this time on"`
	Until   time.Time `query:"until" doc:"Until this time"`
	JobType string    `query:"job_type"`
	Actor   string    `query:"actor"`
	Kind    string    `query:"kind" enum:"operator,scheduler"`
	Object  string    `query:"object" doc:"A prefix, like group/scrub"`
	Of      string    `query:"of" doc:"A whole name, like worker/node-a: entries of this object and of those below it"`
	Listing
}

func (a *API) listAudit(ctx context.Context, call *Call, in *auditInput) (auditList, error) {
	filter := contract.AuditFilter{Since: in.Since, Until: in.Until, JobType: in.JobType, Actor: in.Actor, Kind: in.Kind, Object: in.Object, Of: in.Of, Limit: in.Limit}
	at, err := a.cursors.Position("audit", in.Cursor)
	if err != nil {
		return auditList{}, err
	}
	if at != "" {
		if filter.Before, err = strconv.ParseInt(at, 10, 64); err != nil {
			return auditList{}, problem.New(http.StatusBadRequest, problem.CodeBadCursor, err.Error())
		}
	}
	found, err := call.Client.Audit().Read(ctx, filter)
	if err != nil {
		return auditList{}, err
	}
	list := auditList{Kept: found.Kept, Dropped: found.Dropped, Keeps: found.Limit, AsOf: time.Now().UTC()}
	if found.More && len(found.Entries) > 0 {
		list.Next = a.cursors.At("audit", strconv.FormatInt(found.First, 10))
	}
	visible := access.Filter(call.Rights, call.operation.May, found.Entries, func(e contract.AuditEntry) access.Scope {
		return access.Scope{JobType: e.JobType, DAG: scopeOfThing(e.Object).DAG}
	})
	list.Entries = make([]RecordedEntry, len(visible))
	for i, entry := range visible {
		list.Entries[i] = RecordedEntry{entry, explain.Did(entry), explain.TextChange(entry.Before, entry.After), explain.TargetOf(entry), explain.PutBackOf(entry)}
	}
	return list, nil
}
