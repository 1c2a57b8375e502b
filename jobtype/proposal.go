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

// Bounds of what travels, in bytes of JSON. Temporal refuses payloads over
// 2 MiB with an error that it retries for ever, so Roundsman refuses earlier
// and says which limit was hit.
const (
	// MaxProposalBytes bounds one encoded proposal.
	MaxProposalBytes = 4 << 10
	// MaxCheckpointBytes bounds one encoded checkpoint.
	MaxCheckpointBytes = 16 << 10
	// MaxResultBytes bounds one encoded result.
	MaxResultBytes = 64 << 10
	// MaxOutputBytes is how much of a job's output is kept: its tail.
	MaxOutputBytes = 16 << 10
	// MaxSummaryBytes bounds a proposal's summary; the Web UI shows it as the
	// activity's summary.
	MaxSummaryBytes = 200
	// MaxDedupeKeyBytes bounds a dedupe key. [KeyOf] makes any text fit.
	MaxDedupeKeyBytes = 512
	// MaxDAGBytes bounds what [Proposal.DAG] adds to an encoded proposal, so
	// that one proposal always fits into one page of the detection.
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

// Rank returns 0 for low up to 3 for critical; an unknown or empty priority
// ranks as normal.
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

// Valid reports whether p is empty or one of the four priorities.
func (p Priority) Valid() bool {
	switch p {
	case "", PriorityLow, PriorityNormal, PriorityHigh, PriorityCritical:
		return true
	}
	return false
}

// Proposal is one piece of work that a detection found.
type Proposal struct {
	// DedupeKey identifies the work: of several proposals with one key, in this
	// run or active in another, only the first is taken. A proposal without a
	// key is always taken.
	DedupeKey string `json:"dedupe_key,omitempty"`
	// Summary is one line for operators; Detail may be longer.
	Summary string `json:"summary,omitempty"`
	Detail  string `json:"detail,omitempty"`
	// Priority is normal if empty.
	Priority Priority `json:"priority,omitempty"`
	// Params overlay the job type's params for this job.
	Params json.RawMessage `json:"params,omitempty"`
	// Labels must all be carried, with these values, by the worker that
	// executes the job.
	Labels map[string]string `json:"labels,omitempty"`
	// Node pins the job to the worker with this id.
	Node string `json:"node,omitempty"`
	// Resources are quantities taken from named pools while the job runs.
	Resources map[string]int `json:"resources,omitempty"`
	// Exclusive names objects ("volume/42") that no other job may hold while
	// this one runs.
	Exclusive []string `json:"exclusive,omitempty"`
	// Shared names objects that any number of jobs may hold together while this
	// one runs, but none exclusively.
	Shared []string `json:"shared,omitempty"`
	// NotBefore delays the start; ExpiresAt drops the job if it has not started
	// by then. Zero means no such bound.
	NotBefore time.Time `json:"not_before,omitzero"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	// EstimatedRuntime raises the job's timeout above execution_timeout, up to
	// [MaxEstimatedRuntime], and keeps the job from being started so late that it
	// would not end before its maintenance window closes.
	EstimatedRuntime Duration `json:"estimated_runtime,omitempty"`
	// DAG carries the YAML or JSON of a task graph that runs as this job. The job
	// itself runs on no worker; Node and Labels are for the tasks that name neither.
	DAG string `json:"dag,omitempty"`

	// fault is set by [Refused] and never travels.
	fault error
}

// Refused stands for something that a detector found but could not make a
// proposal of: a line of garbage, a directory that it may not read. Emitted
// like a proposal it is counted as invalid and shown to operators with its
// reason, while the others continue. key may be empty.
func Refused(key string, reason error) Proposal {
	if reason == nil {
		reason = errors.New("the detector gave no reason")
	}
	return Proposal{DedupeKey: key, fault: reason}
}

// MaxEstimatedRuntime caps what an estimate can raise a job's timeout to, the
// same 8 h that SeaweedFS's plugin scheduler allows.
const MaxEstimatedRuntime = Duration(8 * time.Hour)

// ProposalError says which proposal of an Emit call was refused and why.
type ProposalError struct {
	// DedupeKey of the refused proposal, possibly empty.
	DedupeKey string
	// Reasons holds every fault.
	Reasons error
}

// Error implements error.
func (e *ProposalError) Error() string {
	if e.DedupeKey == "" {
		return fmt.Sprintf("proposal refused: %v", e.Reasons)
	}
	return fmt.Sprintf("proposal %q refused: %v", e.DedupeKey, e.Reasons)
}

// Unwrap gives the reasons.
func (e *ProposalError) Unwrap() error { return e.Reasons }

// Validate reports every fault of p as one [*ProposalError], or nil.
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

// sizeFaults measures the graph apart from the rest: a graph is large by
// nature, everything else in a proposal is a reference.
func (p Proposal) sizeFaults() []error {
	if p.maxEncoded() <= MaxProposalBytes {
		return nil // the usual case; a detection may emit 100,000 of them
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

// maxEncoded is an upper bound of the encoded size that costs nothing: JSON
// makes at most six bytes of one, and the names of all fields with the times
// and the estimate stay below 512.
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

// textFaults refuses what is no UTF-8 everywhere: JSON would replace the bad
// bytes without a word, and the job would get another name than was found.
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
			faults = append(faults, fmt.Errorf("object %q is in exclusive and in shared: exclusive says everything, leave it out of shared", object))
		}
	}
	return faults
}
