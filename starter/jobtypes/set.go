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
	s := c.schedules()
	var fields []contract.FieldChange
	entry := contract.AuditEntry{Action: "jobtype.set"}
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
		if err == nil && change.HasParams() {
			err = c.checkParams(ctx, after)
		}
		if err != nil {
			return nil, &starter.InvalidError{Err: err}
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
