package jobtypes

import (
	"cmp"
	"context"
	"strings"

	"github.com/roundsman/roundsman/contract"
)

// recordSchedule records what was done to a job type's Schedule.
func (c Client) recordSchedule(ctx context.Context, name string, entry contract.AuditEntry) {
	entry.JobType = name
	entry.Object = cmp.Or(entry.Object, contract.ScheduleID(name))
	c.client.Audit().Record(ctx, entry)
}

// recordChanges records what apply did.
func (c Client) recordChanges(ctx context.Context, changes []Change) {
	var entries []contract.AuditEntry
	for _, change := range changes {
		entry := contract.AuditEntry{
			Action: "apply." + string(change.Action), JobType: change.JobType, Object: contract.ScheduleID(change.JobType), Detail: change.Note,
		}
		var drifted []string
		for _, field := range change.Fields {
			if field.Drift {
				drifted = append(drifted, field.Path)
			}
		}
		entry.Before, entry.After = beforeAndAfter(change.Fields)
		if len(drifted) > 0 {
			entry.Detail = strings.TrimPrefix(entry.Detail+"; changed by hand before: "+strings.Join(drifted, ", "), "; ")
		}
		entries = append(entries, entry)
	}
	c.client.Audit().Record(ctx, entries...)
}

// beforeAndAfter are two texts about changed settings, for the audit log.
func beforeAndAfter(fields []contract.FieldChange) (before, after string) {
	var was, is []string
	for _, field := range fields {
		b, a := field.Sides()
		was, is = append(was, b), append(is, a)
	}
	return strings.Join(was, "; "), strings.Join(is, "; ")
}
