package graph

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"sync"
)

// Limits of every graph. They bound the allocations of a decoder for a corrupt or hostile encoding.
const (
	// MaxTasks is the largest number of tasks of one graph or run.
	MaxTasks = 1 << 22
	// MaxEdges is the largest number of dependencies of one graph or run.
	MaxEdges = 1 << 25
	// MaxIDLength is the longest task id in bytes.
	MaxIDLength = 255
	maxIDBytes  = 1 << 26
)

// Task is one declared node of a graph.
type Task struct {
	// ID names the task; unique, not empty, at most MaxIDLength bytes.
	ID string
	// Needs holds the ids of its dependencies, in any order. Repeated ids are harmless.
	Needs []string
	// Priority orders ready tasks: the highest starts first. Default 0.
	Priority int32
	// Rule is the trigger rule. Default AllSuccess.
	Rule Rule
	// Unmetered tasks take no place under the concurrency limit: waits (sleep, approval) that use no worker.
	Unmetered bool
	// Gated tasks need external resources. They start without a place and take one after EventAdmit. Unmetered tasks
	// cannot be gated.
	Gated bool
	// FanOut tasks stand for a fan-out whose tasks another task adds (dag.Addition.Under). They are unmetered.
	FanOut bool
	// Payload is the task's definition, opaque here. Equal payloads are stored once.
	Payload []byte
	// Second opaque payload, for tasks that share one definition (the item of a fan-out).
	Args []byte
}

// Input is the input of [Build].
type Input struct {
	// Meta is opaque and belongs to the graph as a whole (name, limits, …).
	Meta []byte
	// Tasks in declaration order.
	Tasks []Task
	// Opaque blobs found by their SHA-256 (the encoded graph of a sub-DAG).
	Attachments [][]byte
}

// Graph is an immutable directed acyclic graph in compressed sparse rows. It is safe for concurrent use.
type Graph struct {
	meta        []byte
	ids         idTable
	needsOff    []uint32 // needs of i: needs[needsOff[i]:needsOff[i+1]], ascending
	needs       []Index
	depsOff     []uint32 // dependants of i, ascending
	deps        []Index
	attrs       []Attr
	priority    []int32    // nil if every task has priority 0
	rank        []Index    // position of task i in start order; nil if that is i itself
	byRank      []Index    // inverse of rank
	payload     []int32    // index into blobs, -1 for none; nil without payloads
	args        []int32    // the same for Task.Args
	blobs       [][]byte   // distinct payloads and args, in the order of first use
	attachments [][]byte   // in ascending order of their SHA-256
	attachIDs   [][32]byte // their SHA-256

	encodeOnce sync.Once
	encoded    []byte
	hash       [32]byte
}

// Attr packs a task's rule (low bits) and its use of places.
type Attr uint8

const (
	attrRuleMask  Attr = 3
	attrUnmetered Attr = 4
	attrGated     Attr = 8
	attrFanOut         = attrUnmetered | attrGated // no task is unmetered and gated at once
	// AttrMax is the union of all attributes.
	AttrMax = attrRuleMask | attrFanOut
)

// NewAttr returns the attributes of a task.
func NewAttr(t *Task) Attr {
	a := Attr(t.Rule)
	switch {
	case t.FanOut:
		a |= attrFanOut
	case t.Unmetered:
		a |= attrUnmetered
	case t.Gated:
		a |= attrGated
	}
	return a
}

// Rule returns the trigger rule.
func (a Attr) Rule() Rule { return Rule(a & attrRuleMask) }

// Unmetered reports whether the task takes no place.
func (a Attr) Unmetered() bool { return a&attrUnmetered != 0 }

// Gated reports whether the task takes its place only after it was admitted.
func (a Attr) Gated() bool { return a&attrFanOut == attrGated }

// FanOut reports whether the task stands for a fan-out.
func (a Attr) FanOut() bool { return a&attrFanOut == attrFanOut }

// Attr returns the attributes of task i.
func (g *Graph) Attr(i Index) Attr { return g.attrs[i] }

// Rank returns the position of task i in the start order; AtRank is the inverse.
func (g *Graph) Rank(i Index) Index {
	if g.rank == nil {
		return i
	}
	return g.rank[i]
}

// AtRank returns the task at a position of the start order, None for None.
func (g *Graph) AtRank(rank Index) Index {
	if rank != None && g.byRank != nil {
		return g.byRank[rank]
	}
	return rank
}

