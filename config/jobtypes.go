package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/ref"
	"github.com/roundsman/roundsman/internal/lib/launch"
	"github.com/roundsman/roundsman/internal/lib/suggest"
	"github.com/roundsman/roundsman/internal/lib/yamlread"
	"github.com/roundsman/roundsman/jobtype"
)

// The spec is the argument of every group, and Temporal refuses inputs above 2 MiB.
const maxSpecBytes = 512 << 10

func jobTypeKeys() []string {
	return []string{"handler", "dag", "detect_on", "each_worker", "labels", "description", "enabled", "lane", "approvals_keep_lane", "schedule", "windows", "blackouts", "after", "run_if_not_succeeded_for", "policy", "resources", "retry_budget", "notify", "batch", "params", "detect", "execute"}
}

// jobTypeKeys refuses unknown keys. A key of programs gets a hint to the block of the program, if the handler has one.
func (r *reader) jobTypeKeys(n *yamlread.Node, path string) {
	allowed := jobTypeKeys()
	handler := n.Get("handler")
	programs := n.Get("dag") == nil && (handler == nil || handler.Literal == contract.CommandHandler)
	for _, f := range n.Fields {
		if block := launch.BlockOf(f.Key); programs && block != "" && !slices.Contains(jobTypeKeys(), f.Key) {
			r.fault(f.At, join(path, f.Key), "belongs to a program: write it in %s", block)
			allowed = append(allowed, f.Key)
		}
	}
	r.object(n, path, allowed...)
}

func (l *loader) jobTypes(root *yamlread.Node, loaded *Config) map[string]JobType {
	section := root.Get("job_types")
	types := map[string]JobType{}
	if section == nil {
		l.warn(root.Place(), "job_types", "there are no job types: nothing will ever run, and `apply` removes those that it made")
	}
	for _, f := range l.namedBy(section, "job_types", "job types", ref.ValidateJobType) {
		types[f.Key] = l.jobType(f, join("job_types", f.Key), loaded)
	}
	l.chains(section, types)
	l.clusterUsers(root, loaded, types)
	l.unusedLanes(root.Get("lanes"), types)
	return types
}

// unusedLanes warns of lanes that no job type names. Their order and windows have no effect.
func (l *loader) unusedLanes(section *yamlread.Node, types map[string]JobType) {
	used := map[string]bool{}
	for _, declared := range types {
		used[declared.Lane] = true
	}
	if section == nil || len(types) == 0 {
		return
	}
	for _, f := range section.Fields {
		if !used[f.Key] {
			l.warn(f.At, join("lanes", f.Key), "no job type names it: write `lane: %s` in those that are to take turns in it", f.Key)
		}
	}
}

// Handlers of one system find the same faults in the cluster block, which are reported once.
func (l *loader) clusterUsers(root *yamlread.Node, loaded *Config, types map[string]JobType) {
	known := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(types)) {
		user, ok := l.options.Validators[types[name].Handler].(jobtype.ClusterUser)
		if !ok {
			continue
		}
		for _, err := range joined(user.ValidateCluster(loaded.Cluster)) {
			if text := err.Error(); !known[text] {
				known[text] = true
				l.fault(root.Follow([]string{"cluster"}).Place(), "cluster", "%s", strings.TrimPrefix(text, "cluster: "))
			}
		}
	}
}

type entry struct {
	name    string
	node    *yamlread.Node
	path    string
	handler *handler
}

func (e entry) blame(keys ...string) yamlread.Place { return e.node.Follow(keys).Place() }

func (l *loader) jobType(f yamlread.Field, path string, loaded *Config) JobType {
	read := JobType{Enabled: true}
	e := entry{name: f.Key, node: f.Value, path: path}
	if f.Value.Kind != yamlread.Object {
		l.fault(f.At, path, "is %s, but must be an object with at least handler or dag", f.Value.Kind)
		return read
	}
	// An object that begins on the next line is reported at its name.
	e.node.MoveTo(f.At)
	if written := e.node.Field("policy"); written != nil {
		written.Value = l.spell(written.Value, path+".policy")
	}
	l.jobTypeKeys(e.node, path)
	if e.node.Get("dag") == nil {
		l.text(e.node.Get("handler"), path+".handler", &read.Handler)
	}
	l.text(e.node.Get("description"), path+".description", &read.Description)
	l.flag(e.node.Get("enabled"), path+".enabled", &read.Enabled)
	l.text(e.node.Get("lane"), path+".lane", &read.Lane)
	l.lane(e, read.Lane, loaded.Lanes)
	if e.node.Get("dag") == nil {
		e.handler = l.handler(e, read.Handler)
	}
	var interval jobtype.Duration
	read.Schedule, interval = l.schedule(e)
	read.Policy, read.Interval = l.policy(e, interval), interval
	read.fromHandler = e.fromHandler()
	read.Resources = l.jobResources(e, loaded.Resources)
	read.RetryBudget = l.retryBudget(e)
	read.Notify = l.notifyRules(e.node.Get("notify"), path+".notify", &loaded.Notify)
	read.Batch = l.batch(e)
	read.Calendar = l.calendar(e.node, path, read.Schedule.Timezone)
	l.windowOddities(e, read, loaded.Lanes[read.Lane].Calendar)
	e.asText()
	read.Params = l.raw(e.node.Get("params"), path+".params")
	read.Detect = l.raw(e.node.Get("detect"), path+".detect")
	read.Execute = l.raw(e.node.Get("execute"), path+".execute")
	l.everyWorker(e, &read)
	l.policyFaults(e, read)
	l.successes(e, &read)
	l.settings(e, read)
	if read.source = l.dag(e, read); read.source != nil {
		read.DAG = read.source.File
	}
	l.oddities(e, read)
	l.commandOddities(e)
	if size := len(read.Params) + len(read.Detect) + len(read.Execute) + len(loaded.Cluster) + sourceBytes(read.source); size > maxSpecBytes {
		l.fault(e.blame(), path, "params, detect, execute, dag and cluster have %d bytes, the limit is %d: keep data in files and name them", size, maxSpecBytes)
	}
	return read
}

