package spec

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/lib/yamlread"
)

// FanOut is the definition of an entry whose items are in another task's result. [Program.Expand] returns its tasks.
type FanOut struct {
	Source
	// Needs and PerItem come from the entry, by name.
	Needs   []string `json:"needs"`
	PerItem []string `json:"per_item,omitempty"`
	// The remaining fields are shared by its tasks.
	Rule      dag.Rule        `json:"rule,omitempty"`
	Priority  int32           `json:"priority,omitempty"`
	Unmetered bool            `json:"unmetered,omitempty"`
	Gated     bool            `json:"gated,omitempty"`
	Task      json.RawMessage `json:"task"`
}

// Source is the origin of items: a list in the result of a task.
type Source struct {
	Of   string   `json:"of"`
	Path []string `json:"path"`
}

func (s Source) equal(o Source) bool { return s.Of == o.Of && slices.Equal(s.Path, o.Path) }

var resultReference = regexp.MustCompile(`^\{\{-?\s*(?:\.Needs\.(\w+)|\(\s*index\s+\.Needs\s+"([\w-]+)"\s*\))\.Result((?:\.\w+)+)\s*-?\}\}$`)

func sourceOf(text string) *Source {
	found := resultReference.FindStringSubmatch(strings.TrimSpace(text))
	if found == nil {
		return nil
	}
	return &Source{Of: found[1] + found[2], Path: strings.Split(found[3][1:], ".")}
}

func (t *Task) late() bool { return t.source != nil }

func (u *unit) checkSource(t *Task) {
	if !t.late() {
		return
	}
	at := cmp.Or(child(t.node, "for_each"), t.node)
	of := t.source.Of
	declared := u.entry(of)
	switch {
	case !slices.Contains(t.Needs, of):
		u.at(at, "task %q: its items come from the result of %q, which is not among its needs; add it there", t.ID, of)
	case declared != nil && u.fans[of]:
		u.at(at, "task %q: %q fans out into several tasks; the items come from the result of one: join them in a task between", t.ID, of)
	case declared != nil && declared.kind != KindCommand && declared.kind != KindJobType:
		u.at(at, "task %q: a task of kind %s returns no list; take the items from a command or a job_type", t.ID, declared.kind)
	case declared == nil && u.run != nil:
		u.checkKnownSource(t, of, at)
	}
}

// The existing task must not have succeeded, because the tasks are added at its success.
func (u *unit) checkKnownSource(t *Task, of string, at *yamlread.Node) {
	i, ok := u.run.Lookup(of)
	switch {
	case !ok: // Already reported with its needs.
	case u.run.IsFanOut(i):
		u.at(at, "task %q: %q fans out into several tasks; the items come from the result of one: join them in a task between", t.ID, of)
	case of == u.implied, u.run.State(i) == dag.Completed, u.run.State(i) == dag.Skipped:
		u.at(at, "task %q: %q has ended, and its list is not kept; write the items down, or add a task that returns them", t.ID, of)
	}
}

// sameItems returns the difference between the items of two chained entries; empty if equal as far as known.
func (u *unit) sameItems(t *Task, name string) string {
	other := u.entry(name)
	if other == nil || t.late() != other.late() || t.late() && !t.source.equal(*other.source) {
		return fmt.Sprintf("task %q per_item %q: both must fan out over the same items; give both the same for_each", t.ID, name)
	}
	if t.late() {
		return ""
	}
	if !u.partial && len(u.items[name]) < len(u.instances(u.names[name])) {
		return fmt.Sprintf("task %q per_item %q: the list has an item twice, whose tasks cannot be told apart; list each item once", t.ID, name)
	}
	if missing := u.withoutItem(t, name); missing != "" {
		return fmt.Sprintf("task %q per_item %q: there is no task of %q for the item of %s; both must fan out over the same items", t.ID, name, name, missing)
	}
	return ""
}

// standIn has the dependencies of the later tasks, so that cycles are found, and ends after these.
func (u *unit) standIn(t *Task, needs []string, payload []byte) (dag.Task, error) {
	f := &FanOut{
		Source: *t.source, Needs: t.Needs, PerItem: t.PerItem, Rule: t.TriggerRule, Priority: t.Priority,
		Unmetered: !t.kind.metered(), Gated: t.gated(), Task: payload,
	}
	encoded, err := json.Marshal(Definition{Kind: KindFanOut, FanOut: f})
	if err != nil {
		return dag.Task{}, fmt.Errorf("task %q: %w", t.ID, err)
	}
	rule := t.TriggerRule
	if rule == dag.OneFailed {
		rule = dag.AllDone // The tasks react; the stand-in only waits.
	}
	return dag.Task{ID: t.ID, Needs: slices.Concat(needs, t.PerItem), Priority: t.Priority, Rule: rule, FanOut: true, Payload: encoded}, nil
}
