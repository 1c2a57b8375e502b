package spec

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/lib/yamlread"
)

// Files reads the files of sub-DAGs. Names are slash-separated and never lead outside the tree.
type Files interface {
	ReadFile(name string) ([]byte, error)
}

// Compiled is a spec as a graph, with settings as meta, definitions as payloads, sub-DAGs as attachments.
type Compiled struct {
	Spec       *Spec
	Header     Header
	Graph      *dag.Graph
	structural map[string]bool
	subs       []*Compiled
	depth      int // of the files, with its own
}

// Compile checks the whole spec and builds the graph. files may be nil for a spec without sub-DAGs. The error is [Faults].
func Compile(s *Spec, files Files) (*Compiled, error) {
	if s.size == 0 {
		return nil, Faults{{File: cmp.Or(s.file, "spec"), Message: "a Spec is made by Load: write the DAG as YAML or JSON"}}
	}
	return compiler{files: files, done: map[string]known{}}.compile(s, []string{s.file})
}

type compiler struct {
	files Files
	done  map[string]known
}

// known is a sub-DAG that was compiled before, or its faults: each task that runs it has these.
type known struct {
	compiled *Compiled
	faults   Faults
}

type unit struct {
	compiler
	reader
	declared
	host
	gaps
	params   map[string]any
	defaults map[string]any
	chain    []string // path of files to this one, which is last
	// structural marks the params that decide which tasks exist.
	structural map[string]bool
	stops      bool
	searches   int
	subs       []*Compiled
	out        output
}

type host struct {
	run     *dag.Run
	known   func(string) ([]string, bool)
	implied string // the splitter that tasks without needs depend on
}

// gaps are missing parts of a faulty document.
type gaps struct {
	// A partial unit produces no graph. doubtful and nameless: params or ids may be missing because of a fault.
	partial, doubtful, nameless bool
}

func (c compiler) compile(s *Spec, chain []string) (*Compiled, error) {
	out, err := c.attempt(s, chain)
	if err == nil || s.text == nil {
		return out, err
	}
	if err := s.place(); err != nil {
		return nil, err
	}
	return c.attempt(s, chain)
}

func (c compiler) attempt(s *Spec, chain []string) (*Compiled, error) {
	u := &unit{
		compiler: c, reader: newReader(s.file), params: s.Params, defaults: s.Defaults, chain: chain,
		stops: s.OnFailure == dag.Stop,
	}
	u.expand(s.Tasks)
	out := &Compiled{Spec: s, structural: u.structural, subs: u.subs, depth: 1, Header: Header{
		Name: s.Name, Concurrency: s.Concurrency, Deadline: s.Deadline,
		OnFailure: s.OnFailure, HoldOnFailure: s.HoldOnFailure, Recovery: s.Recovery, FanOuts: u.out.limits, Chains: u.out.chains, Defaults: s.Defaults,
	}}
	for _, sub := range u.subs {
		out.depth = max(out.depth, 1+sub.depth)
	}
	if u.count() > 0 {
		u.circles()
		return nil, u.err()
	}
	meta, err := json.Marshal(out.Header)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.file, err)
	}
	out.Graph, err = dag.Build(dag.Input{Meta: meta, Tasks: u.out.tasks, Attachments: u.out.attachments})
	if faults, ok := errors.AsType[*dag.FaultsError](err); ok {
		u.blame(faults)
	}
	if err := u.err(); err != nil {
		return nil, err
	}
	return out, nil
}

func (u *unit) circles() {
	_, err := dag.Build(dag.Input{Tasks: u.out.tasks})
	if faults, ok := errors.AsType[*dag.FaultsError](err); ok {
		u.blame(&dag.FaultsError{Faults: slices.DeleteFunc(faults.Faults, func(f dag.Fault) bool { return f.Kind != dag.FaultCycle })})
	}
}

func (u *unit) blame(faults *dag.FaultsError) {
	for _, f := range faults.Faults {
		t := u.out.declares(f)
		if t == nil {
			u.at(nil, "%s", f.Error())
			continue
		}
		at := t.node
		switch f.Kind { //nolint:exhaustive // other kinds concern the whole task
		case dag.FaultSelfNeed, dag.FaultCycle:
			at = cmp.Or(child(t.node, "needs"), t.node)
		case dag.FaultTargetStarted:
			at = cmp.Or(child(t.node, "before"), t.node)
		case dag.FaultDuplicate, dag.FaultStarted, dag.FaultNotRedefinable:
			at = cmp.Or(child(t.node, "id"), t.node)
		}
		u.at(at, "%s", f.Error())
	}
}

func (u *unit) similar(name string) string { return u.suggest(name, u.allNames) }

func (u *unit) allNames() []string {
	known := slices.Sorted(maps.Keys(u.names))
	if u.run != nil {
		for i := range dag.Index(min(u.run.Len(), maxSimilar)) {
			known = append(known, u.run.ID(i))
		}
	}
	slices.Sort(known)
	return slices.Compact(known)
}

