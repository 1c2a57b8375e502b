package config

import "github.com/roundsman/roundsman/internal/lib/yamlread"

type spelling struct {
	keys    []string // of the task
	setting string   // of the policy
}

func spellings() []spelling {
	return []spelling{
		{[]string{"retries", "limit"}, "retry_limit"},
		{[]string{"retries", "backoff"}, "retry_backoff"},
		{[]string{"retries", "max_backoff"}, "retry_max_backoff"},
		{[]string{"timeout"}, "execution_timeout"},
		{[]string{"concurrency"}, "global_execution_concurrency"},
	}
}

// spelled returns the policy with a DAG task's spellings replaced by its own, so that both spellings
// work.
func (l *loader) spelled(n *yamlread.Node, path string) *yamlread.Node {
	if n == nil || n.Kind != yamlread.Object {
		return n
	}
	out := n.Without("retries", "timeout", "concurrency")
	l.object(n.Get("retries"), join(path, "retries"), "limit", "backoff", "max_backoff")
	for _, s := range spellings() {
		f := n.Field(s.keys[0])
		if len(s.keys) > 1 {
			f = n.Get(s.keys[0]).Field(s.keys[1])
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
