package spec

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

type instance struct {
	id   string
	args []byte // nil for an entry without fan-out
}

// maxSuffix bounds a value within a task's name, in bytes.
const maxSuffix = 100

// A fanned-out task is named "<id>.<value>", in a matrix "<id>.<value>.<value>". If a value has no usable name or two
// names are equal, the position replaces the name. Written ids contain no dot, so names never clash.
func (t *Task) instances() ([]instance, error) {
	if !t.fans() {
		return []instance{{id: t.ID}}, nil
	}
	var out []instance
	var suffixes []string
	each := func(suffix string, a args) error {
		encoded, err := json.Marshal(a)
		if err != nil {
			return fmt.Errorf("task %q: item %d: %w", t.ID, len(out), err)
		}
		out = append(out, instance{args: encoded})
		suffixes = append(suffixes, suffix)
		return nil
	}
	if err := t.combine(each); err != nil {
		return nil, err
	}
	count := map[string]int{}
	for _, s := range suffixes {
		count[s]++
	}
	for k := range out {
		suffix := suffixes[k]
		if suffix == "" || count[suffix] > 1 || len(suffix) > maxSuffix {
			suffix = "#" + strconv.Itoa(k)
		}
		out[k].id = t.ID + "." + suffix
	}
	return out, nil
}

// combine: the last axis of a matrix changes fastest.
func (t *Task) combine(each func(suffix string, a args) error) error {
	for _, item := range t.ForEach {
		raw, err := json.Marshal(item)
		if err != nil {
			return fmt.Errorf("task %q: %w", t.ID, err)
		}
		if err := each(slug(item), args{Item: raw}); err != nil {
			return err
		}
	}
	if len(t.Matrix) == 0 {
		return nil
	}
	for n := range t.fanOut() {
		a := args{Matrix: make(map[string]json.RawMessage, len(t.Matrix))}
		names := make([]string, len(t.Matrix))
		rest := n
		for k := len(t.Matrix) - 1; k >= 0; k-- {
			axis := t.Matrix[k]
			v := axis.Values[rest%len(axis.Values)]
			rest /= len(axis.Values)
			raw, err := json.Marshal(v)
			if err != nil {
				return fmt.Errorf("task %q: %w", t.ID, err)
			}
			a.Matrix[axis.Key] = raw
			if names[k] = slug(v); names[k] == "" {
				names[k] = "#" + strconv.Itoa(n)
			}
		}
		if err := each(strings.Join(names, "."), a); err != nil {
			return err
		}
	}
	return nil
}

func slug(v any) string {
	var text string
	switch v := v.(type) {
	case string:
		text = v
	case bool:
		text = strconv.FormatBool(v)
	case json.Number:
		text = v.String()
	default:
		return ""
	}
	var b strings.Builder
	for _, r := range text {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r) {
			b.WriteRune(r)
		} else {
			b.WriteByte('-')
		}
	}
	return b.String()
}

// Entry returns the id of the entry of task id: the part before the first dot.
func Entry(id string) string {
	entry, _, _ := strings.Cut(id, ".")
	return entry
}
