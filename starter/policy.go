package starter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/nearest"
	"github.com/roundsman/roundsman/jobtype"
)

// PolicyChange has the settings of a policy that change, in JSON under their
// names in the configuration.
type PolicyChange map[string]json.RawMessage

// PolicySettings are the names of all settings of a policy, in the order of
// [jobtype.Policy].
func PolicySettings() []string {
	policy := reflect.TypeFor[jobtype.Policy]()
	names := make([]string, policy.NumField())
	for i := range names {
		names[i], _, _ = strings.Cut(policy.Field(i).Tag.Get("json"), ",")
	}
	return names
}

// ParsePolicyChange reads settings like global_execution_concurrency=8 or
// max_runtime=2h. All faults are in the error. Whether a value is in range is
// judged where it is set, together with the settings that stay.
func ParsePolicyChange(settings []string) (PolicyChange, error) {
	change, faults := PolicyChange{}, []error(nil)
	for _, setting := range settings {
		name, value, found := strings.Cut(setting, "=")
		if name == "concurrency" {
			name = concurrency
		}
		var encoded json.RawMessage
		var err error
		switch {
		case !found:
			err = fmt.Errorf("%q: write it as SETTING=VALUE", setting)
		case change[name] != nil:
			err = fmt.Errorf("%s is given twice", name)
		default:
			encoded, err = policyValue(name, value)
		}
		if err != nil {
			faults = append(faults, err)
			continue
		}
		change[name] = encoded
	}
	return change, errors.Join(faults...)
}

func policyValue(name, value string) (json.RawMessage, error) {
	policy := reflect.TypeFor[jobtype.Policy]()
	for i, known := range PolicySettings() {
		if known != name {
			continue
		}
		switch reflect.Zero(policy.Field(i).Type).Interface().(type) {
		case jobtype.Duration:
			if _, err := jobtype.ParseDuration(value); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		case int:
			n, err := strconv.Atoi(value)
			if err != nil {
				return nil, fmt.Errorf("%s: %q is not a number", name, value)
			}
			return json.Marshal(n)
		case bool:
			on, err := strconv.ParseBool(value)
			if err != nil {
				return nil, fmt.Errorf("%s: %q: write true or false", name, value)
			}
			return json.Marshal(on)
		}
		return json.Marshal(value)
	}
	if meant := nearest.Word(name, PolicySettings()); meant != "" {
		return nil, fmt.Errorf("%s is no setting of a policy: did you mean %s?", name, meant)
	}
	return nil, fmt.Errorf("%s is no setting of a policy: use one of %s", name, strings.Join(PolicySettings(), ", "))
}

// over returns the changed policy, or why it cannot be.
func (change PolicyChange) over(policy jobtype.Policy) (jobtype.Policy, error) {
	encoded, err := json.Marshal(change)
	if err != nil {
		return policy, fmt.Errorf("encode the settings: %w", err)
	}
	changed, err := contract.SetPolicyInput{Change: encoded}.Over(policy)
	if err != nil {
		return policy, err
	}
	return changed, changed.Validate()
}

// concurrency is the one setting that both kinds of runs have.
const concurrency = "global_execution_concurrency"

// Set changes settings of an open run at once, for this run only. A refusal is the
// error; nothing was changed then. Setting what is set already changes nothing. A run
// of a DAG has one of the settings: concurrency.
func (r Runs) Set(ctx context.Context, ref RunRef, change PolicyChange) ([]FieldChange, error) {
	if ref.Kind() == KindDAG {
		return r.setDAG(ctx, ref, change)
	}
	described, err := r.describe(ctx, ref)
	if err != nil {
		return nil, err
	}
	if !described.Open() {
		return nil, fmt.Errorf("run %s has %w (%s): change the job type with `roundsman jobtypes set`", ref.WorkflowID, ErrAlreadyEnded, described.endedAs())
	}
	encoded, err := json.Marshal(change)
	if err != nil {
		return nil, fmt.Errorf("encode the settings: %w", err)
	}
	var result contract.SetPolicyResult
	// Without the run id, so that the message follows a continue-as-new.
	err = r.client.update(ctx, RunRef{WorkflowID: ref.WorkflowID}, contract.UpdateSetPolicy, &result, contract.SetPolicyInput{Change: encoded, By: r.client.operator.actor})
	if err != nil {
		return nil, err
	}
	return compare(flatPolicy(result.Before), flatPolicy(result.After)), nil
}

func (r Runs) setDAG(ctx context.Context, ref RunRef, change PolicyChange) ([]FieldChange, error) {
	var n int
	if len(change) != 1 || change[concurrency] == nil || json.Unmarshal(change[concurrency], &n) != nil {
		return nil, fmt.Errorf("run %s is that of a DAG: concurrency=N is the one setting that it can change", ref.WorkflowID)
	}
	before, err := r.client.DAGs().Show(ctx, ref)
	if err != nil {
		return nil, err
	}
	if _, err := r.client.DAGs().SetConcurrency(ctx, ref, n); err != nil {
		return nil, err
	}
	was := ""
	if before.State != nil {
		was = strconv.Itoa(before.State.Concurrency)
	}
	if was == strconv.Itoa(n) {
		return nil, nil
	}
	return []FieldChange{{Path: "concurrency", Before: was, After: strconv.Itoa(n)}}, nil
}

// Set changes settings of an applied job type's policy until the next
// apply, which puts back what the configuration says; a running group keeps its
// policy. It returns what has changed: nothing, if it was so already. What others
// change at the same time stays.
func (j JobTypes) Set(ctx context.Context, name string, change PolicyChange) ([]FieldChange, error) {
	s := j.schedules()
	var fields []FieldChange
	for range convergeAttempts {
		current, err := s.readOwned(ctx, name)
		if err != nil {
			return nil, err
		}
		spec, err := s.storedSpec(current.schedule)
		if err != nil {
			return nil, fmt.Errorf("job type %s: %w: run apply to repair it", name, err)
		}
		before := spec.Policy
		if spec.Policy, err = change.over(before); err != nil {
			return nil, err
		}
		if spec.Policy == before { // Also the look after the last write, which may have been dropped.
			j.recordSet(ctx, name, fields)
			return fields, nil
		}
		fields = compare(flatPolicy(before), flatPolicy(spec.Policy))
		if err := s.replace(ctx, name, current, spec); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("the Schedule of job type %s kept changing while it was written: see `roundsman jobtypes show %s` and try again", name, name)
}

// replace writes another spec over the state that was read. The hash stays that of
// the configuration: plan then tells this from a changed configuration.
func (s schedules) replace(ctx context.Context, name string, current held, spec contract.JobTypeSpec) error {
	schedule, err := s.build(spec)
	if err != nil {
		return err
	}
	schedule.State = current.schedule.GetState()
	return s.update(ctx, name, schedule, current.token)
}

func (j JobTypes) recordSet(ctx context.Context, name string, fields []FieldChange) {
	if len(fields) == 0 {
		return
	}
	entry := contract.AuditEntry{Action: "jobtype.set"}
	entry.Before, entry.After = beforeAndAfter(fields)
	j.recordSchedule(ctx, name, entry)
}
