package starter

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	commonpb "go.temporal.io/api/common/v1"
	schedulepb "go.temporal.io/api/schedule/v1"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/setting"
	"github.com/roundsman/roundsman/jobtype"
)

// FieldChange is one setting that differs between what the server holds and
// what is wanted.
type FieldChange struct {
	// Path is like policy.retry_limit. The settings of the Schedule itself
	// have one-word paths: times, overlap, catchup_window, workflow, …
	Path string `json:"path"`
	// Before is what the server holds, After what is wanted.
	Before string `json:"before"`
	After  string `json:"after"`
	// Drift means that this was not changed by `apply`: somebody edited the
	// Schedule by hand.
	Drift bool `json:"drift,omitempty"`
}

// maxShown bounds a value in the text of a change.
const maxShown = 120

// String renders "policy.retry_limit: 0 → 3".
func (f FieldChange) String() string {
	text := fmt.Sprintf("%s: %s → %s", f.Path, shown(f.Before), shown(f.After))
	if f.Drift {
		text += " (changed by hand)"
	}
	return text
}

func shown(value string) string {
	if value == "" {
		return "(none)"
	}
	return cutText(value, maxShown)
}

// specChanges compares two specs setting by setting. Schedules are compared by
// the times they mean, policies with their zeros. The interval follows from the
// schedule, and is named only where it alone differs.
func specChanges(before, after contract.JobTypeSpec) []FieldChange {
	changes := compare(flatSpec(before), flatSpec(after))
	if slices.ContainsFunc(changes, func(c FieldChange) bool { return c.Path == "schedule" }) {
		changes = slices.DeleteFunc(changes, func(c FieldChange) bool { return c.Path == "interval" })
	}
	return changes
}

func compare(before, after map[string]string) []FieldChange {
	paths := slices.Concat(slices.Collect(maps.Keys(before)), slices.Collect(maps.Keys(after)))
	slices.Sort(paths)
	var changes []FieldChange
	for _, path := range slices.Compact(paths) {
		if before[path] != after[path] {
			changes = append(changes, FieldChange{Path: path, Before: before[path], After: after[path]})
		}
	}
	return changes
}

// flatSpec lists every setting of a spec as text under its path, whatever a
// spec consists of, so that no setting can change unseen.
func flatSpec(spec contract.JobTypeSpec) map[string]string {
	encoded, err := json.Marshal(spec)
	if err != nil {
		// Only a block that is no JSON does that, and no configuration has one.
		return map[string]string{"format": err.Error()}
	}
	var blocks map[string]json.RawMessage
	_ = json.Unmarshal(encoded, &blocks) // It was encoded the line before.
	for _, written := range []string{"hash", "schedule", "policy", "calendar", "lane_calendar"} {
		delete(blocks, written)
	}
	flat := map[string]string{"schedule": scheduleText(spec.Schedule)}
	for name, block := range blocks {
		flatten(flat, name, block)
		if text := ""; json.Unmarshal(block, &text) == nil {
			flat[name] = text
		}
	}
	flatCalendar(flat, "", spec.Calendar)
	flatCalendar(flat, "lanes."+spec.Lane+".", spec.LaneCalendar)
	maps.Copy(flat, flatPolicy(spec.Policy))
	return flat
}

// flatPolicy lists the settings of a policy, zeros too.
func flatPolicy(policy jobtype.Policy) map[string]string {
	flat, values := map[string]string{}, reflect.ValueOf(policy)
	for i, key := range setting.Names() {
		flat["policy."+key] = fmt.Sprint(values.Field(i).Interface())
	}
	return flat
}

