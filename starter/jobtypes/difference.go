package jobtypes

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	commonpb "go.temporal.io/api/common/v1"
	schedulepb "go.temporal.io/api/schedule/v1"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/lib/override"
)

// specChanges compares two specs by setting. The interval follows from the schedule, so it is listed only if that is equal.
func specChanges(before, after contract.JobTypeSpec) []contract.FieldChange {
	changes := override.Compare(flatSpec(before), flatSpec(after))
	if slices.ContainsFunc(changes, func(c contract.FieldChange) bool { return c.Path == "schedule" }) {
		changes = slices.DeleteFunc(changes, func(c contract.FieldChange) bool { return c.Path == "interval" })
	}
	return changes
}

// flatSpec works on the encoded spec, so a new setting cannot be missed.
func flatSpec(spec contract.JobTypeSpec) map[string]string {
	encoded, err := json.Marshal(spec)
	if err != nil {
		// Only an invalid JSON block fails to encode, and no configuration contains one.
		return map[string]string{"format": err.Error()}
	}
	var blocks map[string]json.RawMessage
	_ = json.Unmarshal(encoded, &blocks) // It was encoded above.
	for _, written := range []string{"hash", "schedule", "policy", "calendar", "lane_calendar", "from_handler"} {
		delete(blocks, written)
	}
	flat := map[string]string{"schedule": scheduleText(spec.Schedule), "first_run": string(cmp.Or(spec.Schedule.FirstRun, contract.FirstRunScheduled))}
	if spec.DAG != nil {
		delete(blocks, "dag")
		flat["dag"] = spec.DAG.File
		flat["dag.text"] = digestText(spec.DAG.Text)
		for name, text := range spec.DAG.Files {
			flat["dag.files."+name] = digestText(text)
		}
	}
	for name, block := range blocks {
		flatten(flat, name, block)
		if text := ""; json.Unmarshal(block, &text) == nil {
			flat[name] = text
		}
	}
	flatCalendar(flat, "", spec.Calendar)
	flatCalendar(flat, "lanes."+spec.Lane+".", spec.LaneCalendar)
	flatDates(flat, "calendar.dates", spec.Calendar)
	flatDates(flat, "lanes."+spec.Lane+".dates", spec.LaneCalendar)
	maps.Copy(flat, override.Flat(spec.Policy))
	for _, path := range spec.FromHandler {
		if path == contract.PathEvery {
			path = "schedule"
		}
		flat[path] += OfHandler(spec)
	}
	return flat
}

// OfHandler marks a value that is a default of the job type's handler.
func OfHandler(spec contract.JobTypeSpec) string { return " (default of handler " + spec.Handler + ")" }

func handlerDefaults(spec contract.JobTypeSpec) []contract.FieldChange {
	flat := flatSpec(spec)
	defaults := map[string]string{}
	for _, path := range spec.FromHandler {
		if path == contract.PathEvery {
			path = "schedule"
		}
		defaults[path] = flat[path]
	}
	return override.Compare(nil, defaults)
}

func digestText(text string) string {
	sum := sha256.Sum256([]byte(text))
	return fmt.Sprintf("%d lines, sha256 %s", strings.Count(text, "\n"), hex.EncodeToString(sum[:6]))
}

// A list is a leaf: the index of an item means nothing to a reader.
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
	into[path] = ValueText(encoded)
}

// ValueText returns a JSON value in one form: the server may return other escapes, spaces or order of keys.
func ValueText(encoded json.RawMessage) string {
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

// flatSchedule lists the settings that differ from the stored spec after an edit by hand.
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

func overlapName(name string) string {
	if name == "Unspecified" {
		return "skip" // The server's default.
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

func (s schedules) text(payload *commonpb.Payload) string {
	text := ""
	if payload != nil && s.converter.FromPayload(payload, &text) != nil {
		return string(payload.GetData())
	}
	return text
}

func (s schedules) difference(current held, wanted contract.JobTypeSpec) ([]contract.FieldChange, error) {
	stored, err := s.storedSpec(current.schedule)
	if err != nil {
		return s.unreadable(current, wanted, err)
	}
	changes := specChanges(stored, wanted)
	// Equal hashes over different contents: the argument was edited by hand.
	edited := stored.Hash == wanted.Hash
	if len(changes) == 0 && !edited {
		changes = []contract.FieldChange{sameSettings(stored.Hash, wanted.Hash)}
	}
	for i := range changes {
		changes[i].Drift = edited
	}
	implied, err := s.build(stored)
	if err != nil {
		// The edited spec is invalid, so compare with the wanted one.
		if implied, err = s.build(wanted); err != nil {
			return nil, err
		}
	}
	drift := override.Compare(s.flatSchedule(current.schedule), s.flatSchedule(implied))
	for i := range drift {
		drift[i].Drift = true
	}
	return append(changes, drift...), nil
}

// sameSettings explains equal settings with other hashes: another format, or an operator made them.
func sameSettings(stored, wanted string) contract.FieldChange {
	before, _, _ := strings.Cut(stored, "-")
	after, _, _ := strings.Cut(wanted, "-")
	if before != after {
		return contract.FieldChange{Path: "format", Before: stored, After: wanted}
	}
	return contract.FieldChange{Path: "configuration", Before: "changed by hand", After: "as written"}
}

// PathInput is the path of a change that replaces unreadable settings.
const PathInput = "input"

func (s schedules) unreadable(current held, wanted contract.JobTypeSpec, cause error) ([]contract.FieldChange, error) {
	implied, err := s.build(wanted)
	if err != nil {
		return nil, err
	}
	changes := append(override.Compare(s.flatSchedule(current.schedule), s.flatSchedule(implied)),
		contract.FieldChange{Path: PathInput, Before: cause.Error(), After: wanted.Hash})
	for i := range changes {
		changes[i].Drift = true
	}
	slices.SortFunc(changes, func(a, b contract.FieldChange) int { return cmp.Compare(a.Path, b.Path) })
	return changes, nil
}
