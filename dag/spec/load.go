package spec

import (
	"errors"
	"math"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/jobtype"
)

// Load reads a spec from YAML or JSON. file is the name that faults carry and
// against which the sub-DAG files it names are resolved. The error is [Faults].
//
// For a spec on disk pass its base name here and the tree of its directory to
// [Compile], such as os.DirFS(dir).
//
// Load checks everything that a document shows by itself; what needs the whole
// graph (names, cycles, templates, sub-DAGs) is checked by [Compile]. A document
// with faults is checked as a whole too, as far as it can be understood, so that
// all its faults are reported at once.
func Load(file string, data []byte) (*Spec, error) {
	r := reader{&collector{file: file}}
	root := parseDocument(r.collector, data)
	if root == nil {
		return nil, r.err()
	}
	s := r.spec(root)
	if r.count() > 0 {
		r.whole(s)
		return nil, r.err()
	}
	return s, nil
}

// whole adds the faults of a graph whose document is faulty: of names, templates
// and cycles. What a fault of the document may have caused is left out.
func (r reader) whole(s *Spec) {
	u := &unit{reader: r, params: s.Params, partial: true, doubtful: s.doubtful}
	for k := range s.Tasks {
		u.nameless = u.nameless || s.Tasks[k].ID == ""
	}
	u.expand(s.Tasks)
	u.circles()
}

func (r reader) spec(root *yaml.Node) *Spec {
	s := &Spec{Concurrency: DefaultConcurrency, file: r.file, root: root}
	if root.Kind != yaml.MappingNode {
		r.at(root, "a spec must be a mapping with version, name and tasks, not %s", kindOf(root))
		return s
	}
	s.doubtful = r.watched(root, "a spec", []string{"params"}, []field{
		{"version", func(n *yaml.Node) {
			if s.Version = r.number(n, "version", 0, math.MaxInt32); s.Version != Version && n.Tag == "!!int" {
				r.at(n, "version %d is not known; this program reads version %d", s.Version, Version)
			}
		}},
		{"name", func(n *yaml.Node) {
			s.Name = r.text(n, "name")
			if err := jobtype.ValidateName(s.Name); err != nil && n.Kind == yaml.ScalarNode {
				r.at(n, "%v", err)
			}
		}},
		{"concurrency", func(n *yaml.Node) { s.Concurrency = r.number(n, "concurrency", 1, MaxConcurrency) }},
		{"deadline", func(n *yaml.Node) { s.Deadline = r.duration(n, "deadline", jobtype.Duration(time.Second)) }},
		{"on_failure", func(n *yaml.Node) { r.enum(n, &s.OnFailure) }},
		{"hold_on_failure", func(n *yaml.Node) {
			s.HoldOnFailure = r.duration(n, "hold_on_failure", jobtype.Duration(time.Second))
		}},
		{"params", func(n *yaml.Node) { s.Params = r.object(n, "params") }},
		{"tasks", func(n *yaml.Node) { s.Tasks = r.tasks(n, false) }},
	})
	r.require(root, "version", "name", "tasks")
	return s
}

// require reports keys that are missing from a mapping.
func (r reader) require(n *yaml.Node, keys ...string) {
	for _, key := range keys {
		if child(n, key) == nil {
			r.at(n, "the key %q is missing", key)
		}
	}
}

// child finds the value of a key; nil if there is none.
func child(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for k := 0; k+1 < len(n.Content); k += 2 {
		if n.Content[k].Value == key {
			return n.Content[k+1]
		}
	}
	return nil
}

// keyNode finds a key itself; nil if there is none.
func keyNode(n *yaml.Node, key string) *yaml.Node {
	for k := 0; n != nil && k+1 < len(n.Content); k += 2 {
		if n.Content[k].Value == key {
			return n.Content[k]
		}
	}
	return nil
}