// flatten lists the leaves of a JSON object; a list is a leaf, because the
// number of an item means nothing to a reader.
func flatten(into map[string]string, path string, encoded json.RawMessage) {
	if len(encoded) == 0 {
		return
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(encoded, &object) == nil && object != nil {
		if len(object) == 0 {
			into[path] = "{}"
		}
		for key, value := range object {
			flatten(into, path+"."+key, value)
		}
		return
	}
	into[path] = leafText(encoded)
}

// leafText writes a JSON value in one form: the same value can come back from
// the server with other escapes, spaces or order of keys.
func leafText(encoded json.RawMessage) string {
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return string(encoded)
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return string(encoded)
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// flatSchedule lists the settings of a Schedule beside its spec: those that can
// only differ from what the stored spec implies if somebody edited them.
func (s schedules) flatSchedule(schedule *schedulepb.Schedule) map[string]string {
	start, policies := schedule.GetAction().GetStartWorkflow(), schedule.GetPolicies()
	flat := map[string]string{
		"times":                      timesText(schedule.GetSpec()),
		"overlap":                    overlapName(policies.GetOverlapPolicy().String()),
		"catchup_window":             short(policies.GetCatchupWindow().AsDuration()),
		"pause_on_failure":           fmt.Sprint(policies.GetPauseOnFailure()),
		"keep_original_workflow_id":  fmt.Sprint(policies.GetKeepOriginalWorkflowId()),
		"limited_actions":            fmt.Sprint(schedule.GetState().GetLimitedActions()),
		"workflow":                   start.GetWorkflowType().GetName(),
		"workflow_id":                start.GetWorkflowId(),
		"task_queue":                 start.GetTaskQueue().GetName(),
		"workflow_execution_timeout": short(start.GetWorkflowExecutionTimeout().AsDuration()),
		"workflow_run_timeout":       short(start.GetWorkflowRunTimeout().AsDuration()),
		"summary":                    s.text(start.GetUserMetadata().GetSummary()),
		"details":                    s.text(start.GetUserMetadata().GetDetails()),
	}
	if retry := start.GetRetryPolicy(); retry != nil {
		flat["workflow_retry_policy"] = fmt.Sprintf("%d attempts", retry.GetMaximumAttempts())
	}
	for name, value := range start.GetSearchAttributes().GetIndexedFields() {
		flat["search_attributes."+name] = string(value.GetData())
	}
	for name := range start.GetMemo().GetFields() {
		flat["memo."+name] = "(set)"
	}
	return flat
}

// overlapName writes the server's name as the configuration does.
func overlapName(name string) string {
	if name == "Unspecified" {
		return "skip" // what the server makes of it
	}
	var words strings.Builder
	for i, letter := range name {
		if i > 0 && letter >= 'A' && letter <= 'Z' {
			words.WriteByte('_')
		}
		words.WriteRune(letter)
	}
	return strings.ToLower(words.String())
}

// text decodes a payload that holds text; what does not is shown as it is.
func (s schedules) text(payload *commonpb.Payload) string {
	text := ""
	if payload != nil && s.converter.FromPayload(payload, &text) != nil {
		return string(payload.GetData())
	}
	return text
}

// difference compares what the server holds with what is wanted.
func (s schedules) difference(current held, wanted contract.JobTypeSpec) ([]FieldChange, error) {
	stored, err := s.storedSpec(current.schedule)
	if err != nil {
		return s.unreadable(current, wanted, err)
	}
	changes := specChanges(stored, wanted)
	// Equal hashes over unequal contents: the argument was edited by hand.
	edited := stored.Hash == wanted.Hash
	if len(changes) == 0 && !edited {
		changes = []FieldChange{{Path: "format", Before: stored.Hash, After: wanted.Hash}}
	}
	for i := range changes {
		changes[i].Drift = edited
	}
	implied, err := s.build(stored)
	if err != nil {
		// A spec edited into nonsense: compare with what is wanted instead.
		if implied, err = s.build(wanted); err != nil {
			return nil, err
		}
	}
	drift := compare(s.flatSchedule(current.schedule), s.flatSchedule(implied))
	for i := range drift {
		drift[i].Drift = true
	}
	return append(changes, drift...), nil
}

// unreadable is the difference to a Schedule whose argument is not a spec.
func (s schedules) unreadable(current held, wanted contract.JobTypeSpec, cause error) ([]FieldChange, error) {
	implied, err := s.build(wanted)
	if err != nil {
		return nil, err
	}
	changes := append(compare(s.flatSchedule(current.schedule), s.flatSchedule(implied)),
		FieldChange{Path: "input", Before: cause.Error(), After: wanted.Hash})
	for i := range changes {
		changes[i].Drift = true
	}
	slices.SortFunc(changes, func(a, b FieldChange) int { return cmp.Compare(a.Path, b.Path) })
	return changes, nil
}
