package spec

import (
	"slices"

	"github.com/roundsman/roundsman/dag"
)

type output struct {
	tasks       []dag.Task
	source      []*Task           // per element of tasks
	before      [][]string        // of added tasks
	payloads    map[string][]byte // by content
	attachments [][]byte
	limits      map[string]int // of fan-outs
	chains      map[string]dag.Chain
}

// declares returns the faulty entry; for a cycle, its first member declared in this file.
func (o *output) declares(f dag.Fault) *Task {
	if f.Task != dag.None && int(f.Task) < len(o.source) {
		return o.source[f.Task]
	}
	for _, id := range f.Path {
		if k := slices.IndexFunc(o.tasks, func(t dag.Task) bool { return t.ID == id }); k >= 0 {
			return o.source[k]
		}
	}
	return nil
}

func (o *output) limit(t *Task) {
	if t.Concurrency <= 0 {
		return
	}
	if o.limits == nil {
		o.limits = map[string]int{}
	}
	o.limits[t.ID] = t.Concurrency
}

func (o *output) once(payload []byte) []byte {
	if known, ok := o.payloads[string(payload)]; ok {
		return known
	}
	if o.payloads == nil {
		o.payloads = map[string][]byte{}
	}
	if len(o.payloads) < maxAlike {
		o.payloads[string(payload)] = payload
	}
	return payload
}

// maxAlike bounds the stored payloads of a document in which all differ.
const maxAlike = 1000
