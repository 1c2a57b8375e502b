package jobtypes

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/roundsman/roundsman/contract"
)

func (c Client) recordSchedule(ctx context.Context, name string, entry contract.AuditEntry) {
	entry.JobType = name
	entry.Object = cmp.Or(entry.Object, contract.ScheduleID(name))
	c.client.Audit().Record(ctx, entry)
}

// recorder records each change that it gets at once: a killed apply leaves few changes without an entry, and no other
// apply finds them. Changes made during a record go into the next one. recorded is closed after the last one.
func (c Client) recorder(ctx context.Context, most int) (made chan Change, recorded chan struct{}) {
	made, recorded = make(chan Change, most), make(chan struct{})
	go func() {
		for change := range made {
			entries := []contract.AuditEntry{entryOf(change)}
			for len(made) > 0 {
				entries = append(entries, entryOf(<-made))
			}
			c.client.Audit().Record(ctx, entries...)
		}
		close(recorded)
	}()
	return made, recorded
}

func entryOf(change Change) contract.AuditEntry {
	entry := contract.AuditEntry{
		Action: "apply." + string(change.Action), JobType: change.JobType, Object: contract.ScheduleID(change.JobType), Former: change.former,
	}
	var drifted []string
	for _, field := range change.Fields {
		if field.Drift {
			drifted = append(drifted, field.Path)
		}
	}
	entry.Before, entry.After = beforeAndAfter(change.Fields)
	detail := []string{change.Note, change.formerFault}
	if len(drifted) > 0 {
		detail = append(detail, "changed by hand before: "+strings.Join(drifted, ", "))
	}
	entry.Detail = strings.Join(slices.DeleteFunc(detail, func(text string) bool { return text == "" }), "; ")
	return entry
}

func beforeAndAfter(fields []contract.FieldChange) (before, after string) {
	var was, is []string
	for _, field := range fields {
		b, a := field.Sides()
		was, is = append(was, b), append(is, a)
	}
	return strings.Join(was, "; "), strings.Join(is, "; ")
}
