package starter

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/setting"
)

// Set changes settings of an open run at once, for this run only. A refusal is the
// error; nothing was changed then. Setting what is set already changes nothing. A run
// of a DAG has one of the settings: concurrency.
func (r Runs) Set(ctx context.Context, ref RunRef, change setting.Change) ([]FieldChange, error) {
	if ref.Kind() == KindDAG {
		return r.setDAG(ctx, ref, change)
	}
	if change[setting.Every] != nil {
		return nil, fmt.Errorf("every is a setting of the job type: `roundsman jobtypes set %s every=…`", JobTypeOfRun(ref.WorkflowID))
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

func (r Runs) setDAG(ctx context.Context, ref RunRef, change setting.Change) ([]FieldChange, error) {
	var n int
	if len(change) != 1 || change[setting.Concurrency] == nil || json.Unmarshal(change[setting.Concurrency], &n) != nil {
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
func (j JobTypes) Set(ctx context.Context, name string, change setting.Change) ([]FieldChange, error) {
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
		after, err := change.OverSpec(spec)
		if err != nil {
			return nil, err
		}
		changed := specChanges(spec, after)
		if len(changed) == 0 { // Also the look after the last write, which may have been dropped.
			j.recordSet(ctx, name, fields)
			return fields, nil
		}
		fields = changed
		if err := s.replace(ctx, name, current, after); err != nil {
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