// Len returns the number of tasks.
func (g *Graph) Len() int { return len(g.attrs) }

// Edges returns the number of dependencies.
func (g *Graph) Edges() int { return len(g.needs) }

// Meta returns the opaque bytes of the graph as a whole. Do not modify them.
func (g *Graph) Meta() []byte { return g.meta }

// ID returns the id of task i.
func (g *Graph) ID(i Index) string { return g.ids.at(i) }

// Lookup finds a task by id.
func (g *Graph) Lookup(id string) (Index, bool) { return g.ids.find(id) }

// Needs returns the direct dependencies of i in ascending order. Do not modify.
func (g *Graph) Needs(i Index) []Index { return g.needs[g.needsOff[i]:g.needsOff[i+1]] }

// Dependants returns the direct dependants of i, ascending. Do not modify.
func (g *Graph) Dependants(i Index) []Index { return g.deps[g.depsOff[i]:g.depsOff[i+1]] }

// Priority returns the priority of i.
func (g *Graph) Priority(i Index) int32 {
	if g.priority == nil {
		return 0
	}
	return g.priority[i]
}

// Rule returns the trigger rule of i.
func (g *Graph) Rule(i Index) Rule { return g.attrs[i].Rule() }

// Unmetered reports whether i is outside the concurrency limit.
func (g *Graph) Unmetered(i Index) bool { return g.attrs[i].Unmetered() }

// Gated reports whether i takes its place only after EventAdmit.
func (g *Graph) Gated(i Index) bool { return g.attrs[i].Gated() }

// IsFanOut reports whether i stands for a fan-out whose tasks are added later.
func (g *Graph) IsFanOut(i Index) bool { return g.attrs[i].FanOut() }

// Payload returns the payload of i, nil if it has none. Do not modify it.
func (g *Graph) Payload(i Index) []byte { return g.blob(blobIndex(g.payload, i)) }

// Args returns the second payload of i, nil if it has none. Do not modify it.
func (g *Graph) Args(i Index) []byte { return g.blob(blobIndex(g.args, i)) }

// Attachment finds an attachment by its SHA-256.
func (g *Graph) Attachment(sum [32]byte) ([]byte, bool) {
	for k := range g.attachIDs {
		if g.attachIDs[k] == sum {
			return g.attachments[k], true
		}
	}
	return nil, false
}

// Attachments returns the distinct attachments in the order of their hashes. Do not modify them.
func (g *Graph) Attachments() [][]byte { return g.attachments }

// WithMeta returns a copy of the graph with another Meta.
func (g *Graph) WithMeta(meta []byte) *Graph {
	return &Graph{
		meta: bytes.Clone(meta), ids: g.ids, needsOff: g.needsOff, needs: g.needs, depsOff: g.depsOff, deps: g.deps, attrs: g.attrs,
		priority: g.priority, rank: g.rank, byRank: g.byRank, payload: g.payload, args: g.args, blobs: g.blobs,
		attachments: g.attachments, attachIDs: g.attachIDs,
	}
}

// Fingerprint hashes the data that decides the work of task i and its trigger. It excludes the priority.
func (g *Graph) Fingerprint(i Index) [32]byte {
	h := newFingerprint(g.ID(i), g.attrs[i], g.Payload(i), g.Args(i))
	needs := make([]string, 0, len(g.Needs(i)))
	for _, d := range g.Needs(i) {
		needs = append(needs, g.ID(d))
	}
	slices.Sort(needs) // The order of the declaration does not matter.
	for _, id := range needs {
		h.need(id)
	}
	return h.sum()
}

// Hash returns the SHA-256 of the canonical encoding, computed once.
func (g *Graph) Hash() [32]byte {
	g.encodeOnce.Do(g.encode)
	return g.hash
}

// keep must be called only inside encodeOnce.
func (g *Graph) keep(encoded []byte) {
	g.encoded = encoded
	g.hash = sha256.Sum256(encoded)
}

// keepOnce saves Encode the work for a decoded graph.
func (g *Graph) keepOnce(encoded []byte) {
	g.encodeOnce.Do(func() { g.keep(encoded) })
}

func (g *Graph) blob(n int) []byte {
	if n < 0 {
		return nil
	}
	return g.blobs[n]
}

func blobIndex(column []int32, i Index) int {
	if column == nil {
		return -1
	}
	return int(column[i])
}
