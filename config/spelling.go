package config

import (
	"strings"

	"github.com/roundsman/roundsman/internal/lib/override"
	"github.com/roundsman/roundsman/internal/lib/yamlread"
)

// spellings are the keys of a policy that [loader.spell] replaces.
func spellings() []string { return []string{"timeout", "concurrency", "retries"} }

// spell replaces a DAG task's spellings of policy settings. Faults keep the written path.
func (l *loader) spell(n *yamlread.Node, path string) *yamlread.Node {
	if n == nil || n.Kind != yamlread.Object {
		return n
	}
	out := n.Without(spellings()...)
	l.object(n.Get("retries"), join(path, "retries"), "limit", "backoff", "max_backoff")
	for _, s := range override.Spellings() {
		f := n.Field(s.Written)
		if group, key, grouped := strings.Cut(s.Written, "."); grouped {
			f = n.Get(group).Field(key)
		}
		switch {
		case f == nil:
		case out.Field(s.Setting) != nil:
			l.fault(f.At, join(path, s.Setting), "is written here and at %s: keep one of them", out.Field(s.Setting).At)
		default:
			out.Add(yamlread.Field{Key: s.Setting, At: f.At, Value: f.Value})
			l.spelled[join(path, s.Setting)] = join(path, s.Written)
		}
	}
	return out
}
