package inforce

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

type entry struct {
	Handler           string             `json:"handler,omitempty"`
	DAG               string             `json:"dag,omitempty"`
	Description       string             `json:"description,omitempty"`
	Enabled           *bool              `json:"enabled,omitempty"`
	Schedule          *schedule          `json:"schedule,omitempty"`
	Lane              string             `json:"lane,omitempty"`
	ApprovalsKeepLane bool               `json:"approvals_keep_lane,omitempty"`
	DetectOn          contract.DetectOn  `json:"detect_on,omitempty"`
	EachWorker        bool               `json:"each_worker,omitempty"`
	Labels            map[string]string  `json:"labels,omitempty"`
	Windows           []jobtype.Window   `json:"windows,omitempty"`
	Blackouts         []jobtype.Blackout `json:"blackouts,omitempty"`

	After                map[string]contract.AfterRule `json:"after,omitempty"`
	RunIfNotSucceededFor jobtype.Duration              `json:"run_if_not_succeeded_for,omitempty"`

	Params      json.RawMessage       `json:"params,omitempty"`
	Detect      json.RawMessage       `json:"detect,omitempty"`
	Execute     json.RawMessage       `json:"execute,omitempty"`
	Batch       *contract.BatchSpec   `json:"batch,omitempty"`
	Resources   map[string]int        `json:"resources,omitempty"`
	RetryBudget *contract.RetryBudget `json:"retry_budget,omitempty"`
	Notify      []contract.NotifyRule `json:"notify,omitempty"`
	Policy      policy                `json:"policy,omitempty"`
}

type schedule struct {
	Every    jobtype.Duration  `json:"every,omitempty"`
	Offset   jobtype.Duration  `json:"offset,omitempty"`
	Spread   string            `json:"spread,omitempty"`
	Cron     []string          `json:"cron,omitempty"`
	Days     []string          `json:"days,omitempty"`
	Except   string            `json:"except_holidays,omitempty"`
	Timezone string            `json:"timezone,omitempty"`
	Jitter   jobtype.Duration  `json:"jitter,omitempty"`
	FirstRun contract.FirstRun `json:"first_run,omitempty"`
}

type policy []setting

type setting struct {
	key   string
	value any
}

// MarshalJSON implements json.Marshaler.
func (p policy) MarshalJSON() ([]byte, error) {
	lines := make([]string, len(p))
	for i, s := range p {
		encoded, err := json.Marshal(s.value)
		if err != nil {
			return nil, fmt.Errorf("policy setting %s: %w", s.key, err)
		}
		lines[i] = fmt.Sprintf("%q:%s", s.key, encoded)
	}
	return []byte("{" + strings.Join(lines, ",") + "}"), nil
}

// Entry returns a job type as an entry of job_types in JSON, and its files, without defaults of known handlers.
func Entry(spec contract.JobTypeSpec, known []jobtype.Descriptor) (json.RawMessage, map[string]string, error) {
	written, files := entryOf(spec, known)
	encoded, err := json.Marshal(written)
	if err != nil {
		return nil, nil, fmt.Errorf("write job type %s: %w", spec.Name, err)
	}
	return encoded, files, nil
}

func entryOf(spec contract.JobTypeSpec, known []jobtype.Descriptor) (entry, map[string]string) {
	files := map[string]string{}
	written := entry{
		Handler: spec.Handler, Description: spec.Description, Lane: spec.Lane, ApprovalsKeepLane: spec.ApprovalsKeepLane,
		DetectOn: spec.DetectOn, EachWorker: spec.EachWorker, Labels: spec.Labels, After: spec.After, RunIfNotSucceededFor: spec.RunIfNotSucceededFor,
		Params: spec.Params, Detect: spec.Detect, Execute: spec.Execute, Batch: spec.Batch, Resources: spec.JobResources, RetryBudget: spec.RetryBudget,
		Notify: spec.Notify, Policy: policyOf(spec, known), Schedule: scheduleOf(spec, files),
	}
	if spec.Calendar != nil {
		written.Windows, written.Blackouts = spec.Calendar.Windows, spec.Calendar.Blackouts
	}
	if spec.DAG != nil {
		written.DAG = spec.DAG.File
		files[spec.DAG.File] = spec.DAG.Text
		maps.Copy(files, spec.DAG.Files)
	}
	return written, files
}

// scheduleOf returns nil for a schedule that is the handler's default as a whole.
func scheduleOf(spec contract.JobTypeSpec, files map[string]string) *schedule {
	of := spec.Schedule
	written := schedule{Cron: of.Cron, Days: of.Days, Jitter: of.Jitter, FirstRun: of.FirstRun}
	if len(of.Except) > 0 {
		written.Except = "except-" + spec.Name + ".txt"
		files[written.Except] = strings.Join(of.Except, "\n") + "\n"
	}
	usual := contract.FirstRunScheduled
	if len(of.Cron) == 0 {
		usual = contract.FirstRunNow
		if !slices.Contains(spec.FromHandler, contract.PathEvery) {
			written.Every = of.Every
		}
		switch {
		case of.Offset == contract.SpreadOffset(spec.Name, of.Every):
		case of.Offset == 0:
			written.Spread = "none"
		default:
			written.Offset = of.Offset
		}
	} else if of.Timezone != "UTC" {
		written.Timezone = of.Timezone
	}
	if of.FirstRun == "" {
		written.FirstRun = contract.FirstRunScheduled
	}
	if written.FirstRun == usual {
		written.FirstRun = ""
	}
	if reflect.ValueOf(written).IsZero() {
		return nil
	}
	return &written
}

// policyOf leaves out defaults. Those of the handler must be marked as such.
func policyOf(spec contract.JobTypeSpec, known []jobtype.Descriptor) policy {
	usual, ofHandler := jobtype.DefaultPolicy(), jobtype.Policy{}
	if at := slices.IndexFunc(known, func(d jobtype.Descriptor) bool { return d.Name == spec.Handler }); at >= 0 && spec.Handler != "" {
		ofHandler = known[at].DefaultPolicy
	}
	if spec.DAG != nil {
		usual.ExecutionTimeout = spec.Policy.MaxRuntime
	}
	derived := spec.Policy
	derived.StallTimeout, derived.StopAfter, derived.CatchupWindow = 0, 0, 0
	derived = derived.WithDerived().WithCatchupWindow(spec.Interval)
	usual.StallTimeout, usual.StopAfter, usual.CatchupWindow = derived.StallTimeout, derived.StopAfter, derived.CatchupWindow
	values, defaults, handlers := reflect.ValueOf(spec.Policy), reflect.ValueOf(usual), reflect.ValueOf(ofHandler)
	var written policy
	for i := range values.NumField() {
		key, _, _ := strings.Cut(values.Type().Field(i).Tag.Get("json"), ",")
		isUsual := values.Field(i).Equal(defaults.Field(i)) && handlers.Field(i).IsZero()
		if !isUsual && !slices.Contains(spec.FromHandler, "policy."+key) {
			written = append(written, setting{key, values.Field(i).Interface()})
		}
	}
	return written
}
