package jobtypes

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
)

func (c Client) recordSchedule(ctx context.Context, name string, entry contract.AuditEntry) {
	entry.JobType = name
	entry.Object = cmp.Or(entry.Object, contract.ScheduleID(name))
	c.client.Audit().Record(ctx, entry)
}

// writtenBefore is the audit log's text for a change that a repeated request finds written.
const writtenBefore = "an earlier attempt of the request has written it; the settings before are not known"

// recordRepeated records a change that an earlier attempt of the request has written. That attempt may have been killed
// before it recorded the change; the audit log keeps one entry of a request.
func (c Client) recordRepeated(ctx context.Context, name, action string) {
	request, repeatable := starter.RequestOf(ctx)
	if !repeatable || request.Version == "" {
		return
	}
	if version, err := c.SettingsVersion(ctx, name); err != nil || version == request.Version {
		return // Nothing is written. Without an answer the next attempt records it.
	}
	c.recordSchedule(ctx, name, contract.AuditEntry{Action: action, Detail: writtenBefore})
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
