package spec

import (
	"errors"
	"math"
	"slices"
	"time"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/internal/lib/yamlread"
	"github.com/roundsman/roundsman/jobtype"
)

// Load reads a spec from YAML or JSON. file is the base of the sub-DAG files in it. The error is [Faults].
//
// Load checks the document alone, [Compile] the whole graph. For a faulty document Load checks the graph too, as far
// as possible, so that all faults are reported at once.
//
// Of a large document without faults Load keeps only the text, which must not be modified.
func Load(file string, data []byte) (*Spec, error) {
	if len(data) >= largeFrom {
		if s := loadLarge(file, data); s != nil {
			return s, nil
		}
	}
	return loadWhole(file, data)
}

// The tree takes fifty times the size of the document.
func loadWhole(file string, data []byte) (*Spec, error) {
	r := newReader(file)
	root := parseDocument(r.collector, data, false)
	if root == nil {
		return nil, r.err()
	}
	s := r.spec(root, func(n *yamlread.Node) []Task { return r.tasks(n, false) })
	s.size = len(data)
	if r.count() > 0 {
		r.whole(s)
		return nil, r.err()
	}
	return s, nil
}

// whole omits possible consequences of other faults.
func (r reader) whole(s *Spec) {
	u := &unit{reader: r, params: s.Params, gaps: gaps{partial: true, doubtful: s.doubtful}, stops: s.OnFailure == dag.Stop}
	for k := range s.Tasks {
		u.nameless = u.nameless || s.Tasks[k].ID == ""
	}
	u.expand(s.Tasks)
	u.circles()
}

func (r reader) spec(root *yamlread.Node, tasks func(*yamlread.Node) []Task) *Spec {
	s := &Spec{Concurrency: DefaultConcurrency, file: r.file}
	if root.Kind != yamlread.Object {
		r.at(root, "a spec must be a mapping with version, name and tasks, not %s", kindOf(root))
		return s
	}
	if types := root.Get("job_types"); types != nil {
		r.at(types, "this is a configuration, not a DAG: check it with `roundsman validate --config FILE`, apply it with `roundsman apply`")
		return s
	}
	s.doubtful = r.watched(root, "a spec", []string{"params"}, []field{
		{"version", func(n *yamlread.Node) {
			if s.Version = r.number(n, "version", 0, math.MaxInt32); s.Version != Version && n.Kind == yamlread.Integer {
				r.at(n, "version %d is not known; this program reads version %d", s.Version, Version)
			}
		}},
		{"name", func(n *yamlread.Node) {
			s.Name = r.text(n, "name")
			if err := jobtype.ValidateName(s.Name); err != nil && isScalar(n) {
				r.at(n, "%v", err)
			}
		}},
		{"concurrency", func(n *yamlread.Node) { s.Concurrency = r.number(n, "concurrency", 1, MaxConcurrency) }},
		{"deadline", func(n *yamlread.Node) { s.Deadline = r.duration(n, "deadline", jobtype.Duration(time.Second)) }},
		{"on_failure", func(n *yamlread.Node) { r.enum(n, &s.OnFailure) }},
		{"hold_on_failure", func(n *yamlread.Node) {
			s.HoldOnFailure = r.duration(n, "hold_on_failure", jobtype.Duration(time.Second))
		}},
		{"recovery", func(n *yamlread.Node) { s.Recovery = r.recovery(n) }},
		{"params", func(n *yamlread.Node) { s.Params, s.written = r.object(n, "params"), n }},
		{"defaults", func(n *yamlread.Node) {
			s.defaults = n
			r.mapping(n, "defaults", r.launchKeys(&s.Defaults))
		}},
		{"tasks", func(n *yamlread.Node) { s.Tasks = tasks(n) }},
	})
	r.require(root, "version", "name", "tasks")
	return s
}

func (r reader) require(n *yamlread.Node, keys ...string) {
	for _, key := range keys {
		if child(n, key) == nil {
			r.at(n, "the key %q is missing", key)
		}
	}
}

