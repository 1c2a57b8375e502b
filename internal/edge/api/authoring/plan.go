package authoring

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/edge/api"
	"github.com/roundsman/roundsman/internal/edge/api/problem"
	"github.com/roundsman/roundsman/internal/engine/access"
	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/handled"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

// Planned is the effect of an apply.
type Planned struct {
	Namespace string `json:"namespace"`
	Owner     string `json:"owner,omitempty"`
	// ETag without quotes, for the If-Match of an apply.
	Hash  string `json:"hash" doc:"Names this plan: the If-Match of an apply"`
	Empty bool   `json:"empty" doc:"Nothing would change"`
	// Changes of all configured job types, and the deletions.
	Changes  []PlannedChange `json:"changes"`
	Warnings config.Faults   `json:"warnings"`
	AsOf     time.Time       `json:"as_of"`
}

// PlannedChange is one change.
type PlannedChange struct {
	jobtypes.Change
	// Operators' changes since the last apply, newest first. A drift without any came from other tools.
	DriftedBy []contract.AuditEntry `json:"drifted_by,omitempty" doc:"Changes by operators since the last apply, newest first; none: the drift comes from the Web UI or another tool"`
}

// Applied is the result of an apply.
type Applied struct {
	jobtypes.ApplyResult
	// Deletions that were left out because prune was not set.
	Kept []jobtypes.Change `json:"kept,omitempty" doc:"Job types that the configuration lacks, and that prune would delete"`
}

// Detecting lists the started dry runs.
type Detecting struct {
	Runs []DryRun `json:"runs"`
}

// DryRun is the dry run of one job type.
type DryRun struct {
	JobType string `json:"job_type"`
	starter.RunRef
}

// PlanInput is a request to plan a configuration.
type PlanInput struct {
	ConfigurationInput
	Only []string `query:"only,explode" maxItems:"1000" doc:"Only these job types"`
}

type applyInput struct {
	PlanInput
	Prune bool   `query:"prune" doc:"Delete the job types that the configuration lacks"`
	Match string `header:"If-Match" maxLength:"200" doc:"The hash of the plan; required"`
}

type detectInput struct {
	PlanInput
	DryRunName string `query:"name" maxLength:"40" pattern:"^[A-Za-z0-9._-]*$" doc:"Distinguishes dry runs of a job type; default: the time"`
}

func (s *service) plans() {
	api.Add(s.api, api.Operation{
		ID: "plan-configuration", Method: http.MethodPost, Path: "/plan", Tag: tag, Summary: "Plan a configuration: the changes of an apply, and changes by hand",
		Description: "The answer's hash, which is its ETag too, names the plan: apply takes it as If-Match. It covers the changes, not the notes.",
		May:         viewConfiguration, Reach: api.Some, Safe: true, Document: true,
	}, s.plan)
	api.Add(s.api, api.Operation{
		ID: "apply-configuration", Method: http.MethodPost, Path: "/apply", Tag: tag, Summary: "Apply a configuration to the Schedules, exactly as planned",
		Description: "If-Match is the hash of a plan with the same document and the same only. 412: the plan would be another one now; 428: there is no If-Match. " +
			"Every change needs the permission for its job type. Deletions are made with prune alone.",
		May: changeConfiguration, Reach: api.Some, Document: true,
	}, s.apply)
	api.Add(s.api, api.Operation{
		ID: "detect-configuration", Method: http.MethodPost, Path: "/plan/detect", Tag: tag, Summary: "Start dry runs of the job types that a configuration changes: they detect and execute nothing",
		Description: "Without only, all that are created or updated, at most 20. GET /runs/{run} has the proposals when a run has ended. It needs the permission to apply, because it runs the document.",
		May:         changeConfiguration, Reach: api.Some, Document: true, Status: http.StatusAccepted,
	}, s.detect)
}

type planned struct {
	plan     jobtypes.Plan
	specs    []contract.JobTypeSpec
	enabled  map[string]bool
	warnings config.Faults
	owner    string
}

// make refuses a configured job type that the caller may not view, and leaves out its deletion.
func (s *service) make(ctx context.Context, call *api.Call, in *PlanInput) (planned, error) {
	loaded, err := s.load(ctx, call, &in.ConfigurationInput)
	if err != nil {
		return planned{}, err
	}
	p := planned{enabled: loaded.Enabled(), warnings: loaded.Warnings, owner: loaded.Owner}
	if p.specs, err = loaded.Specs(); err != nil {
		return p, err
	}
	for _, spec := range p.specs {
		if scope := (access.Scope{JobType: spec.Name}); !call.Rights.Allows(viewConfiguration, scope) {
			return p, call.Need(scope)
		}
	}
	if p.plan, err = jobtypes.Of(call.Client).PlanAs(ctx, loaded.Owner, p.specs, p.enabled); err != nil {
		return p, err
	}
	p.plan.Changes = slices.DeleteFunc(p.plan.Changes, func(c jobtypes.Change) bool {
		return !call.Rights.Allows(viewConfiguration, access.Scope{JobType: c.JobType})
	})
	if len(in.Only) > 0 {
		if p.plan, err = p.plan.Only(in.Only...); err != nil {
			return p, problem.New(http.StatusUnprocessableEntity, "", err.Error())
		}
	}
	return p, nil
}

func (p planned) need(ctx context.Context, call *api.Call, name string) error {
	scope := access.Scope{JobType: name}
	if at := slices.IndexFunc(p.specs, func(spec contract.JobTypeSpec) bool { return spec.Name == name }); at >= 0 {
		err := call.NeedHandlers(scope, func() ([]string, error) { return handled.OfSpec(ctx, call.Client, p.specs[at], p.specs) })
		if err != nil {
			return err
		}
	}
	return call.NeedHandlers(scope, func() ([]string, error) { return handled.OfAppliedOr(ctx, call.Client, name, p.specs) })
}

