package jobtype

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds in bytes of JSON. Temporal retries payloads over 2 MiB for ever, so Roundsman refuses earlier.
const (
	MaxProposalBytes   = 4 << 10
	MaxCheckpointBytes = 16 << 10
	MaxResultBytes     = 64 << 10
	// MaxOutputBytes bounds the stored tail of a job's output.
	MaxOutputBytes = 16 << 10
	// MaxSummaryBytes bounds a proposal's summary; the Web UI shows it as the activity's summary.
	MaxSummaryBytes = 200
	// MaxDedupeKeyBytes bounds a dedupe key. [KeyOf] fits any text.
	MaxDedupeKeyBytes = 512
	// MaxDAGBytes bounds [Proposal.DAG], so that one proposal always fits into one page of the detection.
	MaxDAGBytes = 192 << 10
)

// Priority orders the jobs of one group: higher ones start first.
type Priority string

// The priorities. An empty one means [PriorityNormal].
const (
	PriorityLow      Priority = "low"
	PriorityNormal   Priority = "normal"
	PriorityHigh     Priority = "high"
	PriorityCritical Priority = "critical"
)

// Rank returns 0 for low up to 3 for critical. An unknown or empty priority ranks as normal.
func (p Priority) Rank() int {
	switch p {
	case PriorityLow:
		return 0
	case PriorityHigh:
		return 2
	case PriorityCritical:
		return 3
	case PriorityNormal:
	}
	return 1
}

// Valid reports whether p is empty or a known priority.
func (p Priority) Valid() bool {
	switch p {
	case "", PriorityLow, PriorityNormal, PriorityHigh, PriorityCritical:
		return true
	}
	return false
}

