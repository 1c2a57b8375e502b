package spec

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/jobtype"
)

// Program gives typed access to the definitions of one run. It decodes each distinct definition once.
type Program struct {
	Header Header
	// About is the run, for templates.
	About jobtype.RunInfo
	run   *dag.Run
	// cache is keyed by the address of a payload's first byte: equal payloads of a run are one slice.
	cache map[*byte]*Definition
}

// HeaderOf reads the settings of a graph from [Compile].
func HeaderOf(g *dag.Graph) (Header, error) {
	var h Header
	if err := decodeJSON(g.Meta(), &h); err != nil {
		return h, fmt.Errorf("the graph carries no settings of a spec: %w; make it with spec.Compile", err)
	}
	return h, nil
}

// Open returns the definitions of a run of a compiled graph.
func Open(run *dag.Run) (*Program, error) {
	h, err := HeaderOf(run.Graph())
	if err != nil {
		return nil, err
	}
	return &Program{Header: h, run: run, cache: map[*byte]*Definition{}}, nil
}

// Definition returns the definition of task i. It is shared; do not modify it.
func (p *Program) Definition(i dag.Index) (*Definition, error) {
	payload := p.run.Payload(i)
	if len(payload) == 0 {
		return nil, fmt.Errorf("task %q has no definition", p.run.ID(i))
	}
	if d, ok := p.cache[&payload[0]]; ok {
		return d, nil
	}
	d := &Definition{}
	if err := decodeJSON(payload, d); err != nil {
		return nil, fmt.Errorf("the definition of task %q: %w", p.run.ID(i), err)
	}
	p.cache[&payload[0]] = d
	return d, nil
}

// SubGraph returns the encoded graph of a sub-DAG task with its rendered params.
func (p *Program) SubGraph(d *Definition, params map[string]any) ([]byte, error) {
	if d.SubDAG == nil {
		return nil, fmt.Errorf("a task of kind %s has no sub-DAG", d.Kind)
	}
	sum, err := hex.DecodeString(d.SubDAG.Hash)
	if err != nil || len(sum) != 32 {
		return nil, fmt.Errorf("the hash of sub-DAG %q is malformed", d.SubDAG.File)
	}
	data, ok := p.run.Graph().Attachment([32]byte(sum))
	if !ok {
		return nil, fmt.Errorf("the graph of sub-DAG %q is not attached", d.SubDAG.File)
	}
	if len(d.SubDAG.Declared) == 0 {
		return data, nil
	}
	return withParams(data, d.SubDAG, params)
}

// Referred returns the direct dependencies of i whose results its templates use.
func (p *Program) Referred(i dag.Index) ([]dag.Index, error) {
	d, err := p.Definition(i)
	if err != nil || len(d.Refs) == 0 {
		return nil, err
	}
	var out []dag.Index
	for _, need := range p.run.Needs(i) {
		if !p.run.IsFanOut(need) && refers(d.Refs, p.run.ID(need)) {
			out = append(out, need)
		}
	}
	return out, nil
}

// Referrers returns the direct dependants of i whose templates use its result.
func (p *Program) Referrers(i dag.Index) ([]dag.Index, error) {
	var out []dag.Index
	if p.run.IsFanOut(i) {
		return nil, nil // It stands for its tasks and has no result.
	}
	id := p.run.ID(i)
	for _, t := range p.run.Dependants(i) {
		d, err := p.Definition(t)
		if err != nil {
			return nil, err
		}
		if refers(d.Refs, id) {
			out = append(out, t)
		}
	}
	return out, nil
}

// RefersTo reports whether the definition of a new task uses the result of the task id.
func RefersTo(payload []byte, id string) bool {
	var d Definition
	return decodeJSON(payload, &d) == nil && refers(d.Refs, id)
}

func refers(refs []string, id string) bool {
	entry := Entry(id)
	return slices.ContainsFunc(refs, func(r string) bool { return r == id || r == entry })
}

// decodeJSON keeps the spelling of numbers.
func decodeJSON(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode(into)
}

// ForItem reports whether task i of a fan-out is for the item with this text. In a matrix, any of its values counts.
func (p *Program) ForItem(i dag.Index, text string) bool {
	raw := p.run.Args(i)
	if raw == nil {
		return false
	}
	var a args
	if json.Unmarshal(raw, &a) != nil {
		return false
	}
	if isText(a.Item, text) {
		return true
	}
	//workflowcheck:ignore a disjunction does not depend on the order
	for _, value := range a.Matrix {
		if isText(value, text) {
			return true
		}
	}
	return false
}

func isText(raw json.RawMessage, text string) bool {
	var value string
	if len(raw) > 0 && raw[0] == '"' {
		return json.Unmarshal(raw, &value) == nil && value == text
	}
	return string(raw) == text
}

func (p *Program) variables(i dag.Index) (item any, matrix map[string]any, err error) {
	raw := p.run.Args(i)
	if raw == nil {
		return nil, nil, nil
	}
	var v struct {
		Item   any            `json:"item"`
		Matrix map[string]any `json:"matrix"`
	}
	if err := decodeJSON(raw, &v); err != nil {
		return nil, nil, fmt.Errorf("the item of task %q: %w", p.run.ID(i), err)
	}
	return v.Item, v.Matrix, nil
}

func group(id string) bool { return strings.Contains(id, ".") }
