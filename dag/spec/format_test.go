package spec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/roundsman/roundsman/dag"
)

// Marshal writes a spec in its canonical form: keys in the order of the language, no defaults, lists
// of words on one line. Loading the result gives the same spec; marshalling that gives the same bytes.
func Marshal(s *Spec) ([]byte, error) {
	b := &mapBuilder{n: &yaml.Node{Kind: yaml.MappingNode}}
	b.put("version", strconv.Itoa(s.Version), true)
	b.put("name", s.Name, true)
	b.put("concurrency", strconv.Itoa(s.Concurrency), s.Concurrency != DefaultConcurrency)
	b.put("deadline", s.Deadline.String(), s.Deadline > 0)
	b.put("on_failure", s.OnFailure.String(), s.OnFailure != dag.Continue)
	b.put("hold_on_failure", s.HoldOnFailure.String(), s.HoldOnFailure > 0)
	b.text("recovery", string(s.Recovery))
	if len(s.Params) > 0 {
		b.node("params", b.any(s.Params))
	}
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for k := range s.Tasks {
		n, err := taskNode(&s.Tasks[k])
		if err != nil {
			return nil, err
		}
		list.Content = append(list.Content, n)
	}
	b.node("tasks", list)
	if b.err != nil {
		return nil, b.err
	}
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(b.n); err != nil {
		return nil, fmt.Errorf("write spec %q: %w", s.Name, err)
	}
	return out.Bytes(), e.Close()
}

func taskNode(t *Task) (*yaml.Node, error) {
	b := &mapBuilder{n: &yaml.Node{Kind: yaml.MappingNode}}
	b.text("id", t.ID)
	b.words("needs", t.Needs)
	b.text("when", t.When)
	b.put("trigger_rule", t.TriggerRule.String(), t.TriggerRule != dag.AllSuccess)
	b.put("priority", strconv.Itoa(int(t.Priority)), t.Priority != 0)
	b.put("timeout", t.Timeout.String(), t.Timeout > 0)
	b.put("heartbeat_timeout", t.HeartbeatTimeout.String(), t.HeartbeatTimeout > 0)
	if r := t.Retries; r != nil {
		sub := &mapBuilder{n: &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}}
		sub.put("limit", strconv.Itoa(r.Limit), true)
		sub.put("backoff", r.Backoff.String(), r.Backoff != DefaultBackoff)
		sub.put("max_backoff", r.MaxBackoff.String(), r.MaxBackoff > 0)
		b.node("retries", sub.n)
	}
	b.text("node", t.Node)
	b.textMap("labels", t.Labels)
	if len(t.Resources) > 0 {
		b.node("resources", b.any(t.Resources))
	}
	b.words("exclusive", t.Exclusive)
	b.words("shared", t.Shared)
	b.put("not_before", t.NotBefore.Format(time.RFC3339), !t.NotBefore.IsZero())
	b.put("expires_at", t.ExpiresAt.Format(time.RFC3339), !t.ExpiresAt.IsZero())
	b.text("on_worker_loss", string(t.OnWorkerLoss))
	if len(t.Params) > 0 {
		b.node("params", b.any(t.Params))
	}
	b.words("per_item", t.PerItem)
	b.put("concurrency", strconv.Itoa(t.Concurrency), t.Concurrency > 0)
	b.put("items_in_flight", strconv.Itoa(t.ItemsInFlight), t.ItemsInFlight > 0)
	if t.OnItemFailure != nil {
		b.text("on_item_failure", t.OnItemFailure.String())
	}
	b.text("for_each", t.ForEachFrom)
	if len(t.ForEach) > 0 {
		b.node("for_each", b.any(t.ForEach))
	}
	if len(t.Matrix) > 0 {
		sub := &mapBuilder{n: &yaml.Node{Kind: yaml.MappingNode}}
		for _, axis := range t.Matrix {
			if axis.From != "" {
				sub.node(axis.Key, textNode(axis.From))
				continue
			}
			sub.node(axis.Key, b.any(axis.Values))
		}
		b.node("matrix", sub.n)
	}
	b.words("before", t.Before)
	b.action(t)
	return b.n, b.err
}

func (b *mapBuilder) action(t *Task) {
	switch t.kind {
	case KindCommand:
		b.words("command", t.Command)
	case KindJobType:
		b.text("job_type", t.JobType)
	case KindNoop:
		b.put("noop", "true", true)
	case KindSleep:
		b.put("sleep", t.Sleep.String(), true)
	case KindApproval:
		sub := &mapBuilder{n: &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}}
		sub.text("prompt", t.Approval.Prompt)
		sub.put("timeout", t.Approval.Timeout.String(), t.Approval.Timeout > 0)
		b.node("approval", sub.n)
	case KindDAG:
		b.text("dag", t.DAG)
	}
}

// mapBuilder builds a mapping node key by key.
type mapBuilder struct {
	n   *yaml.Node
	err error
}

func (b *mapBuilder) node(key string, value *yaml.Node) {
	k := &yaml.Node{}
	k.SetString(key)
	b.n.Content = append(b.n.Content, k, value)
}

// put writes a plain scalar if it differs from its default.
func (b *mapBuilder) put(key, value string, differs bool) {
	if differs {
		b.node(key, &yaml.Node{Kind: yaml.ScalarNode, Value: value})
	}
}

// text writes non-empty text, quoted if YAML would read another value.
func (b *mapBuilder) text(key, value string) {
	if value != "" {
		b.node(key, textNode(value))
	}
}

func textNode(value string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(value)
	return n
}

func (b *mapBuilder) words(key string, list []string) {
	if len(list) == 0 {
		return
	}
	n := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, w := range list {
		t := textNode(w)
		if t.Style == yaml.LiteralStyle {
			t.Style = yaml.DoubleQuotedStyle
		}
		n.Content = append(n.Content, t)
	}
	b.node(key, n)
}

func (b *mapBuilder) textMap(key string, m map[string]string) {
	if len(m) == 0 {
		return
	}
	sub := &mapBuilder{n: &yaml.Node{Kind: yaml.MappingNode}}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		sub.node(k, textNode(m[k]))
	}
	b.node(key, sub.n)
}

// any writes a value of params. Numbers keep their spelling.
func (b *mapBuilder) any(v any) *yaml.Node {
	switch v := v.(type) {
	case string:
		return textNode(v)
	case json.Number:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: v.String()}
	case map[string]any:
		sub := &mapBuilder{n: &yaml.Node{Kind: yaml.MappingNode}}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			sub.node(k, b.any(v[k]))
		}
		return sub.n
	case []any:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for _, item := range v {
			n.Content = append(n.Content, b.any(item))
		}
		return n
	}
	n := &yaml.Node{}
	if err := n.Encode(v); err != nil && b.err == nil {
		b.err = fmt.Errorf("write a value of the spec: %w", err)
	}
	return n
}