// suggest is [suggestion] for many names.
func (u *unit) suggest(name string, known func() []string) string {
	if u.searches++; u.searches > maxSearches {
		return "check its spelling"
	}
	return suggestion(name, known())
}

// maxSearches: each search for a similar name costs the number of tasks.
const maxSearches = 20

// maxSimilar bounds the tasks of a run searched for a similar name.
const maxSimilar = 10_000

func (u *unit) definition(t *Task) []byte {
	d := Definition{
		Kind: t.kind, Command: t.Command, JobType: t.JobType, Sleep: t.Sleep, Approval: t.Approval,
		When: t.When, Timeout: t.attemptTimeout(), HeartbeatTimeout: t.HeartbeatTimeout, Retries: t.Retries, RetryBudget: t.RetryBudget,
		Node: t.Node, Labels: t.Labels, Resources: t.Resources, Params: t.Params, Launch: programOf(u.defaults, t), PerItem: t.PerItem,
		Exclusive: t.Exclusive, Shared: t.Shared, NotBefore: t.NotBefore, ExpiresAt: t.ExpiresAt, OnWorkerLoss: t.OnWorkerLoss, Key: t.Key, KeyValid: t.KeyValid,
	}
	u.checkTemplates(t, &d)
	u.script(t, &d)
	if t.kind == KindDAG && !u.partial {
		d.SubDAG = u.subDAG(t)
	}
	encoded, err := json.Marshal(d)
	if err != nil {
		u.at(t.node, "task %q: %v", t.ID, err)
	}
	return u.out.once(encoded)
}

// The file is relative to the task's own.
func (u *unit) subDAG(t *Task) *SubDAG {
	at := cmp.Or(child(t.node, "dag"), t.node)
	if u.files == nil {
		u.at(at, "a sub-DAG file cannot be read here; only a spec that is compiled from files may name one")
		return nil
	}
	name := path.Join(path.Dir(u.file), t.DAG)
	if path.IsAbs(t.DAG) || name == ".." || strings.HasPrefix(name, "../") {
		u.at(at, "dag %q leads outside the tree of files that the spec may read; move the file into it", t.DAG)
		return nil
	}
	if k := slices.Index(u.chain, name); k >= 0 {
		u.at(at, "sub-DAG files contain each other in a circle: %s", strings.Join(append(u.chain[k:], name), " → "))
		return nil
	}
	if len(u.chain) >= MaxDepth {
		return u.tooDeep(at)
	}
	compiled := u.sub(at, name, nil)
	if compiled == nil {
		return nil
	}
	if len(u.chain)+compiled.depth > MaxDepth {
		return u.tooDeep(at)
	}
	declared := u.checkSubParams(t, compiled.Spec)
	if structural := u.structuralParams(t, compiled); len(structural) > 0 {
		if compiled = u.sub(at, name, structural); compiled == nil {
			return nil
		}
	}
	u.subs = append(u.subs, compiled)
	encoded := compiled.Graph.Encode()
	u.out.attachments = append(u.out.attachments, encoded)
	sum := sha256.Sum256(encoded)
	return &SubDAG{File: name, Hash: hex.EncodeToString(sum[:]), Declared: declared}
}

func (u *unit) tooDeep(at *yamlread.Node) *SubDAG {
	u.at(at, "sub-DAGs nest deeper than %d files", MaxDepth)
	return nil
}

func (u *unit) sub(at *yamlread.Node, name string, params map[string]any) *Compiled {
	encoded, err := json.Marshal(params)
	if err != nil {
		u.at(at, "the params of sub-DAG %q: %v", name, err)
		return nil
	}
	key := name + " " + string(encoded)
	sub, ok := u.done[key]
	if !ok {
		if sub, ok = u.loadSub(at, name, params); !ok {
			return nil
		}
		u.done[key] = sub
	}
	for _, f := range sub.faults {
		u.add(f)
	}
	return sub.compiled
}

func (u *unit) loadSub(at *yamlread.Node, name string, params map[string]any) (sub known, ok bool) {
	if len(u.done) >= MaxSubDAGs {
		u.at(at, "the spec has more than %d sub-DAGs; each list of items for the same file counts as one", MaxSubDAGs)
		return sub, false
	}
	data, err := u.files.ReadFile(name)
	if err != nil {
		u.at(at, "sub-DAG %q cannot be read: %v", name, err)
		return sub, false
	}
	s, err := Load(name, data)
	if err == nil {
		maps.Copy(s.Params, params)
		sub.compiled, err = u.compile(s, append(slices.Clone(u.chain), name))
	}
	if sub.faults, ok = errors.AsType[Faults](err); err != nil && !ok {
		u.at(at, "sub-DAG %q: %v", name, err)
		return sub, false
	}
	return sub, true
}
