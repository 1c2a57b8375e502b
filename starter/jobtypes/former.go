package jobtypes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	schedulepb "go.temporal.io/api/schedule/v1"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/lib/pack"
	"github.com/roundsman/roundsman/starter"
)

// former is the state of a job type before a change, without secrets, as kept in the audit entry.
type former struct {
	Spec   contract.JobTypeSpec `json:"spec"`
	Paused bool                 `json:"paused,omitempty"`
	Note   string               `json:"note,omitempty"`
}

// maxFormerRead guards against a corrupt entry.
const maxFormerRead = 16 << 20

// fault is the reason why the audit entry cannot keep the state.
func (s schedules) formerOf(schedule *schedulepb.Schedule) (packed []byte, fault string) {
	spec, err := s.storedSpec(schedule)
	if err != nil {
		return nil, "its former settings cannot be read, and are not kept"
	}
	state := schedule.GetState()
	packed, err = pack.JSON(former{Spec: spec.WithoutSecrets(), Paused: state.GetPaused(), Note: state.GetNotes()})
	switch {
	case err != nil:
		return nil, "its former settings cannot be packed, and are not kept"
	case len(packed) > contract.MaxFormer:
		return nil, fmt.Sprintf("its former settings are not kept: %d bytes compressed, at most %d fit", len(packed), contract.MaxFormer)
	}
	return packed, ""
}

// Only changed settings of the job type have a former state, not edits of other parts of the Schedule.
func (s schedules) formerBefore(now assessment, wanted wantedType) (packed []byte, fault string) {
	if now.change.Action != ActionUpdate && now.change.Action != ActionDrift {
		return nil, ""
	}
	spec, err := s.storedSpec(now.current.schedule)
	if err == nil && len(specChanges(spec, wanted.spec)) == 0 && now.current.schedule.GetState().GetPaused() == now.state.GetPaused() {
		return nil, ""
	}
	return s.formerOf(now.current.schedule)
}

// Restore restores the settings before the change in an audit entry; entry 0 is the last one with settings. It
// creates a deleted job type again. A person's pause stays. The log has no secrets, so Restore keeps the present
// values of env and refuses if one is missing.
func (c Client) Restore(ctx context.Context, name string, entry int64) (Change, error) {
	change := Change{JobType: name, Action: ActionUnchanged}
	before, err := c.former(ctx, name, entry)
	if err != nil {
		return change, err
	}
	if before.Spec, err = c.withSecrets(ctx, before.Spec); err != nil {
		return change, err
	}
	disabled := before.Paused && before.Note == disabledNote
	wanted := wantedType{spec: before.Spec, enabled: !disabled}
	if before.Paused {
		wanted.pauseNote = before.Note
	}
	change, err = c.schedules().converge(ctx, name, wanted)
	if err == nil && change.Action == ActionUnchanged {
		c.recordRepeated(ctx, name, contract.AuditRestore)
	}
	if err != nil || change.Action == ActionUnchanged {
		return change, err
	}
	recorded := entryOf(change)
	recorded.Action = contract.AuditRestore
	c.client.Audit().Record(ctx, recorded)
	return change, nil
}

// IsRestored reports whether the settings are those before the change in an audit entry.
func (c Client) IsRestored(ctx context.Context, name string, entry int64) (bool, error) {
	before, err := c.former(ctx, name, entry)
	if err != nil {
		return false, err
	}
	current, spec, err := c.schedules().stored(ctx, name)
	if errors.Is(err, starter.ErrNotFound) {
		return false, nil
	}
	disabled := func(paused bool, note string) bool { return paused && note == disabledNote }
	state := current.schedule.GetState()
	return err == nil && disabled(before.Paused, before.Note) == disabled(state.GetPaused(), state.GetNotes()) &&
		len(specChanges(spec.WithoutSecrets(), before.Spec)) == 0, err
}

func (c Client) withSecrets(ctx context.Context, spec contract.JobTypeSpec) (contract.JobTypeSpec, error) {
	if len(spec.HiddenPaths()) == 0 {
		return spec, nil
	}
	s := c.schedules()
	current, found, err := s.read(ctx, spec.Name)
	if err != nil {
		return spec, err
	}
	var now contract.JobTypeSpec
	if found {
		if now, err = s.storedSpec(current.schedule); err != nil {
			return spec, fmt.Errorf("job type %s: %w: run apply to repair it", spec.Name, err)
		}
	}
	spec, missing := spec.WithSecretsOf(now)
	if len(missing) > 0 {
		slices.Sort(missing)
		return spec, starter.Invalidf("the audit log has no values of env, and %s has no %s now to keep: apply the former configuration", spec.Name, strings.Join(missing, ", "))
	}
	return spec, nil
}

func (c Client) former(ctx context.Context, name string, seq int64) (former, error) {
	filter := contract.AuditFilter{JobType: name, Kind: contract.AuditOperator, Former: true}
	if seq > 0 {
		filter.After, filter.Before = seq-1, seq+1
	}
	found, err := c.client.Audit().Read(ctx, filter)
	if err != nil {
		return former{}, err
	}
	var last contract.AuditEntry
	for _, entry := range found.Entries {
		if len(entry.Former) > 0 && entry.Seq >= last.Seq {
			last = entry
		}
	}
	if last.Seq == 0 {
		return former{}, starter.Invalidf("the audit log has no former settings of job type %s there: apply the former configuration", name)
	}
	var before former
	err = pack.OpenJSON(last.Former, maxFormerRead, &before)
	if err == nil && before.Spec.Name != name {
		err = starter.Invalidf("entry %d of the audit log is about job type %s, not %s: see `roundsman audit %s`", last.Seq, before.Spec.Name, name, name)
	}
	return before, err
}
