package batch

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/roundsman/roundsman/internal/lib/gotemplate"
	"github.com/roundsman/roundsman/jobtype"
)

var fields = []string{"Params", "DedupeKey", "Summary", "Detail", "Priority", "Labels", "Node", "Resources", "Exclusive", "Shared"} //nolint:gochecknoglobals // constant table

// Template is a parsed `by`. It is safe for concurrent use.
type Template struct{ parsed *gotemplate.Template }

// Parse reads a template. An error has the line and column of the fault.
func Parse(text string) (*Template, error) {
	if strings.TrimSpace(text) == "" {
		return nil, fmt.Errorf("a template is missing, for example '{{.Labels.volume}}'")
	}
	parsed, err := gotemplate.New("by", text, fields)
	if err != nil {
		return nil, err
	}
	return &Template{parsed: parsed}, nil
}

// Key is the batch of a proposal; empty: none, as for one with a DAG. A text of any length is a key; see [jobtype.KeyOf].
func (t *Template) Key(params json.RawMessage, p jobtype.Proposal) (string, error) {
	if p.DAG != "" {
		return "", nil
	}
	text, err := t.parsed.Execute(&view{params: params, proposal: p})
	if err != nil {
		return "", fmt.Errorf("batch.by: %w", err)
	}
	return jobtype.KeyOf(strings.TrimSpace(text)), nil
}

// Keys renders a template for every proposal, and names the first that fails.
func Keys(by string, params json.RawMessage, proposals []jobtype.Proposal) ([]string, error) {
	t, err := Parse(by)
	if err != nil {
		return nil, fmt.Errorf("batch.by: %w", err)
	}
	keys := make([]string, len(proposals))
	for i, p := range proposals {
		if keys[i], err = t.Key(params, p); err != nil {
			return nil, fmt.Errorf("proposal %d: %w", i+1, err)
		}
	}
	return keys, nil
}

// Params are decoded at the first use.
type view struct {
	params   json.RawMessage
	proposal jobtype.Proposal
}

// Params are the job type's, overlaid by the proposal's.
func (v *view) Params() (any, error) {
	merged, err := jobtype.OverlayParams(v.params, v.proposal.Params)
	if err != nil {
		return nil, err
	}
	return gotemplate.Plain("params", merged)
}

// DedupeKey is the proposal's, like all that follow.
func (v *view) DedupeKey() string { return v.proposal.DedupeKey }

// Summary is one line.
func (v *view) Summary() string { return v.proposal.Summary }

// Detail may be longer.
func (v *view) Detail() string { return v.proposal.Detail }

// Priority is normal where none was given.
func (v *view) Priority() string {
	if v.proposal.Priority == "" {
		return string(jobtype.PriorityNormal)
	}
	return string(v.proposal.Priority)
}

// Labels that its worker must carry.
func (v *view) Labels() map[string]string { return v.proposal.Labels }

// Node that it is pinned to.
func (v *view) Node() string { return v.proposal.Node }

// Resources are quantities of pools.
func (v *view) Resources() map[string]int { return v.proposal.Resources }

// Exclusive are objects.
func (v *view) Exclusive() []string { return v.proposal.Exclusive }

// Shared are objects.
func (v *view) Shared() []string { return v.proposal.Shared }