func sourceBytes(source *contract.DAGSource) int {
	if source == nil {
		return 0
	}
	size := len(source.Text)
	for name, text := range source.Files {
		size += len(name) + len(text)
	}
	return size
}

func (l *loader) lane(e entry, name string, lanes map[string]Lane) {
	written := e.node.Get("lane")
	if written == nil || written.Kind != yamlread.Text {
		return
	}
	if _, known := lanes[name]; !known {
		l.fault(written.Place(), e.path+".lane", "there is no lane %q%s: declare it with `lanes: {%s: {}}`", name, suggest.Clause(name, sortedKeys(lanes)), name)
	}
}

func (l *loader) handler(e entry, name string) *handler {
	written := e.node.Get("handler")
	if written == nil {
		l.fault(e.blame(), e.path+".handler", "is missing%s; dag names the file of a DAG instead", suggest.Clause("", l.names))
		return nil
	}
	if found, known := l.handlers[name]; known {
		return &found
	}
	if written.Kind != yamlread.Text {
		return nil
	}
	if l.options.AllowUnregistered {
		l.warn(written.Place(), e.path+".handler", "no handler %q is known here: its params stay unchecked, its jobs wait for a worker that has it", name)
		return nil
	}
	l.fault(written.Place(), e.path+".handler", "there is no handler %q%s (--allow-unregistered accepts handlers that only workers know)", name, suggest.Clause(name, l.names))
	return nil
}

// oddities warns of combinations that work differently from their likely intent.
func (l *loader) oddities(e entry, read JobType) {
	if e.node.Get("dag") != nil {
		l.dagOddities(e)
	}
	policy, path := read.Policy, e.path+".policy"
	written := e.node.Get("policy")
	at := func(key string) yamlread.Place { return e.blame("policy", key) }
	if policy.Routing == jobtype.RoutingShared {
		l.sharedOddities(e, written)
	}
	if policy.ExecutionTimeout > policy.MaxRuntime && written.Get("execution_timeout") != nil {
		l.warn(at("execution_timeout"), path+".execution_timeout", "%s is longer than max_runtime, %s: a job gets the time that is left of the group", policy.ExecutionTimeout, policy.MaxRuntime)
	}
	if policy.PerWorkerExecutionConcurrency > policy.GlobalExecutionConcurrency && written.Get("per_worker_execution_concurrency") != nil {
		l.warn(at("per_worker_execution_concurrency"), path+".per_worker_execution_concurrency", "%d has no effect above global_execution_concurrency, %d", policy.PerWorkerExecutionConcurrency, policy.GlobalExecutionConcurrency)
	}
	if policy.OnDisconnect != jobtype.DisconnectStop && written.Get("stop_after") != nil {
		l.warn(at("stop_after"), path+".stop_after", "has no effect without on_disconnect: stop")
	}
	if policy.Liveness == jobtype.LivenessProcess && written.Get("stall_timeout") != nil {
		l.warn(at("stall_timeout"), path+".stall_timeout", "has no effect under liveness process: only progress_timeout and execution_timeout find a hang")
	}
}

// On a shared queue the fastest worker gets the job, so a pin has no effect.
func (l *loader) sharedOddities(e entry, policy *yamlread.Node) {
	if policy.Get("per_worker_execution_concurrency") != nil {
		l.warn(e.blame("policy", "per_worker_execution_concurrency"), e.path+".policy.per_worker_execution_concurrency",
			"under routing shared only the worker's own gate keeps this limit: a job that finds it shut goes back to the queue")
	}
	for _, block := range []string{"params", "detect", "execute"} {
		for _, pin := range []string{"node", "labels"} {
			if found := e.node.Get(block).Get(pin); found != nil {
				l.warn(found.Place(), strings.Join([]string{e.path, block, pin}, "."),
					"routing shared cannot honor pins: proposals that name a node or labels fail; use routing worker")
			}
		}
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
