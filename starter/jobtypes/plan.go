package jobtypes

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	schedulepb "go.temporal.io/api/schedule/v1"
	"golang.org/x/sync/errgroup"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/ref"
	"github.com/roundsman/roundsman/starter"
)

// ChangeAction is the action of `apply` on one job type.
type ChangeAction string

const (
	// ActionCreate means: there is no Schedule yet.
	ActionCreate ChangeAction = "create"
	// ActionUpdate means: the configuration has changed since the last apply.
	ActionUpdate ChangeAction = "update"
	// ActionDrift means: the Schedule was edited by hand. Apply restores it.
	ActionDrift ChangeAction = "drift"
	// ActionDelete means: Roundsman created the Schedule, and the configuration lacks the job type.
	ActionDelete ChangeAction = "delete"
	// ActionConflict means: Roundsman did not create the Schedule. Apply refuses to change it.
	ActionConflict ChangeAction = "conflict"
	// ActionUnchanged means: the Schedule is as configured.
	ActionUnchanged ChangeAction = "unchanged"
)

// Change is a planned or completed change of one job type.
type Change struct {
	JobType string                 `json:"job_type"`
	Action  ChangeAction           `json:"action"`
	Fields  []contract.FieldChange `json:"fields,omitempty"`
	// Note has other facts for the operator, such as the author of a pause.
	Note string `json:"note,omitempty"`

	// former is the state before the change for the audit log; formerFault is why it is missing.
	former      []byte
	formerFault string
}

// String renders the change and its fields, one per line.
func (c Change) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s", c.Action, c.JobType)
	if c.Note != "" {
		fmt.Fprintf(&text, " (%s)", c.Note)
	}
	for _, field := range c.Fields {
		text.WriteString("\n    " + field.String())
	}
	return text.String()
}

// Plan is the difference between a configuration and a namespace.
type Plan struct {
	// Changes of all job types of the configuration, unchanged ones too, sorted by name.
	Changes []Change `json:"changes"`

	owner  string
	wanted map[string]wantedType
}

type wantedType struct {
	spec      contract.JobTypeSpec
	enabled   bool
	pauseNote string
}

func (w wantedType) runsNow() bool {
	return w.enabled && w.pauseNote == "" && w.spec.Schedule.FirstRun == contract.FirstRunNow
}

// Deletions returns the deletions of job types that the configuration lacks.
func (p Plan) Deletions() []Change {
	return slices.DeleteFunc(slices.Clone(p.Changes), func(c Change) bool { return c.Action != ActionDelete })
}

// Keep returns the plan without its deletions.
func (p Plan) Keep() Plan {
	p.Changes = slices.DeleteFunc(slices.Clone(p.Changes), func(c Change) bool { return c.Action == ActionDelete })
	return p
}

// Only returns the plan for some job types. An unknown name is an error.
func (p Plan) Only(names ...string) (Plan, error) {
	for _, name := range names {
		if !slices.ContainsFunc(p.Changes, func(c Change) bool { return c.JobType == name }) {
			return p, starter.Invalidf("the configuration has no job type %s, and has not applied one before: see `roundsman jobtypes`", name)
		}
	}
	p.Changes = slices.DeleteFunc(slices.Clone(p.Changes), func(c Change) bool { return !slices.Contains(names, c.JobType) })
	return p, nil
}

// Empty reports whether the plan has no changes.
func (p Plan) Empty() bool { return len(p.Pending()) == 0 }

// Pending returns the changes that are not [ActionUnchanged].
func (p Plan) Pending() []Change {
	var pending []Change
	for _, change := range p.Changes {
		if change.Action != ActionUnchanged {
			pending = append(pending, change)
		}
	}
	return pending
}

// String renders the pending changes.
func (p Plan) String() string {
	pending := p.Pending()
	if len(pending) == 0 {
		return fmt.Sprintf("no changes: %d job types are as configured", len(p.Changes))
	}
	var lines []string
	pools := map[string][]string{}
	for _, change := range pending {
		if key, only := change.onlyPools(); only {
			pools[key] = append(pools[key], change.JobType)
		}
	}
	for _, change := range pending {
		key, _ := change.onlyPools()
		switch names := pools[key]; {
		case change.Action == ActionDelete:
			lines = append(lines, "would "+change.String()+"; only with `roundsman apply --prune`, or after its question")
		case len(names) < 2:
			lines = append(lines, change.String())
		case names[0] == change.JobType:
			lines = append(lines, fmt.Sprintf("update the pools of %d job types: %s%s", len(names), strings.Join(names, ", "), key))
		}
	}
	return strings.Join(lines, "\n")
}

