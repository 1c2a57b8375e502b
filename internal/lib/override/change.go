package override

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/lib/suggest"
	"github.com/roundsman/roundsman/jobtype"
)

// Change holds changed settings of a policy in JSON, by their names in the configuration.
type Change map[string]json.RawMessage

// Names returns the names of all settings of a policy, in the order of [jobtype.Policy].
func Names() []string {
	policy := reflect.TypeFor[jobtype.Policy]()
	names := make([]string, policy.NumField())
	for i := range names {
		names[i], _, _ = strings.Cut(policy.Field(i).Tag.Get("json"), ",")
	}
	return names
}

// Spelling is another name of a setting, as in a task of a DAG.
type Spelling struct{ Written, Setting string }

// Spellings returns the other names of settings.
func Spellings() []Spelling {
	return []Spelling{
		{contract.ConcurrencySetting, Concurrency},
		{"timeout", "execution_timeout"},
		{"retries.limit", "retry_limit"},
		{"retries.backoff", "retry_backoff"},
		{"retries.max_backoff", "retry_max_backoff"},
	}
}

// Parse parses settings like max_runtime=2h. The error lists all faults. Ranges are checked when the change is applied.
func Parse(settings []string) (Change, error) {
	change, faults := Change{}, []error(nil)
	for _, setting := range settings {
		name, value, found := strings.Cut(setting, "=")
		for _, s := range Spellings() {
			if name == s.Written {
				name = s.Setting
			}
		}
		var encoded json.RawMessage
		var err error
		switch {
		case !found:
			err = fmt.Errorf("%q: write it as SETTING=VALUE", setting)
		case change[name] != nil:
			err = fmt.Errorf("%s is given twice", name)
		case name == Every:
			encoded, err = everyValue(value)
		case strings.HasPrefix(name, contract.ConcurrencySetting+"."):
			encoded, err = policyValue(Concurrency, value)
		case strings.HasPrefix(name, paramsPrefix):
			encoded, err = paramValue(name, value)
		default:
			encoded, err = policyValue(name, value)
		}
		if err != nil {
			faults = append(faults, err)
			continue
		}
		change[name] = encoded
	}
	return change, errors.Join(faults...)
}

// Every is the only setting of a job type's schedule that can be set.
const Every = "every"

func everyValue(value string) (json.RawMessage, error) {
	every, err := jobtype.ParseDuration(value)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Every, err)
	}
	if err := checkEvery(every); err != nil {
		return nil, err
	}
	return json.Marshal(every)
}

func checkEvery(every jobtype.Duration) error {
	if every < minEvery || every > maxEvery {
		return fmt.Errorf("%s: %s is out of range: use %s to %s", Every, every, minEvery, maxEvery)
	}
	if every.Std()%time.Second != 0 {
		return fmt.Errorf("%s: %s is not a whole number of seconds", Every, every)
	}
	return nil
}

// The bounds of an interval, as in the configuration.
const (
	minEvery = jobtype.Duration(time.Second)
	maxEvery = jobtype.Duration(365 * 24 * time.Hour)
)

