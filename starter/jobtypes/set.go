package jobtypes

import (
	"context"
	"fmt"
	"slices"

	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/lib/override"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
)

// Set changes the policy or the params of an applied job type until the next apply, which restores
// the configured values. A running group keeps its policy. Set returns the changed settings: none
// if they were set already. Concurrent changes of other settings are kept.
func (c Client) Set(ctx context.Context, name string, change override.Change) ([]contract.FieldChange, error) {
	return c.Edit(ctx, name, func(spec contract.JobTypeSpec) (contract.JobTypeSpec, error) {
		after, err := change.OverSpec(spec)
		if err == nil && change.HasParams() {
			err = c.checkParams(ctx, after)
		}
		if err != nil {
			return spec, &starter.InvalidError{Err: err}
		}
		return after, nil
	})
}

// Edit replaces the settings of an applied job type by those that edit returns, until the next apply. It calls
// edit again if the settings change meanwhile, and until edit changes nothing.
func (c Client) Edit(ctx context.Context, name string, edit func(contract.JobTypeSpec) (contract.JobTypeSpec, error)) ([]contract.FieldChange, error) {
	s := c.schedules()
	var fields []contract.FieldChange
	entry := contract.AuditEntry{Action: "jobtype.set"}
	for range convergeAttempts {
		current, spec, err := s.stored(ctx, name)
		if err != nil {
			return nil, err
		}
		after, err := edit(spec)
		if err != nil {
			return nil, err
		}
		after = completed(after)
		changed := specChanges(spec, after)
		if len(changed) == 0 { // Also true at the read after the last write.
			if len(fields) > 0 {
				entry.Before, entry.After = beforeAndAfter(fields)
				c.recordSchedule(ctx, name, entry)
			}
			return fields, nil
		}
		fields = changed
		entry.Former, entry.Detail = s.formerOf(current.schedule)
		if err := s.replace(ctx, name, current, after); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("the Schedule of job type %s kept changing while it was written: see `roundsman show %s` and try again", name, name)
}

// Spec returns the settings of an applied job type.
func (c Client) Spec(ctx context.Context, name string) (contract.JobTypeSpec, error) {
	_, spec, err := c.schedules().stored(ctx, name)
	return spec, err
}

// Changes lists the settings that differ between two specs of a job type.
func Changes(before, after contract.JobTypeSpec) []contract.FieldChange {
	return specChanges(before, completed(after))
}

func (s schedules) stored(ctx context.Context, name string) (held, contract.JobTypeSpec, error) {
	current, err := s.readOwned(ctx, name)
	if err != nil {
		return current, contract.JobTypeSpec{}, err
	}
	spec, err := s.storedSpec(current.schedule)
	if err != nil {
		err = fmt.Errorf("job type %s: %w: run apply to repair it", name, err)
	}
	return current, spec, err
}

// checkParams validates params by the schema that online workers registered for the handler.
func (c Client) checkParams(ctx context.Context, spec contract.JobTypeSpec) error {
	known, err := c.client.Workers().Handlers(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(known, func(d jobtype.Descriptor) bool { return d.Name == spec.Handler })
	if i < 0 {
		return fmt.Errorf("no worker with handler %s is online to check params: see roundsman workers", spec.Handler)
	}
	check, err := config.NewParamsCheck(known[i])
	if err != nil {
		return err
	}
	return check.Check(spec.Params)
}

// replace writes another spec. It keeps the hash of the configuration, so that plan distinguishes
// the edit from a changed configuration.
func (s schedules) replace(ctx context.Context, name string, current held, spec contract.JobTypeSpec) error {
	schedule, err := s.build(spec)
	if err != nil {
		return err
	}
	schedule.State = current.schedule.GetState()
	return s.update(ctx, name, schedule, current.token)
}