// poolsPath begins the paths of declared pool sizes. Every job type carries all of them.
const poolsPath = "resources."

func (c Change) onlyPools() (fields string, only bool) {
	if c.Action != ActionUpdate || c.Note != "" || len(c.Fields) == 0 {
		return "", false
	}
	for _, field := range c.Fields {
		if !strings.HasPrefix(field.Path, poolsPath) || field.Drift {
			return "", false
		}
		fields += "\n    " + field.String()
	}
	return fields, true
}

// planParallel hides the round trips within the limits of any namespace.
const planParallel = 8

// Plan compares specs with the namespace and changes nothing. enabled has the value false for job types that must be
// paused. Job types to delete come from a list that may be some seconds old; the next plan finds a missing one.
func (c Client) Plan(ctx context.Context, specs []contract.JobTypeSpec, enabled map[string]bool) (Plan, error) {
	return c.PlanAs(ctx, "", specs, enabled)
}

// PlanAs is Plan for an owner: it deletes only the owner's job types. Those of another owner are conflicts.
func (c Client) PlanAs(ctx context.Context, owner string, specs []contract.JobTypeSpec, enabled map[string]bool) (Plan, error) {
	s := c.patiently()
	plan := Plan{owner: owner, wanted: map[string]wantedType{}}
	for _, spec := range specs {
		if _, twice := plan.wanted[spec.Name]; twice {
			return Plan{}, fmt.Errorf("job type %s is given twice", spec.Name)
		}
		if err := ref.ValidateJobType(spec.Name); err != nil {
			return Plan{}, &starter.InvalidError{Err: fmt.Errorf("job type: %w", err)}
		}
		if hidden := spec.HiddenPaths(); len(hidden) > 0 {
			return Plan{}, starter.Invalidf("job type %s: %s is %s, which stands for a secret: write the value itself", spec.Name, hidden[0], contract.Hidden)
		}
		on, named := enabled[spec.Name]
		plan.wanted[spec.Name] = wantedType{spec: completed(spec), enabled: on || !named}
	}
	plan.Changes = make([]Change, len(specs))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(planParallel)
	for i, spec := range specs {
		group.Go(func() error {
			assessed, err := s.assess(groupCtx, spec.Name, plan.wanted[spec.Name])
			plan.Changes[i] = assessed.change
			return err
		})
	}
	var orphans []Change
	group.Go(func() (err error) {
		orphans, err = s.orphans(groupCtx, owner, plan.wanted)
		return err
	})
	if err := group.Wait(); err != nil {
		return Plan{}, fmt.Errorf("plan: %w", err)
	}
	plan.Changes = append(plan.Changes, orphans...)
	slices.SortFunc(plan.Changes, func(a, b Change) int { return cmp.Compare(a.JobType, b.JobType) })
	return plan, nil
}

func (s schedules) orphans(ctx context.Context, owner string, wanted map[string]wantedType) ([]Change, error) {
	entries, err := s.entries(ctx)
	if err != nil {
		return nil, err
	}
	var orphans []Change
	for _, entry := range entries {
		name, _ := contract.JobTypeOfSchedule(entry.GetScheduleId())
		if _, known := wanted[name]; known {
			continue
		}
		if read, complete := s.listed(entry); complete && read.Spec.Owner != owner {
			continue
		}
		current, found, err := s.read(ctx, name)
		if err != nil {
			return nil, err
		}
		if found && s.mayDelete(current, owner) {
			orphans = append(orphans, Change{JobType: name, Action: ActionDelete, Note: runningNote(current.info)})
		}
	}
	return orphans, nil
}

// DevOwner owns the job types created by `roundsman dev`. Other configurations may take them over.
const DevOwner = "dev"