func (r reader) enum(n *yamlread.Node, into interface{ UnmarshalText([]byte) error }) {
	text := r.text(n, "the value")
	if !isScalar(n) {
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

func (r reader) tasks(n *yamlread.Node, added bool) []Task {
	items := r.list(n, "tasks", false)
	if len(items) == 0 && n.Kind == yamlread.List {
		r.at(n, "tasks is empty; declare at least one")
	}
	return lists.Map(items, func(item *yamlread.Node) Task { return r.task(item, added) })
}

func actions() []string {
	return []string{"command", "shell", "job_type", "noop", "sleep", "approval", "dag"}
}

func (r reader) task(n *yamlread.Node, added bool) Task {
	t := Task{Settings: &Settings{}, node: n}
	if n.Kind != yamlread.Object {
		r.at(n, "a task must be a mapping with an id and what it does, not %s", kindOf(n))
		return t
	}
	fields := slices.Concat(r.orderFields(&t), r.placeFields(&t), r.actionFields(&t))
	if added {
		fields = append(fields, field{"before", func(n *yamlread.Node) { t.Before = r.texts(n, "before", true) }})
	}
	if beyond(n, fields) {
		fields = append(fields, r.launchKeys(&t.Launch)...)
	}
	t.doubtful = r.watched(n, "a task", []string{"needs", "params", "for_each", "matrix", "per_item"}, fields)
	r.require(n, "id")
	r.checkTask(&t)
	r.share(&t)
	return t
}

func (r reader) orderFields(t *Task) []field {
	return []field{
		{"id", func(n *yamlread.Node) {
			if t.ID = r.text(n, "id"); !taskIDPattern.MatchString(t.ID) && isScalar(n) {
				r.at(n, "id %.70q must begin with a letter or digit and hold only letters, digits, _ and -, at most 63", t.ID)
			}
		}},
		{"needs", func(n *yamlread.Node) { t.Needs = r.texts(n, "needs", true) }},
		{"when", func(n *yamlread.Node) { t.When = r.text(n, "when") }},
		{"trigger_rule", func(n *yamlread.Node) { r.enum(n, &t.TriggerRule) }},
		{"priority", func(n *yamlread.Node) {
			t.Priority = int32(r.number(n, "priority", -1_000_000, 1_000_000))
		}},
		{"for_each", func(n *yamlread.Node) {
			if n.Kind == yamlread.Text {
				t.ForEachFrom = n.Literal
				return
			}
			for _, item := range r.list(n, "for_each", false) {
				t.ForEach = append(t.ForEach, item.Plain())
			}
			if n.Kind == yamlread.List && len(n.Items) == 0 {
				r.at(n, "for_each is empty; give it items or remove the task")
			}
		}},
		{"matrix", func(n *yamlread.Node) { t.Matrix = r.matrix(n) }},
		{"per_item", func(n *yamlread.Node) { t.PerItem = r.texts(n, "per_item", true) }},
		{"concurrency", func(n *yamlread.Node) { t.Concurrency = r.number(n, "concurrency", 1, MaxConcurrency) }},
		{"items_in_flight", func(n *yamlread.Node) { t.ItemsInFlight = r.number(n, "items_in_flight", 1, MaxConcurrency) }},
		{"on_item_failure", func(n *yamlread.Node) {
			t.OnItemFailure = new(dag.FailurePolicy)
			r.enum(n, t.OnItemFailure)
		}},
	}
}

func (r reader) placeFields(t *Task) []field {
	return []field{
		{"timeout", func(n *yamlread.Node) { t.Timeout = r.duration(n, "timeout", jobtype.Duration(time.Second)) }},
		{"heartbeat_timeout", func(n *yamlread.Node) {
			t.HeartbeatTimeout = r.duration(n, "heartbeat_timeout", jobtype.Duration(time.Second))
		}},
		{"retries", func(n *yamlread.Node) { t.Retries = r.retries(n) }},
		{"retry_budget", func(n *yamlread.Node) { t.RetryBudget = r.retryBudget(n) }},
		{"node", func(n *yamlread.Node) { t.Node = r.text(n, "node") }},
		{"labels", func(n *yamlread.Node) { t.Labels = r.textMap(n, "labels") }},
		{"resources", func(n *yamlread.Node) {
			t.Resources = map[string]int{}
			for _, f := range r.entries(n, "resources") {
				if err := jobtype.ValidateName(f.Key); err != nil {
					r.on(f.At, "resources: %v", err)
				}
				t.Resources[f.Key] = r.number(f.Value, "resources."+f.Key, 1, math.MaxInt32)
			}
		}},
		{"exclusive", func(n *yamlread.Node) { t.Exclusive = r.texts(n, "exclusive", true) }},
		{"shared", func(n *yamlread.Node) { t.Shared = r.texts(n, "shared", true) }},
		{"not_before", func(n *yamlread.Node) { t.NotBefore = r.instant(n, "not_before") }},
		{"expires_at", func(n *yamlread.Node) { t.ExpiresAt = r.instant(n, "expires_at") }},
		{"on_worker_loss", func(n *yamlread.Node) { t.OnWorkerLoss = r.workerLoss(n) }},
		{"key", func(n *yamlread.Node) {
			if t.Key = r.text(n, "key"); t.Key == "" && isScalar(n) {
				r.at(n, "key is empty: name what the task does, or remove it")
			}
		}},
		{"key_valid", func(n *yamlread.Node) {
			if t.KeyValid = r.duration(n, "key_valid", jobtype.Duration(time.Second)); t.KeyValid > MaxKeyValid {
				r.at(n, "key_valid %s is too long: a result is kept for %s at most", t.KeyValid, MaxKeyValid)
			}
		}},
		{"params", func(n *yamlread.Node) { t.Params = r.object(n, "params") }},
	}
}

func (r reader) workerLoss(n *yamlread.Node) jobtype.OnWorkerLoss {
	return jobtype.OnWorkerLoss(r.oneOf(n, "on_worker_loss", string(jobtype.WorkerLossReplace), string(jobtype.WorkerLossFail), string(jobtype.WorkerLossHold)))
}

func (r reader) recovery(n *yamlread.Node) jobtype.Recovery {
	return jobtype.Recovery(r.oneOf(n, "recovery", string(jobtype.RecoveryResume), string(jobtype.RecoveryFail)))
}

func (r reader) oneOf(n *yamlread.Node, key string, names ...string) string {
	text := r.text(n, key)
	if isScalar(n) && !slices.Contains(names, text) {
		r.at(n, "%q is not possible here; %s", text, suggestion(text, names))
	}
	return text
}

func (r reader) actionFields(t *Task) []field {
	return []field{
		{"command", func(n *yamlread.Node) {
			t.kind, t.Command = KindCommand, r.texts(n, "command", false)
			if n.Kind == yamlread.List && (len(t.Command) == 0 || t.Command[0] == "") {
				r.at(n, "command is empty; its first entry is the program")
			}
		}},
		{"shell", func(n *yamlread.Node) { t.kind, t.Shell = KindCommand, r.shell(n) }},
		{"job_type", func(n *yamlread.Node) {
			t.kind, t.JobType = KindJobType, r.text(n, "job_type")
			if err := jobtype.ValidateName(t.JobType); err != nil && isScalar(n) {
				r.at(n, "%v", err)
			}
		}},
		{"noop", func(n *yamlread.Node) {
			if t.kind, t.Noop = KindNoop, r.truth(n, "noop"); !t.Noop && n.Kind == yamlread.Bool {
				r.at(n, "noop: false does nothing and says nothing; remove it")
			}
		}},
		{"sleep", func(n *yamlread.Node) {
			t.kind, t.Sleep = KindSleep, r.duration(n, "sleep", jobtype.Duration(time.Millisecond))
		}},
		{"approval", func(n *yamlread.Node) { t.kind, t.Approval = KindApproval, r.approval(n) }},
		{"dag", func(n *yamlread.Node) {
			if t.kind, t.DAG = KindDAG, r.text(n, "dag"); t.DAG == "" && isScalar(n) {
				r.at(n, "dag is empty; name the file of the sub-DAG")
			}
		}},
	}
}

func (r reader) matrix(n *yamlread.Node) []Axis {
	var axes []Axis
	for _, f := range r.entries(n, "matrix") {
		axis := Axis{Key: f.Key}
		if f.Value.Kind == yamlread.Text {
			axis.From = f.Value.Literal
			axes = append(axes, axis)
			continue
		}
		for _, item := range r.list(f.Value, "matrix."+f.Key, false) {
			axis.Values = append(axis.Values, item.Plain())
		}
		if f.Value.Kind == yamlread.List && len(f.Value.Items) == 0 {
			r.at(f.Value, "matrix.%s is empty; give it values", f.Key)
		}
		axes = append(axes, axis)
	}
	if n.Kind == yamlread.Object && len(n.Fields) == 0 {
		r.at(n, "matrix is empty; give it keys with lists of values")
	}
	return axes
}

func (r reader) retries(n *yamlread.Node) *Retries {
	out := &Retries{Backoff: DefaultBackoff}
	r.mapping(n, "retries", []field{
		{"limit", func(n *yamlread.Node) { out.Limit = r.number(n, "retries.limit", 0, 1000) }},
		{"backoff", func(n *yamlread.Node) {
			out.Backoff = r.duration(n, "retries.backoff", jobtype.Duration(time.Millisecond))
		}},
		{"max_backoff", func(n *yamlread.Node) {
			out.MaxBackoff = r.duration(n, "retries.max_backoff", jobtype.Duration(time.Millisecond))
		}},
	})
	r.require(n, "limit")
	if out.MaxBackoff > 0 && out.MaxBackoff < out.Backoff {
		r.at(child(n, "max_backoff"), "retries.max_backoff %s is below retries.backoff %s", out.MaxBackoff, out.Backoff)
	}
	return out
}

func (r reader) approval(n *yamlread.Node) *Approval {
	out := &Approval{}
	r.mapping(n, "approval", []field{
		{"prompt", func(n *yamlread.Node) { out.Prompt = r.text(n, "approval.prompt") }},
		{"timeout", func(n *yamlread.Node) { out.Timeout = r.duration(n, "approval.timeout", jobtype.Duration(time.Second)) }},
	})
	return out
}

// IsFault reports whether err is a fault of a document, not an unreadable file.
func IsFault(err error) bool {
	_, ok := errors.AsType[Faults](err)
	return ok
}
