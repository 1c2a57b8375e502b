package authoring

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/config/inforce"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/edge/api"
	"github.com/roundsman/roundsman/internal/edge/api/problem"
	"github.com/roundsman/roundsman/internal/engine/access"
	"github.com/roundsman/roundsman/internal/engine/window"
	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/internal/lib/mergepatch"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/handled"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

// JobTypeSettings are the settings of an applied job type in the form of its entry in a configuration. Secrets are hidden.
type JobTypeSettings struct {
	JobType string `json:"job_type"`
	Version string `json:"version" doc:"Names these settings: send it with a change"`
	// Settings and Document are the same, as JSON and as YAML.
	Settings json.RawMessage   `json:"settings" doc:"The entry of job_types"`
	Document string            `json:"document" doc:"A configuration with this entry alone, YAML"`
	Files    map[string]string `json:"files,omitempty" doc:"The files that the entry names"`
	Schema   json.RawMessage   `json:"schema" doc:"JSON Schema of the entry, with the blocks of its handler"`
	Next     []Instant         `json:"next" doc:"The next five instants by this schedule, without jitter"`
}

// Instant is a time at which a job type is due.
type Instant struct {
	At     time.Time `json:"at"`
	Closed string    `json:"closed,omitempty" doc:"Why no job may start at that time"`
	Opens  time.Time `json:"opens,omitzero" doc:"The next time at which jobs may start; absent: not within 400 days"`
}

// SettingsBody is a change of settings. Settings or Document is set.
type SettingsBody struct {
	Version  string            `json:"version,omitempty" maxLength:"100" doc:"The version that was read: 412 (CHANGED) if the settings have changed since, unless they already are as sent"`
	Settings json.RawMessage   `json:"settings,omitempty" doc:"A merge patch (RFC 7396) of the entry"`
	Document string            `json:"document,omitempty" doc:"A configuration with this entry alone, in place of the settings, YAML"`
	Files    map[string]string `json:"files,omitempty" maxProperties:"1000" doc:"The files that the entry names; those in force need not be sent"`
}

// SettingsSet is the effect of a change. It is made unless it was a dry run.
type SettingsSet struct {
	JobType  string                 `json:"job_type"`
	Changed  []contract.FieldChange `json:"changed"`
	Document string                 `json:"document" doc:"The settings afterwards, YAML"`
	Next     []Instant              `json:"next" doc:"The next five instants afterwards"`
	Warnings config.Faults          `json:"warnings"`
}

const shownInstants = 5

func (s *service) settings() {
	const path = "/job-types/{name}/settings"
	api.Add(s.api, api.Operation{
		ID: "get-job-type-settings", Method: http.MethodGet, Path: path, Tag: "job types", Summary: "Show the settings of a job type as its configuration would have them",
		May: access.Permission{Verb: access.View, Kind: access.JobTypes}, Reach: api.Named,
	}, s.getSettings)
	api.Add(s.api, api.Operation{
		ID: "set-job-type-settings", Method: http.MethodPatch, Path: path, Tag: "job types", Summary: "Change any settings of a job type until the next apply",
		Description: "The whole entry is checked as apply does; faults have the path of the setting, and the line of a document. " +
			"Settings of the policy and schedule.every need the permission to operate the job type, all others the permission to change the configuration. " +
			"changed hides both values of a secret. " +
			"A running group keeps its settings.",
		May: access.Permission{Verb: access.Operate, Kind: access.JobTypes}, Reach: api.Named, Settings: true, Already: api.Already(s.hasSettings),
	}, s.setSettings)
}

func (s *service) getSettings(ctx context.Context, call *api.Call, in *api.JobTypePath) (JobTypeSettings, error) {
	now, err := jobtypes.Of(call.Client).Settings(ctx, in.Name)
	if err != nil {
		return JobTypeSettings{}, err
	}
	spec, handlers := now.Spec, s.handlers(ctx, call)
	shown := JobTypeSettings{JobType: in.Name, Version: now.Version, Next: instants(spec, time.Now())}
	if shown.Settings, shown.Files, err = inforce.Entry(spec.WithoutSecrets(), handlers); err != nil {
		return shown, err
	}
	if shown.Document, err = inforce.One(in.Name, shown.Settings); err != nil {
		return shown, err
	}
	handler := jobtype.Descriptor{Name: spec.Handler}
	if at := slices.IndexFunc(handlers, func(d jobtype.Descriptor) bool { return d.Name == spec.Handler }); at >= 0 {
		handler = handlers[at]
	}
	shown.Schema, err = config.EntrySchema(handler, spec.Policy)
	return shown, err
}