// ownerOf returns the owner of an unreadable spec from the memo, which has the spec of the creation.
func (s schedules) ownerOf(current held) (owner string, readable bool) {
	if spec, err := s.storedSpec(current.schedule); err == nil {
		return spec.Owner, true
	}
	var created contract.JobTypeSpec
	if payload := current.memo.GetFields()[specKey]; payload == nil || s.converter.FromPayload(payload, &created) != nil {
		return "", false
	}
	return created.Owner, false
}

// An unreadable spec is never deleted: the owner may have changed since the creation.
func (s schedules) mayDelete(current held, owner string) bool {
	spec, err := s.storedSpec(current.schedule)
	return err == nil && spec.Owner == owner && s.owned(current.memo)
}

func runningNote(info *schedulepb.ScheduleInfo) string {
	if running := info.GetRunningWorkflows(); len(running) > 0 {
		return "its running group " + running[0].GetWorkflowId() + " continues"
	}
	return ""
}

type assessment struct {
	change  Change
	current held
	state   *schedulepb.ScheduleState
}

func (s schedules) assess(ctx context.Context, name string, wanted wantedType) (assessment, error) {
	current, found, err := s.read(ctx, name)
	if err != nil {
		return assessment{}, err
	}
	if !found {
		change := Change{JobType: name, Action: ActionCreate, Fields: handlerDefaults(wanted.spec)}
		switch {
		case !wanted.enabled:
			change.Note = "paused: " + disabledNote
		case wanted.runsNow():
			change.Note = "its first run starts now"
		}
		before := &schedulepb.ScheduleState{Paused: wanted.pauseNote != "", Notes: wanted.pauseNote}
		return assessment{change: change, state: pauseState(before, wanted.enabled)}, nil
	}
	if !s.owned(current.memo) {
		return assessment{change: Change{
			JobType: name, Action: ActionConflict,
			Note: fmt.Sprintf("the Schedule %s was not made by Roundsman: delete it or rename the job type", contract.ScheduleID(name)),
		}}, nil
	}
	if other, readable := s.ownerOf(current); other != "" && other != DevOwner && wanted.spec.Owner != "" && other != wanted.spec.Owner {
		note := fmt.Sprintf("it belongs to the configuration of owner %s: rename the job type, or delete it there", other)
		if !readable {
			note = fmt.Sprintf("owner %s created it, and its stored settings cannot be read: apply it there; if its owner has changed since, leave out owner for one `roundsman apply %s`", other, name)
		}
		return assessment{change: Change{JobType: name, Action: ActionConflict, Note: note}}, nil
	}
	fields, err := s.difference(current, wanted.spec)
	if err != nil {
		return assessment{}, err
	}
	return assessed(current, fields, name, wanted.enabled), nil
}

func assessed(current held, fields []contract.FieldChange, name string, enabled bool) assessment {
	before := current.schedule.GetState()
	after := pauseState(before, enabled)
	if before.GetPaused() != after.GetPaused() {
		fields = append(fields, contract.FieldChange{
			Path: "enabled", Before: fmt.Sprint(!before.GetPaused()), After: fmt.Sprint(!after.GetPaused()),
		})
	}
	change := Change{JobType: name, Action: actionOf(fields), Fields: fields}
	if after.GetPaused() && after.GetNotes() != disabledNote {
		change.Note = pausedNote + after.GetNotes()
	}
	return assessment{change: change, current: current, state: after}
}

func actionOf(fields []contract.FieldChange) ChangeAction {
	switch {
	case len(fields) == 0:
		return ActionUnchanged
	case slices.ContainsFunc(fields, func(f contract.FieldChange) bool { return !f.Drift }):
		return ActionUpdate
	}
	return ActionDrift
}

// pauseState: a disabled job type is paused. An enabled one is resumed only if the configuration had paused it: a
// person's pause stays.
func pauseState(before *schedulepb.ScheduleState, enabled bool) *schedulepb.ScheduleState {
	after := &schedulepb.ScheduleState{Paused: before.GetPaused(), Notes: before.GetNotes()}
	switch {
	case !enabled && !before.GetPaused():
		after.Paused, after.Notes = true, disabledNote
	case enabled && before.GetPaused() && before.GetNotes() == disabledNote:
		after.Paused, after.Notes = false, ""
	}
	return after
}