// Proposal is one piece of work found by a detection.
type Proposal struct {
	// DedupeKey identifies the work. Of several active proposals with one key only the first is accepted.
	DedupeKey string `json:"dedupe_key,omitempty"`
	// Summary is one line for operators; Detail may be longer.
	Summary  string   `json:"summary,omitempty"`
	Detail   string   `json:"detail,omitempty"`
	Priority Priority `json:"priority,omitempty"`
	// Params overlay the job type's params for this job.
	Params json.RawMessage `json:"params,omitempty"`
	// Labels restrict the job to workers with all these labels and values.
	Labels map[string]string `json:"labels,omitempty"`
	// Node pins the job to the worker with this id.
	Node string `json:"node,omitempty"`
	// Resources are quantities taken from pools while the job runs.
	Resources map[string]int `json:"resources,omitempty"`
	// Exclusive names objects ("volume/42") that no other job may hold while this one runs.
	Exclusive []string `json:"exclusive,omitempty"`
	// Shared names objects that other jobs may hold shared, but not exclusively, while this one runs.
	Shared []string `json:"shared,omitempty"`
	// NotBefore delays the start. ExpiresAt drops the job if it has not started by then.
	NotBefore time.Time `json:"not_before,omitzero"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	// EstimatedRuntime raises the job's timeout up to [MaxEstimatedRuntime]. It prevents a start too late to end
	// within the maintenance window.
	EstimatedRuntime Duration `json:"estimated_runtime,omitempty"`
	// DAG is the YAML or JSON of a task graph that runs as this job. Node and Labels apply to tasks without their own.
	DAG string `json:"dag,omitempty"`

	// fault is set by [Refused] and never travels.
	fault error
}

// Refused returns a placeholder for an item that cannot become a proposal, such as an unreadable directory. It is
// counted as invalid and shown with its reason. key may be empty.
func Refused(key string, reason error) Proposal {
	if reason == nil {
		reason = errors.New("the detector gave no reason")
	}
	return Proposal{DedupeKey: key, fault: reason}
}

// MaxEstimatedRuntime is 8h, as in SeaweedFS's plugin scheduler.
const MaxEstimatedRuntime = Duration(8 * time.Hour)

// ProposalError reports a refused proposal of an Emit call.
type ProposalError struct {
	// DedupeKey of the refused proposal; may be empty.
	DedupeKey string
	// Reasons holds every fault.
	Reasons error
}

func (e *ProposalError) Error() string {
	if e.DedupeKey == "" {
		return fmt.Sprintf("proposal refused: %v", e.Reasons)
	}
	return fmt.Sprintf("proposal %q refused: %v", e.DedupeKey, e.Reasons)
}

func (e *ProposalError) Unwrap() error { return e.Reasons }

// Validate returns every fault of p as one [*ProposalError], or nil.
func (p Proposal) Validate() error {
	if p.fault != nil {
		return &ProposalError{DedupeKey: p.DedupeKey, Reasons: p.fault}
	}
	faults := append(p.textFaults(), p.placementFaults()...)
	faults = append(faults, p.timeFaults()...)
	if len(p.Params) > 0 && !isObject(p.Params) {
		faults = append(faults, errors.New("params must be a JSON object"))
	}
	if len(faults) == 0 {
		faults = p.sizeFaults()
	}
	if len(faults) == 0 {
		return nil
	}
	return &ProposalError{DedupeKey: p.DedupeKey, Reasons: errors.Join(faults...)}
}

// sizeFaults measures the graph separately: a graph is large by nature, other data should be references.
func (p Proposal) sizeFaults() []error {
	if p.maxEncoded() <= MaxProposalBytes {
		return nil // the usual case: a detection may emit 100,000 proposals
	}
	whole, err := json.Marshal(p)
	if err != nil {
		return []error{err}
	}
	if len(p.DAG) > 0 {
		graph := len(whole)
		p.DAG = ""
		if whole, err = json.Marshal(p); err != nil {
			return []error{err}
		}
		if graph -= len(whole); graph > MaxDAGBytes {
			return []error{fmt.Errorf("dag has %d bytes encoded, the limit is %d: start the graph from the job instead of carrying it", graph, MaxDAGBytes)}
		}
	}
	if len(whole) > MaxProposalBytes {
		return []error{fmt.Errorf("encoded it has %d bytes, the limit is %d: pass a reference instead of the data", len(whole), MaxProposalBytes)}
	}
	return nil
}

// maxEncoded returns an upper bound: JSON encodes a byte in at most six; names, times and the estimate stay below 512.
func (p Proposal) maxEncoded() int {
	const perEntry = 32 // quotes, colon, comma, a quantity
	text := len(p.DedupeKey) + len(p.Summary) + len(p.Detail) + len(p.Priority) + len(p.Params) + len(p.Node) + len(p.DAG)
	entries := len(p.Labels) + len(p.Resources) + len(p.Exclusive) + len(p.Shared)
	//workflowcheck:ignore a sum does not depend on the order
	for key, value := range p.Labels {
		text += len(key) + len(value)
	}
	//workflowcheck:ignore a sum does not depend on the order
	for name := range p.Resources {
		text += len(name)
	}
	for _, object := range p.Exclusive {
		text += len(object)
	}
	for _, object := range p.Shared {
		text += len(object)
	}
	return 512 + 6*text + perEntry*entries
}

func (p Proposal) timeFaults() []error {
	var faults []error
	if !p.ExpiresAt.IsZero() && p.ExpiresAt.Before(p.NotBefore) {
		faults = append(faults, errors.New("expires_at is before not_before"))
	}
	if p.EstimatedRuntime < 0 {
		faults = append(faults, errors.New("estimated_runtime is negative"))
	}
	return faults
}

// textFaults refuses invalid UTF-8, which JSON would replace silently.
func (p Proposal) textFaults() []error {
	var faults []error
	bounded := func(field, value string, limit int) {
		if !utf8.ValidString(value) {
			faults = append(faults, fmt.Errorf("%s is not valid UTF-8: encode it (for instance as base64 or by quoting) first", field))
		}
		if limit > 0 && len(value) > limit {
			faults = append(faults, fmt.Errorf("%s has %d bytes, the limit is %d", field, len(value), limit))
		}
	}
	bounded("dedupe_key", p.DedupeKey, MaxDedupeKeyBytes)
	bounded("summary", p.Summary, MaxSummaryBytes)
	bounded("detail", p.Detail, 0)
	bounded("params", string(p.Params), 0)
	bounded("dag", p.DAG, 0)
	if strings.ContainsAny(p.Summary, "\r\n") {
		faults = append(faults, errors.New("summary must be one line: put the rest into detail"))
	}
	for _, key := range sortedKeys(p.Labels) {
		bounded("labels", key+p.Labels[key], 0)
		if key == "" {
			faults = append(faults, errors.New("labels: a label has no name"))
		}
	}
	if !p.Priority.Valid() {
		faults = append(faults, fmt.Errorf("priority %q is none of low, normal, high, critical", p.Priority))
	}
	return faults
}

func (p Proposal) placementFaults() []error {
	var faults []error
	if p.Node != "" {
		if err := ValidateName(p.Node); err != nil {
			faults = append(faults, fmt.Errorf("node: %w", err))
		}
	}
	for _, name := range sortedKeys(p.Resources) {
		if name == "" || !utf8.ValidString(name) {
			faults = append(faults, fmt.Errorf("resources: %q is no name of a pool", name))
		}
		if p.Resources[name] <= 0 {
			faults = append(faults, fmt.Errorf("resources: %s must be at least 1, not %d", name, p.Resources[name]))
		}
	}
	return append(faults, p.objectFaults()...)
}

func (p Proposal) objectFaults() []error {
	var faults []error
	named := func(field string, objects []string) {
		for _, object := range objects {
			if object == "" || !utf8.ValidString(object) {
				faults = append(faults, fmt.Errorf("%s: %q is no name of an object: it must be UTF-8 and not empty", field, object))
			}
		}
	}
	named("exclusive", p.Exclusive)
	named("shared", p.Shared)
	for _, object := range p.Shared {
		if slices.Contains(p.Exclusive, object) {
			faults = append(faults, fmt.Errorf("object %q is in exclusive and in shared: remove it from shared", object))
		}
	}
	return faults
}
