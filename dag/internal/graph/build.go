package graph

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
)

// Build is described in package dag.
func Build(in Input) (*Graph, error) {
	b := builder{in: in, g: &Graph{}}
	if len(in.Meta) > 0 {
		b.g.meta = bytes.Clone(in.Meta)
	}
	if !b.fits() {
		return nil, &FaultsError{Faults: b.faults}
	}
	b.names()
	b.resolve()
	b.blobs()
	g := b.g
	g.deps, g.depsOff = transpose(g.needs, g.needsOff)
	b.cycles()
	if len(b.faults) > 0 {
		slices.SortStableFunc(b.faults, func(x, y Fault) int { return int(x.Task) - int(y.Task) })
		return nil, &FaultsError{Faults: b.faults}
	}
	g.attach(in.Attachments)
	g.priority = b.priorities()
	g.order()
	return g, nil
}

type builder struct {
	in     Input
	g      *Graph
	faults []Fault
	seen   []Index // seen[d] == i+1: task i already needs d
}

func (b *builder) fault(f Fault) { b.faults = append(b.faults, f) }

func (b *builder) fits() bool {
	edges, idBytes := 0, 0
	for i := range b.in.Tasks {
		edges += len(b.in.Tasks[i].Needs)
		idBytes += len(b.in.Tasks[i].ID)
	}
	tooLarge := func(what string, got, limit int) {
		b.fault(Fault{Kind: FaultTooLarge, Task: None, Detail: fmt.Sprintf(
			"the graph has %d %s; the limit is %d: split it into sub-DAGs", got, what, limit)})
	}
	if n := len(b.in.Tasks); n > MaxTasks {
		tooLarge("tasks", n, MaxTasks)
	}
	if edges > MaxEdges {
		tooLarge("dependencies", edges, MaxEdges)
	}
	if idBytes > maxIDBytes {
		tooLarge("bytes of task ids", idBytes, maxIDBytes)
	}
	return len(b.faults) == 0
}

func (b *builder) names() {
	n := len(b.in.Tasks)
	off := make([]uint32, 1, n+1)
	b.g.attrs = make([]Attr, n)
	var text strings.Builder
	for i := range b.in.Tasks {
		t := &b.in.Tasks[i]
		text.WriteString(t.ID)
		off = append(off, uint32(text.Len()))
		b.g.attrs[i] = NewAttr(t)
		for _, f := range CheckTask(t) {
			f.Task = Index(i)
			b.fault(f)
		}
	}
	b.g.ids = newIDTable(text.String(), off, func(first, second Index) {
		if id := b.in.Tasks[second].ID; id != "" {
			b.fault(Fault{Kind: FaultDuplicate, Task: second, ID: id, Other: first})
		}
	})
}

// CheckTask returns the faults of a task that need no graph.
func CheckTask(t *Task) []Fault {
	var faults []Fault
	if t.ID == "" {
		faults = append(faults, Fault{Kind: FaultEmptyID})
	}
	if len(t.ID) > MaxIDLength {
		faults = append(faults, Fault{Kind: FaultLongID, ID: t.ID})
	}
	if t.Rule >= ruleCount {
		faults = append(faults, Fault{Kind: FaultRule, ID: t.ID, Detail: t.Rule.String()})
	}
	return faults
}

func (b *builder) resolve() {
	b.seen = make([]Index, len(b.in.Tasks))
	b.g.needsOff = make([]uint32, 1, len(b.in.Tasks)+1)
	for i := range b.in.Tasks {
		b.resolveTask(Index(i), &b.in.Tasks[i])
		b.g.needsOff = append(b.g.needsOff, uint32(len(b.g.needs)))
	}
}

func (b *builder) resolveTask(i Index, t *Task) {
	start := len(b.g.needs)
	for _, id := range t.Needs {
		d, ok := b.g.ids.find(id)
		switch {
		case !ok:
			b.fault(Fault{Kind: FaultUnknownNeed, Task: i, ID: t.ID, Ref: id})
		case id == t.ID:
			b.fault(Fault{Kind: FaultSelfNeed, Task: i, ID: t.ID})
		case b.seen[d] != i+1:
			b.seen[d] = i + 1
			b.g.needs = append(b.g.needs, d)
		}
	}
	slices.Sort(b.g.needs[start:])
	if t.Rule == OneFailed && len(t.Needs) == 0 {
		b.fault(Fault{Kind: FaultNothingToReactTo, Task: i, ID: t.ID})
	}
}

func (b *builder) blobs() {
	known := map[string]int32{}
	b.g.payload = b.intern(known, func(t *Task) []byte { return t.Payload })
	b.g.args = b.intern(known, func(t *Task) []byte { return t.Args })
}

// intern stores each distinct payload once. The column is nil without payloads.
func (b *builder) intern(known map[string]int32, of func(*Task) []byte) []int32 {
	var column []int32
	for i := range b.in.Tasks {
		p := of(&b.in.Tasks[i])
		if p == nil {
			if column != nil {
				column[i] = -1
			}
			continue
		}
		if column == nil {
			column = make([]int32, len(b.in.Tasks))
			for k := range i {
				column[k] = -1
			}
		}
		n, ok := known[string(p)]
		if !ok {
			n = int32(len(b.g.blobs))
			own := bytes.Clone(p)
			known[string(own)] = n
			b.g.blobs = append(b.g.blobs, own)
		}
		column[i] = n
	}
	return column
}

func (g *Graph) attach(blobs [][]byte) {
	for _, blob := range blobs {
		sum := sha256.Sum256(blob)
		at, found := slices.BinarySearchFunc(g.attachIDs, sum, func(x, y [32]byte) int {
			return bytes.Compare(x[:], y[:])
		})
		if !found {
			g.attachIDs = slices.Insert(g.attachIDs, at, sum)
			g.attachments = slices.Insert(g.attachments, at, bytes.Clone(blob))
		}
	}
}

func (b *builder) priorities() []int32 {
	var column []int32
	for i := range b.in.Tasks {
		if p := b.in.Tasks[i].Priority; p != 0 && column == nil {
			column = make([]int32, len(b.in.Tasks))
		}
		if column != nil {
			column[i] = b.in.Tasks[i].Priority
		}
	}
	return column
}

// order computes rank, the position by priority and declaration. It stays nil for declaration order, the usual case.
func (g *Graph) order() {
	p := g.priority
	if slices.IsSortedFunc(p, func(x, y int32) int { return int(int64(y) - int64(x)) }) {
		return
	}
	g.byRank = make([]Index, len(p))
	for i := range g.byRank {
		g.byRank[i] = Index(i)
	}
	slices.SortStableFunc(g.byRank, func(x, y Index) int { return int(int64(p[y]) - int64(p[x])) })
	g.rank = make([]Index, len(p))
	for r, i := range g.byRank {
		g.rank[i] = Index(r)
	}
}

func transpose(needs []Index, needsOff []uint32) ([]Index, []uint32) {
	n := len(needsOff) - 1
	off := make([]uint32, n+1)
	for _, d := range needs {
		off[d+1]++
	}
	for i := range n {
		off[i+1] += off[i]
	}
	deps := make([]Index, len(needs))
	next := slices.Clone(off[:n])
	for i := range n {
		for _, d := range needs[needsOff[i]:needsOff[i+1]] {
			deps[next[d]] = Index(i)
			next[d]++
		}
	}
	return deps, off
}