// instants returns the next instants of a spec. A schedule that cannot be read has none.
func instants(spec contract.JobTypeSpec, now time.Time) []Instant {
	shown := []Instant{}
	next, err := nextInstants(spec.Schedule, now, shownInstants)
	if err != nil {
		return shown
	}
	own, ownErr := window.New(spec.Calendar, time.LoadLocation)
	lane, laneErr := window.New(spec.LaneCalendar, time.LoadLocation)
	for _, at := range next {
		instant := Instant{At: at}
		if ownErr == nil && laneErr == nil {
			if view := jobtypes.WindowAt(spec, at); view != nil && !view.Open {
				instant.Closed = view.Closed
				if spans := window.Upcoming(at, 1, own, lane); len(spans) > 0 {
					instant.Opens = spans[0].From
				}
			}
		}
		shown = append(shown, instant)
	}
	return shown
}

type setSettings struct {
	api.JobTypePath
	api.DryRun
	Body SettingsBody
}

func (s *service) hasSettings(ctx context.Context, call *api.Call, in *setSettings) (bool, error) {
	if in.Wanted {
		return true, nil // A dry run undoes nothing.
	}
	now, err := jobtypes.Of(call.Client).Settings(ctx, in.Name)
	if err != nil {
		return false, err
	}
	edit := &edit{service: s, call: call, name: in.Name, body: in.Body, handlers: s.handlers(ctx, call)}
	after, err := edit.allowed(ctx, now)
	return err == nil && len(jobtypes.Changes(now.Spec, after)) == 0, err
}

func (s *service) setSettings(ctx context.Context, call *api.Call, in *setSettings) (SettingsSet, error) {
	set := SettingsSet{JobType: in.Name}
	if (in.Body.Document == "") == (len(in.Body.Settings) == 0) {
		return set, problem.New(http.StatusUnprocessableEntity, "", "send settings or a document, one of them")
	}
	edit := &edit{service: s, call: call, name: in.Name, body: in.Body, handlers: s.handlers(ctx, call)}
	if in.Wanted {
		now, err := jobtypes.Of(call.Client).Settings(ctx, in.Name)
		if err != nil {
			return set, err
		}
		after, err := edit.allowed(ctx, now)
		if err != nil {
			return set, err
		}
		set.Changed = jobtypes.Changes(now.Spec, after)
		return edit.describe(set, after)
	}
	var last contract.JobTypeSpec
	changed, err := jobtypes.Of(call.Client).Edit(ctx, in.Name, func(now jobtypes.Settings) (contract.JobTypeSpec, error) {
		after, err := edit.allowed(ctx, now)
		last = after
		return after, err
	})
	if err != nil {
		return set, err
	}
	set.Changed = changed
	return edit.describe(set, last)
}

type edit struct {
	*service

	call     *api.Call
	name     string
	body     SettingsBody
	handlers []jobtype.Descriptor
	warnings config.Faults
	made     *contract.JobTypeSpec
}

func (e *edit) over(ctx context.Context, now jobtypes.Settings) (contract.JobTypeSpec, error) {
	spec := now.Spec
	if e.made != nil && len(jobtypes.Changes(spec, *e.made)) == 0 {
		return spec, nil // It is written.
	}
	after, err := e.laid(ctx, spec)
	// A repeat finds the version of its first attempt. A change since then may be the cause of a fault.
	if e.body.Version != "" && e.body.Version != now.Version && (isOfDraft(err) || err == nil && len(jobtypes.Changes(spec, after)) > 0) {
		return spec, problem.New(http.StatusPreconditionFailed, problem.CodeChanged, "the settings have changed since they were read").With("read them again, then decide")
	}
	return after, err
}

func isOfDraft(err error) bool {
	_, faults := errors.AsType[config.Faults](err)
	_, invalid := errors.AsType[*starter.InvalidError](err)
	return faults || invalid
}