// enum reads one of a set of names.
func (r reader) enum(n *yaml.Node, into interface{ UnmarshalText([]byte) error }) {
	text := r.text(n, "the value")
	if n.Kind != yaml.ScalarNode {
		return
	}
	if err := into.UnmarshalText([]byte(text)); err != nil {
		var names []string
		switch into.(type) {
		case *dag.Rule:
			for v := dag.AllSuccess; v <= dag.Always; v++ {
				names = append(names, v.String())
			}
		default:
			names = []string{dag.Continue.String(), dag.Stop.String()}
		}
		r.at(n, "%q is not possible here; %s", text, suggestion(text, names))
	}
}

func (r reader) tasks(n *yaml.Node, added bool) []Task {
	items := r.list(n, "tasks", false)
	if len(items) == 0 && n.Kind == yaml.SequenceNode {
		r.at(n, "tasks is empty; declare at least one")
	}
	tasks := make([]Task, 0, len(items))
	for _, item := range items {
		tasks = append(tasks, r.task(item, added))
	}
	return tasks
}

// actions are the keys of which a task has exactly one.
func actions() []string {
	return []string{"command", "job_type", "noop", "sleep", "approval", "dag"}
}

func (r reader) task(n *yaml.Node, added bool) Task {
	t := Task{node: n}
	if n.Kind != yaml.MappingNode {
		r.at(n, "a task must be a mapping with an id and what it does, not %s", kindOf(n))
		return t
	}
	fields := slices.Concat(r.orderFields(&t), r.placeFields(&t), r.actionFields(&t))
	if added {
		fields = append(fields, field{"before", func(n *yaml.Node) { t.Before = r.texts(n, "before", true) }})
	}
	t.doubtful = r.watched(n, "a task", []string{"needs", "params", "for_each", "matrix", "per_item"}, fields)
	r.require(n, "id")
	r.checkTask(&t)
	return t
}

// orderFields are the keys that decide when a task runs.
func (r reader) orderFields(t *Task) []field {
	return []field{
		{"id", func(n *yaml.Node) {
			if t.ID = r.text(n, "id"); !taskIDPattern.MatchString(t.ID) && n.Kind == yaml.ScalarNode {
				r.at(n, "id %.70q must begin with a letter or digit and hold only letters, digits, _ and -, at most 63", t.ID)
			}
		}},
		{"needs", func(n *yaml.Node) { t.Needs = r.texts(n, "needs", true) }},
		{"when", func(n *yaml.Node) { t.When = r.text(n, "when") }},
		{"trigger_rule", func(n *yaml.Node) { r.enum(n, &t.TriggerRule) }},
		{"priority", func(n *yaml.Node) {
			t.Priority = int32(r.number(n, "priority", -1_000_000, 1_000_000))
		}},
		{"for_each", func(n *yaml.Node) {
			if n.Kind == yaml.ScalarNode && n.Tag == "!!str" {
				t.ForEachFrom = n.Value
				return
			}
			for _, item := range r.list(n, "for_each", false) {
				t.ForEach = append(t.ForEach, r.value(item, "for_each"))
			}
			if n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
				r.at(n, "for_each is empty; give it items or remove the task")
			}
		}},
		{"matrix", func(n *yaml.Node) { t.Matrix = r.matrix(n) }},
		{"per_item", func(n *yaml.Node) { t.PerItem = r.texts(n, "per_item", true) }},
	}
}

// placeFields are the keys that decide where and within what bounds a task runs.
func (r reader) placeFields(t *Task) []field {
	return []field{
		{"timeout", func(n *yaml.Node) { t.Timeout = r.duration(n, "timeout", jobtype.Duration(time.Second)) }},
		{"heartbeat_timeout", func(n *yaml.Node) {
			t.HeartbeatTimeout = r.duration(n, "heartbeat_timeout", jobtype.Duration(time.Second))
		}},
		{"retries", func(n *yaml.Node) { t.Retries = r.retries(n) }},
		{"node", func(n *yaml.Node) { t.Node = r.text(n, "node") }},
		{"labels", func(n *yaml.Node) { t.Labels = r.textMap(n, "labels") }},
		{"resources", func(n *yaml.Node) {
			t.Resources = map[string]int{}
			r.entries(n, "resources", func(key, value *yaml.Node) {
				t.Resources[key.Value] = r.number(value, "resources."+key.Value, 1, math.MaxInt32)
			})
		}},
		{"params", func(n *yaml.Node) { t.Params = r.object(n, "params") }},
	}
}