// OverSpec returns the changed spec, or an error for an invalid change.
func (change Change) OverSpec(spec contract.JobTypeSpec) (contract.JobTypeSpec, error) {
	spec.FromHandler = slices.DeleteFunc(slices.Clone(spec.FromHandler), func(path string) bool {
		return change[strings.TrimPrefix(path, "policy.")] != nil || path == contract.PathEvery && change[Every] != nil
	})
	change = maps.Clone(change)
	if encoded := change[Every]; encoded != nil {
		var every jobtype.Duration
		if err := json.Unmarshal(encoded, &every); err != nil {
			return spec, fmt.Errorf("%s: %w", Every, err)
		}
		if err := checkEvery(every); err != nil {
			return spec, err
		}
		if spec.Policy.CatchupWindow == (jobtype.Policy{}).WithCatchupWindow(spec.Interval).CatchupWindow {
			spec.Policy.CatchupWindow = 0 // It was one interval and follows the new one.
			spec.Policy = spec.Policy.WithCatchupWindow(every)
		}
		was := spec.Schedule
		spec.Schedule, spec.Interval = contract.ScheduleSpec{Every: every, FirstRun: was.FirstRun}, every
		switch {
		case len(was.Cron) == 0 && was.Offset == contract.SpreadOffset(spec.Name, was.Every):
			spec.Schedule.Offset = contract.SpreadOffset(spec.Name, every)
		case was.Offset < every:
			spec.Schedule.Offset = was.Offset
		}
		if was.Jitter < every {
			spec.Schedule.Jitter = was.Jitter
		}
		delete(change, Every)
	}
	if err := change.overParams(&spec); err != nil {
		return spec, err
	}
	var err error
	spec.Policy, err = change.Over(spec.Policy)
	return spec, err
}

// underived clears settings with a derived value, so that they follow a change of other settings.
func underived(policy jobtype.Policy) jobtype.Policy {
	bare := policy
	bare.StallTimeout, bare.StopAfter = 0, 0
	derived := bare.WithDerived()
	if policy.StallTimeout == derived.StallTimeout {
		policy.StallTimeout = 0
	}
	if policy.StopAfter == derived.StopAfter {
		policy.StopAfter = 0
	}
	return policy
}

func policyValue(name, value string) (json.RawMessage, error) {
	policy := reflect.TypeFor[jobtype.Policy]()
	for i, known := range Names() {
		if known != name {
			continue
		}
		switch reflect.Zero(policy.Field(i).Type).Interface().(type) {
		case jobtype.Duration:
			if _, err := jobtype.ParseDuration(value); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		case int:
			n, err := strconv.Atoi(value)
			if err != nil {
				return nil, fmt.Errorf("%s: %q is not a number", name, value)
			}
			return json.Marshal(n)
		case bool:
			on, err := strconv.ParseBool(value)
			if err != nil {
				return nil, fmt.Errorf("%s: %q: write true or false", name, value)
			}
			return json.Marshal(on)
		}
		return json.Marshal(value)
	}
	known := []string{Every}
	for _, s := range Spellings() {
		known = append(known, s.Written)
	}
	known = append(known, Names()...)
	if meant := suggest.Word(name, known); meant != "" {
		return nil, fmt.Errorf("%s is no setting of a job type: did you mean %s?", name, meant)
	}
	return nil, fmt.Errorf("%s is no setting of a job type: use one of %s, or params.NAME", name, strings.Join(known, ", "))
}

// OfDAG returns the change for a run of a DAG: its concurrency, or that of a fan-out.
func (change Change) OfDAG() (fanOut string, n int, err error) {
	err = errors.New("concurrency=N, or concurrency.FANOUT=N, is the one setting that it can change")
	if len(change) != 1 {
		return "", 0, err
	}
	for name, encoded := range change {
		own, isFanOut := strings.CutPrefix(name, contract.ConcurrencySetting+".")
		if !isFanOut && name != Concurrency && name != contract.ConcurrencySetting || isFanOut && own == "" || json.Unmarshal(encoded, &n) != nil {
			return "", 0, err
		}
		if isFanOut {
			fanOut = own
		}
	}
	return fanOut, n, nil
}

// Over returns the changed policy, or an error for an invalid change.
func (change Change) Over(policy jobtype.Policy) (jobtype.Policy, error) {
	encoded, err := json.Marshal(change)
	if err != nil {
		return policy, fmt.Errorf("encode the settings: %w", err)
	}
	changed, err := contract.SetPolicyInput{Change: encoded}.Over(underived(policy))
	if err != nil {
		return policy, err
	}
	changed = changed.WithDerived()
	return changed, changed.Validate()
}

// Concurrency is the only setting of both kinds of runs.
const Concurrency = "global_execution_concurrency"
