package dagrun

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/roundsman/roundsman/dag/spec"
)

// savedRendered is the rendered templates of a begun task in a state, if they would render differently by now.
type savedRendered struct {
	Command []string          `json:"c,omitempty"`
	Node    string            `json:"n,omitempty"`
	Labels  map[string]string `json:"l,omitempty"`
	Params  json.RawMessage   `json:"p,omitempty"`
	Prompt  string            `json:"q,omitempty"`
	// Exclusive and Shared are objects.
	Exclusive []string `json:"e,omitempty"`
	Shared    []string `json:"s,omitempty"`
	Key       string   `json:"k,omitempty"`
	// Launch has the keys of a program.
	Launch json.RawMessage `json:"x,omitempty"`
}

func saveRendered(r *spec.Rendered) *savedRendered {
	return &savedRendered{
		Command: r.Command, Node: r.Node, Labels: r.Labels, Params: encodeParams(r.Params), Prompt: r.Prompt, Exclusive: r.Exclusive, Shared: r.Shared, Key: r.Key,
		Launch: encodeParams(r.Launch),
	}
}

//workflowcheck:ignore whether two maps are equal does not depend on the order
func (s *savedRendered) equal(o *savedRendered) bool {
	//workflowcheck:ignore equality does not depend on the order
	return slices.Equal(s.Command, o.Command) && s.Node == o.Node && maps.Equal(s.Labels, o.Labels) &&
		bytes.Equal(s.Params, o.Params) && s.Prompt == o.Prompt && slices.Equal(s.Exclusive, o.Exclusive) && slices.Equal(s.Shared, o.Shared) && s.Key == o.Key &&
		bytes.Equal(s.Launch, o.Launch)
}

// changedSince returns the rendered templates of a begun task if they render differently by now: an operator may have
// brought a dependency back. Otherwise it is nil, so that a state stays small.
func (g *results) changedSince(t *task) *savedRendered {
	if t.rendered == nil {
		return nil
	}
	was := saveRendered(t.rendered)
	is, err := g.program.Render(t.i, g.get)
	if err == nil && is.Run && was.equal(saveRendered(is)) {
		return nil
	}
	return was
}

func (g *results) restoreRendered(t *task, saved *savedRendered) error {
	if saved == nil {
		rendered, err := g.program.Render(t.i, g.get)
		t.rendered = rendered
		return err
	}
	t.rendered = &spec.Rendered{Run: true, Command: saved.Command, Node: saved.Node, Labels: saved.Labels, Prompt: saved.Prompt, Exclusive: saved.Exclusive, Shared: saved.Shared, Key: saved.Key}
	return errors.Join(passOn(saved.Params, &t.rendered.Params), passOn(saved.Launch, &t.rendered.Launch))
}

func passOn(from json.RawMessage, into *map[string]any) error {
	if len(from) == 0 {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(from))
	decoder.UseNumber()
	return decoder.Decode(into)
}