// actionFields are the keys that say what a task does.
func (r reader) actionFields(t *Task) []field {
	return []field{
		{"command", func(n *yaml.Node) {
			t.kind, t.Command = KindCommand, r.texts(n, "command", false)
			if n.Kind == yaml.SequenceNode && (len(t.Command) == 0 || t.Command[0] == "") {
				r.at(n, "command is empty; its first entry is the program")
			}
		}},
		{"job_type", func(n *yaml.Node) {
			t.kind, t.JobType = KindJobType, r.text(n, "job_type")
			if err := jobtype.ValidateName(t.JobType); err != nil && n.Kind == yaml.ScalarNode {
				r.at(n, "%v", err)
			}
		}},
		{"noop", func(n *yaml.Node) {
			if t.kind, t.Noop = KindNoop, r.truth(n, "noop"); !t.Noop && n.Tag == "!!bool" {
				r.at(n, "noop: false does nothing and says nothing; remove it")
			}
		}},
		{"sleep", func(n *yaml.Node) {
			t.kind, t.Sleep = KindSleep, r.duration(n, "sleep", jobtype.Duration(time.Millisecond))
		}},
		{"approval", func(n *yaml.Node) { t.kind, t.Approval = KindApproval, r.approval(n) }},
		{"dag", func(n *yaml.Node) {
			if t.kind, t.DAG = KindDAG, r.text(n, "dag"); t.DAG == "" && n.Kind == yaml.ScalarNode && !isNull(n) {
				r.at(n, "dag is empty; name the file of the sub-DAG")
			}
		}},
	}
}

func (r reader) matrix(n *yaml.Node) []Axis {
	var axes []Axis
	r.entries(n, "matrix", func(key, value *yaml.Node) {
		axis := Axis{Key: key.Value}
		if value.Kind == yaml.ScalarNode && value.Tag == "!!str" {
			axis.From = value.Value
			axes = append(axes, axis)
			return
		}
		for _, item := range r.list(value, "matrix."+key.Value, false) {
			axis.Values = append(axis.Values, r.value(item, "matrix."+key.Value))
		}
		if value.Kind == yaml.SequenceNode && len(value.Content) == 0 {
			r.at(value, "matrix.%s is empty; give it values", key.Value)
		}
		axes = append(axes, axis)
	})
	if n.Kind == yaml.MappingNode && len(n.Content) == 0 {
		r.at(n, "matrix is empty; give it keys with lists of values")
	}
	return axes
}

func (r reader) retries(n *yaml.Node) *Retries {
	out := &Retries{Backoff: DefaultBackoff}
	r.mapping(n, "retries", []field{
		{"limit", func(n *yaml.Node) { out.Limit = r.number(n, "retries.limit", 0, 1000) }},
		{"backoff", func(n *yaml.Node) { out.Backoff = r.duration(n, "retries.backoff", jobtype.Duration(time.Millisecond)) }},
		{"max_backoff", func(n *yaml.Node) {
			out.MaxBackoff = r.duration(n, "retries.max_backoff", jobtype.Duration(time.Millisecond))
		}},
	})
	r.require(n, "limit")
	if out.MaxBackoff > 0 && out.MaxBackoff < out.Backoff {
		r.at(child(n, "max_backoff"), "retries.max_backoff %s is below retries.backoff %s", out.MaxBackoff, out.Backoff)
	}
	return out
}

func (r reader) approval(n *yaml.Node) *Approval {
	out := &Approval{}
	r.mapping(n, "approval", []field{
		{"prompt", func(n *yaml.Node) { out.Prompt = r.text(n, "approval.prompt") }},
		{"timeout", func(n *yaml.Node) { out.Timeout = r.duration(n, "approval.timeout", jobtype.Duration(time.Second)) }},
	})
	return out
}

// IsFault reports whether err is about what somebody wrote, as opposed to a file
// that could not be read.
func IsFault(err error) bool {
	_, ok := errors.AsType[Faults](err)
	return ok
}