func (e *edit) laid(ctx context.Context, spec contract.JobTypeSpec) (contract.JobTypeSpec, error) {
	own, err := e.source(spec)
	if err != nil {
		return spec, err
	}
	all, err := e.api.JobTypes(ctx, e.call)
	if err != nil {
		return spec, err
	}
	specs := []contract.JobTypeSpec{spec}
	for _, one := range all {
		if one.Spec.Owner == spec.Owner && one.Name != e.name {
			specs = append(specs, one.Spec)
		}
	}
	around, err := inforce.Around(spec.Owner, e.name, specs, e.handlers)
	if err != nil {
		return spec, err
	}
	loaded, err := e.loadSources(ctx, e.call, false, own, config.Source{Name: "the applied settings", Data: []byte(around.Text), Files: around.Files})
	if err != nil {
		return spec, err
	}
	made, err := loaded.Specs()
	if err != nil {
		return spec, err
	}
	at := slices.IndexFunc(made, func(one contract.JobTypeSpec) bool { return one.Name == e.name })
	if at < 0 {
		return spec, starter.Invalidf("the document has no job type %s: write it under job_types", e.name)
	}
	if !loaded.JobTypes[e.name].Enabled {
		return spec, starter.Invalidf("enabled is false: leave it out here, and pause the job type")
	}
	e.warnings = slices.DeleteFunc(loaded.Warnings, func(f config.Fault) bool { return f.File != fileName })
	if writesSecret(made[at]) {
		if err := e.needConfiguration(ctx, made[at]); err != nil {
			return spec, err
		}
	}
	after, missing := made[at].WithSecretsOf(spec)
	if len(missing) > 0 {
		return spec, starter.Invalidf("%s is %s, which stands for a secret: write the value itself", missing[0], contract.Hidden)
	}
	// The hash stays the one of the configuration, so that plan finds the change.
	after.AwaitedBy, after.Hash, after.Resources = spec.AwaitedBy, spec.Hash, spec.Resources
	e.made = &after
	return after, nil
}

func (e *edit) source(spec contract.JobTypeSpec) (config.Source, error) {
	entry, files, err := inforce.Entry(spec.WithoutSecrets(), e.handlers)
	if err != nil {
		return config.Source{}, err
	}
	maps.Copy(files, e.body.Files)
	text := e.body.Document
	if text == "" {
		patched, err := mergepatch.Over(entry, e.body.Settings)
		if err != nil {
			return config.Source{}, &starter.InvalidError{Err: err}
		}
		if text, err = inforce.One(e.name, patched); err != nil {
			return config.Source{}, err
		}
	}
	return config.Source{Name: fileName, Data: []byte(text), Files: files}, nil
}

// A spec with a secret value is compared only for those who may change the configuration: the answer would confirm a
// guessed secret.
func writesSecret(spec contract.JobTypeSpec) bool {
	return slices.ContainsFunc(jobtypes.Changes(spec.WithoutSecrets(), spec), func(c contract.FieldChange) bool {
		return c != c.WithoutSecrets()
	})
}

func (e *edit) allowed(ctx context.Context, now jobtypes.Settings) (contract.JobTypeSpec, error) {
	after, err := e.over(ctx, now)
	if err != nil {
		return after, err
	}
	interval := changesInterval(e.name, now.Spec.Schedule, after.Schedule)
	beyond := slices.ContainsFunc(jobtypes.Changes(now.Spec, after), func(c contract.FieldChange) bool {
		return !strings.HasPrefix(c.Path, "policy.") && (c.Path != "schedule" || !interval)
	})
	if beyond {
		err = e.needConfiguration(ctx, after)
	}
	return after, err
}

// changesInterval reports whether two schedules differ in every alone, and in an offset that follows from it.
func changesInterval(name string, before, after contract.ScheduleSpec) bool {
	if len(before.Cron) > 0 || len(after.Cron) > 0 {
		return false
	}
	follows := func(s contract.ScheduleSpec) bool { return s.Offset == contract.SpreadOffset(name, s.Every) }
	if before.Offset != after.Offset && !(follows(before) && follows(after)) {
		return false
	}
	return before.Jitter == after.Jitter && before.Timezone == after.Timezone && slices.Equal(before.Days, after.Days) && slices.Equal(before.Except, after.Except)
}

func (e *edit) needConfiguration(ctx context.Context, spec contract.JobTypeSpec) error {
	scope := access.Scope{JobType: e.name}
	if e.call.Rights.ByHandler() {
		var err error
		if scope.Handlers, err = handled.OfSpec(ctx, e.call.Client, spec, []contract.JobTypeSpec{spec}); err != nil {
			return err
		}
	}
	return e.call.NeedTo(changeConfiguration, scope)
}

func (e *edit) describe(set SettingsSet, after contract.JobTypeSpec) (SettingsSet, error) {
	for i := range set.Changed {
		set.Changed[i] = set.Changed[i].WithoutSecrets()
	}
	set.Changed, set.Warnings, set.Next = lists.OrEmpty(set.Changed), lists.OrEmpty(e.warnings), instants(after, time.Now())
	entry, _, err := inforce.Entry(after.WithoutSecrets(), e.handlers)
	if err != nil {
		return set, err
	}
	set.Document, err = inforce.One(e.name, entry)
	return set, err
}
