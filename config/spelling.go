package config

import "github.com/roundsman/roundsman/internal/lib/yamlread"

// spelled replaces a DAG task's spellings of policy settings.
func (l *loader) spelled(n *yamlread.Node, path string) *yamlread.Node {
	if n == nil || n.Kind != yamlread.Object {
		return n
	}
	out := n.Without("retries", "timeout", "concurrency")
	l.object(n.Get("retries"), join(path, "retries"), "limit", "backoff", "max_backoff")
	for _, s := range []struct{ group, key, setting string }{
		{"retries", "limit", "retry_limit"},
		{"retries", "backoff", "retry_backoff"},
		{"retries", "max_backoff", "retry_max_backoff"},
		{"", "timeout", "execution_timeout"},
		{"", "concurrency", "global_execution_concurrency"},
	} {
		f := n.Field(s.key)
		if s.group != "" {
			f = n.Get(s.group).Field(s.key)
		}
		switch {
		case f == nil:
		case out.Field(s.setting) != nil:
			l.fault(f.At, join(path, s.setting), "is written here and at %s: keep one of them", out.Field(s.setting).At)
		default:
			out.Add(yamlread.Field{Key: s.setting, At: f.At, Value: f.Value})
		}
	}
	return out
}
