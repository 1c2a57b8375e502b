package dag

import (
	"encoding/binary"

	"github.com/roundsman/roundsman/dag/internal/graph"
	"github.com/roundsman/roundsman/dag/internal/wire"
)

const attrUnder = graph.AttrMax + 1

// snapshotMagic begins every snapshot; its last byte is the version.
const snapshotMagic = "RMS1"

// Codes of a task in a snapshot: its state, or a state with details.
const (
	codeSwept     = uint8(stateCount)     // canceled because of the policy Stop
	codeCanceling = uint8(stateCount) + 1 // running, cancel requested
	// Running without a place: at its gate, canceling there, or admitted.
	codeGate          = uint8(stateCount) + 2
	codeGateCanceling = uint8(stateCount) + 3
	codeAdmitted      = uint8(stateCount) + 4
	codeUntriggered   = uint8(stateCount) + 5 // skipped by the rule one_failed
	codeCrowded       = uint8(stateCount) + 6 // at its gate, waiting for others
	codeCount         = uint8(stateCount) + 7
)

// Snapshot encodes the state of the run without its graph. Tasks take half a byte each, added tasks their definition,
// imported ones their origin in run-length encoding. [Restore] is the inverse.
//
//	magic, hash of the graph, options, phase, pause, way of ending
//	limits of fan-outs, if the options announce any
//	redefinitions, if the options announce any
//	batches of added tasks
//	chains with their items in flight, if the options announce any
//	states, two per byte
//	origins: ids of runs | number per task in runs of equal differences
//	CRC-32C
func (r *Run) Snapshot() []byte {
	hash := r.graph.Hash()
	buf := make([]byte, 0, 64+len(r.nodes)/2)
	buf = append(buf, snapshotMagic...)
	buf = append(buf, hash[:]...)
	buf = binary.AppendUvarint(buf, uint64(max(r.opts.Concurrency, 0)))
	buf = append(buf, byte(r.opts.OnFailure), truth(r.opts.Hold)|truth(len(r.fanOuts) > 0)<<1|truth(r.growth.redefined())<<2|truth(len(r.chains.byName) > 0)<<3, byte(r.phase), truth(r.paused), byte(r.ending))
	buf = r.appendFanOuts(buf)
	buf = r.growth.appendTo(buf)
	buf = r.appendChains(buf)
	for i := 0; i < len(r.nodes); i += 2 {
		b := r.nodes[i].code()
		if i+1 < len(r.nodes) {
			b |= r.nodes[i+1].code() << 4
		}
		buf = append(buf, b)
	}
	return wire.Sealed(r.origins.AppendTo(buf, len(r.nodes)))
}

func truth(b bool) byte {
	if b {
		return 1
	}
	return 0
}

func (n node) code() uint8 {
	switch {
	case n.flag&flagSwept != 0:
		return codeSwept
	case n.flag&flagAdmitted != 0:
		return codeAdmitted
	case n.flag&flagUntriggered != 0:
		return codeUntriggered
	case n.flag == flagGate|flagCanceling:
		return codeGateCanceling
	case n.flag == flagGate:
		return codeGate
	case n.flag == flagGate|flagCrowded:
		return codeCrowded
	case n.flag&flagCanceling != 0:
		return codeCanceling
	}
	return uint8(n.state)
}

func (g *growth) appendTo(buf []byte) []byte {
	if g == nil {
		return binary.AppendUvarint(buf, 0)
	}
	numbers := map[string]uint64{}
	var table [][]byte
	number := func(p []byte) uint64 { // 0: none
		if p == nil {
			return 0
		}
		if n, ok := numbers[string(p)]; ok {
			return n
		}
		table = append(table, p)
		numbers[string(p)] = uint64(len(table))
		return uint64(len(table))
	}
	buf = g.appendSteps(buf, number)
	buf = binary.AppendUvarint(buf, uint64(len(g.batches)))
	for _, b := range g.batches {
		buf = binary.AppendUvarint(buf, uint64(b.parent+1))
		buf = binary.AppendUvarint(buf, uint64(len(b.needs)))
		for k := range b.needs {
			t := &g.tasks[int(b.first-g.batches[0].first)+k]
			buf = wire.AppendBytes(buf, []byte(t.id))
			if t.under == None {
				buf = append(buf, byte(t.attr))
			} else {
				buf = append(buf, byte(t.attr|attrUnder))
				buf = binary.AppendUvarint(buf, uint64(t.under))
			}
			buf = binary.AppendUvarint(buf, wire.Zigzag(int64(t.priority)))
			buf = binary.AppendUvarint(buf, number(t.payload))
			buf = binary.AppendUvarint(buf, number(t.args))
			buf = appendRow(buf, b.needs[k])
			buf = appendRow(buf, b.before[k])
		}
	}
	return graph.AppendTable(buf, table)
}

func (g *growth) redefined() bool { return g != nil && len(g.steps) > 0 }

func (g *growth) appendSteps(buf []byte, number func([]byte) uint64) []byte {
	if !g.redefined() {
		return buf
	}
	buf = binary.AppendUvarint(buf, uint64(len(g.steps)))
	after := 0
	for k := range g.steps {
		d := &g.steps[k]
		buf = binary.AppendUvarint(buf, uint64(d.after-after))
		buf = binary.AppendUvarint(buf, uint64(d.task))
		buf = binary.AppendUvarint(buf, uint64(d.parent+1))
		buf = append(buf, byte(d.attr))
		buf = binary.AppendUvarint(buf, wire.Zigzag(int64(d.priority)))
		buf = binary.AppendUvarint(buf, number(d.payload))
		buf = binary.AppendUvarint(buf, number(d.args))
		buf = appendRow(buf, d.needs)
		buf = appendRow(buf, d.before)
		after = d.after
	}
	return buf
}

func appendRow(buf []byte, row []Index) []byte {
	buf = binary.AppendUvarint(buf, uint64(len(row)))
	prev := None
	for _, i := range row {
		buf = binary.AppendUvarint(buf, uint64(i-prev-1))
		prev = i
	}
	return buf
}