// Notes are omitted: they change when a run starts.
func (p planned) hash() (string, error) {
	type change struct {
		JobType string
		Action  jobtypes.ChangeAction
		Fields  []contract.FieldChange
	}
	named := struct {
		Owner   string
		Specs   []contract.JobTypeSpec
		Enabled map[string]bool
		Changes []change
	}{Owner: p.owner, Specs: p.specs, Enabled: p.enabled}
	for _, c := range p.plan.Changes {
		named.Changes = append(named.Changes, change{c.JobType, c.Action, c.Fields})
	}
	text, err := json.Marshal(named)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:16]), nil
}

func (s *service) plan(ctx context.Context, call *api.Call, in *PlanInput) (Planned, error) {
	made, err := s.make(ctx, call, in)
	if err != nil {
		return Planned{}, err
	}
	answer := Planned{
		Namespace: call.Client.Namespace(), Owner: made.owner, Empty: made.plan.Empty(), Warnings: lists.OrEmpty(made.warnings), AsOf: time.Now().UTC(),
		Changes: make([]PlannedChange, len(made.plan.Changes)),
	}
	if answer.Hash, err = made.hash(); err != nil {
		return answer, err
	}
	call.SetHeader("ETag", `"`+answer.Hash+`"`)
	set := s.setSince(ctx, call, made.plan.Changes)
	for i, change := range made.plan.Changes {
		answer.Changes[i] = PlannedChange{Change: change}
		if len(change.Fields) > 0 {
			answer.Changes[i].DriftedBy = set[change.JobType]
		}
	}
	return answer, nil
}

// mostSets bounds the audit entries read for operators' changes.
const mostSets = 1000

func (*service) setSince(ctx context.Context, call *api.Call, changes []jobtypes.Change) map[string][]contract.AuditEntry {
	if !slices.ContainsFunc(changes, func(c jobtypes.Change) bool { return len(c.Fields) > 0 }) {
		return nil
	}
	found, err := call.Client.Audit().Read(ctx, contract.AuditFilter{Kind: contract.AuditOperator, Limit: mostSets})
	if err != nil {
		call.Logf("who changed job types is not known: %v", err)
		return nil
	}
	set, applied := map[string][]contract.AuditEntry{}, map[string]bool{}
	for _, entry := range slices.Backward(found.Entries) {
		switch {
		case strings.HasPrefix(entry.Action, "apply."):
			applied[entry.JobType] = true
		case entry.Action == "jobtype.set" && !applied[entry.JobType]:
			set[entry.JobType] = append(set[entry.JobType], entry)
		}
	}
	return set
}

func (s *service) apply(ctx context.Context, call *api.Call, in *applyInput) (Applied, error) {
	wanted := strings.Trim(strings.TrimPrefix(strings.TrimSpace(in.Match), "W/"), `"`)
	if wanted == "" {
		return Applied{}, problem.New(http.StatusPreconditionRequired, "PLAN_REQUIRED", "there is no If-Match").With("POST /plan, and send its hash as If-Match")
	}
	made, err := s.make(ctx, call, &in.PlanInput)
	if err != nil {
		return Applied{}, err
	}
	for _, change := range made.plan.Pending() {
		if change.Action != jobtypes.ActionDelete || in.Prune {
			if err := made.need(ctx, call, change.JobType); err != nil {
				return Applied{}, err
			}
		}
	}
	now, err := made.hash()
	if err != nil {
		return Applied{}, err
	}
	if wanted != now {
		return Applied{}, problem.New(http.StatusPreconditionFailed, problem.CodeChanged, "the plan would be another one now").With("plan again, then decide")
	}
	var kept []jobtypes.Change
	plan := made.plan
	if !in.Prune {
		kept, plan = plan.Deletions(), plan.Keep()
	}
	result, err := jobtypes.Of(call.Client).Apply(ctx, plan)
	return Applied{result, kept}, err
}

// mostDryRuns bounds the dry runs of one request.
const mostDryRuns = 20

func (s *service) detect(ctx context.Context, call *api.Call, in *detectInput) (Detecting, error) {
	made, err := s.make(ctx, call, &in.PlanInput)
	if err != nil {
		return Detecting{}, err
	}
	var wanted []contract.JobTypeSpec
	for _, change := range made.plan.Changes {
		changes := change.Action == jobtypes.ActionCreate || change.Action == jobtypes.ActionUpdate
		at := slices.IndexFunc(made.specs, func(spec contract.JobTypeSpec) bool { return spec.Name == change.JobType })
		if at < 0 || !changes && len(in.Only) == 0 {
			continue
		}
		if err := made.need(ctx, call, change.JobType); err != nil {
			return Detecting{}, err
		}
		wanted = append(wanted, made.specs[at])
	}
	if len(wanted) > mostDryRuns {
		return Detecting{}, problem.Newf(http.StatusUnprocessableEntity, "", "%d job types change; at most %d dry runs are started at once", len(wanted), mostDryRuns).With("name some with only")
	}
	started := Detecting{Runs: []DryRun{}}
	unique := cmp.Or(in.DryRunName, call.Request, time.Now().UTC().Format("20060102t150405.000"))
	for _, spec := range wanted {
		ref, err := call.Client.Runs().StartDryRun(ctx, spec, unique)
		if err != nil {
			return started, err
		}
		started.Runs = append(started.Runs, DryRun{spec.Name, ref})
	}
	return started, nil
}
