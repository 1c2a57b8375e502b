package jobtypes

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/lib/override"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
)

// Set changes the policy or the params of an applied job type until the next apply. A running group keeps its policy.
// Set returns the changed settings.
func (c Client) Set(ctx context.Context, name string, change override.Change) ([]contract.FieldChange, error) {
	return c.Edit(ctx, name, func(now Settings) (contract.JobTypeSpec, error) {
		after, err := change.OverSpec(now.Spec)
		if err == nil && change.HasParams() {
			err = c.checkParams(ctx, after)
		}
		if err != nil {
			return now.Spec, &starter.InvalidError{Err: err}
		}
		return after, nil
	})
}

// Settings are the settings in force. Version names them on all control planes, and changes with each write.
type Settings struct {
	Spec    contract.JobTypeSpec
	Version string
}

// Edit replaces the settings of an applied job type until the next apply. It calls edit again if the settings change
// meanwhile. The audit log gets each written change.
func (c Client) Edit(ctx context.Context, name string, edit func(Settings) (contract.JobTypeSpec, error)) ([]contract.FieldChange, error) {
	s := c.schedules()
	var fields []contract.FieldChange
	entry, written := contract.AuditEntry{Action: "jobtype.set"}, false
	fail := func(err error) ([]contract.FieldChange, error) {
		if written {
			entry.Detail = strings.TrimPrefix(entry.Detail+"; "+unseen, "; ")
			c.recordEdit(ctx, name, entry, fields)
		}
		return nil, err
	}
	for range convergeAttempts {
		current, spec, err := s.stored(ctx, name)
		if err != nil {
			return fail(err)
		}
		after, err := edit(Settings{spec, versionOf(spec, current)})
		if err != nil {
			return fail(err)
		}
		after = completed(after)
		changed := specChanges(spec, after)
		if len(changed) == 0 { // Also true at the read after the last write.
			if len(fields) > 0 {
				c.recordEdit(ctx, name, entry, fields)
			} else {
				c.recordRepeated(ctx, name, entry.Action)
			}
			return fields, nil
		}
		former, detail := s.formerOf(current.schedule)
		accepted, err := s.replace(ctx, name, current, after)
		if accepted || !written {
			fields, entry.Former, entry.Detail = changed, former, detail
		}
		written = written || accepted
		if err != nil {
			return fail(err)
		}
	}
	return fail(fmt.Errorf("the Schedule of job type %s kept changing while it was written: see `roundsman show %s` and try again", name, name))
}

// unseen is the detail of a change that was sent, but not read again.
const unseen = "written, but another change came at once: it may have replaced this one"

func (c Client) recordEdit(ctx context.Context, name string, entry contract.AuditEntry, fields []contract.FieldChange) {
	entry.Before, entry.After = beforeAndAfter(fields)
	c.recordSchedule(ctx, name, entry)
}

// Settings returns the settings of an applied job type.
func (c Client) Settings(ctx context.Context, name string) (Settings, error) {
	current, spec, err := c.schedules().stored(ctx, name)
	return Settings{spec, versionOf(spec, current)}, err
}

// SettingsVersion returns [Settings.Version]. A job type that is not applied has the version of its deletion.
func (c Client) SettingsVersion(ctx context.Context, name string) (string, error) {
	current, err := c.schedules().readOwned(ctx, name)
	switch {
	case errors.Is(err, starter.ErrNotFound):
		deleted, err := c.client.Audit().Read(ctx, contract.AuditFilter{JobType: name, Kind: contract.AuditOperator, Limit: 1})
		return fmt.Sprintf("none/%d", deleted.Last), err
	case err != nil:
		return "", err
	}
	spec, _ := c.schedules().storedSpec(current.schedule) // Without it the times of the writes remain, so that it can be repaired.
	return versionOf(spec, current), nil
}

// versionOf omits a sum of secrets, with which a short one could be guessed. Times of writes distinguish them.
func versionOf(spec contract.JobTypeSpec, current held) string {
	spec = spec.WithoutSecrets()
	spec.Hash = ""
	text, err := json.Marshal(struct {
		Spec             contract.JobTypeSpec
		Created, Updated time.Time
	}{spec, rpc.Time(current.info.GetCreateTime()), rpc.Time(current.info.GetUpdateTime())})
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:16])
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

// replace keeps the hash of the configuration, so that plan distinguishes the edit from a changed configuration.
func (s schedules) replace(ctx context.Context, name string, current held, spec contract.JobTypeSpec) (accepted bool, err error) {
	schedule, err := s.build(spec)
	if err != nil {
		return false, err
	}
	schedule.State = current.schedule.GetState()
	return s.accepted(ctx, name, schedule, current.token)
}
