package jobtype

import "encoding/json"

// MaxBatchSize is how many proposals one job may stand for, MaxBatchBytes how
// large they may be together: a batch that reaches either is closed.
const (
	MaxBatchSize  = 100
	MaxBatchBytes = 256 << 10
)

// BatchItem is one proposal of a job that stands for several. See [Job.Batch].
type BatchItem struct {
	// DedupeKey, Summary, Detail and Priority are the proposal's.
	DedupeKey string   `json:"dedupe_key,omitempty"`
	Summary   string   `json:"summary,omitempty"`
	Detail    string   `json:"detail,omitempty"`
	Priority  Priority `json:"priority,omitempty"`
	// Labels are those of every item: proposals with others are in another job.
	Labels map[string]string `json:"labels,omitempty"`
	// Params are the job type's params overlaid by the proposal's, key by key.
	Params json.RawMessage `json:"params,omitempty"`
}

// Items is what the job stands for: its batch, or for a job of a job type
// without `batch:` the job itself as one item.
func (j Job) Items() []BatchItem {
	if len(j.Batch) > 0 {
		return j.Batch
	}
	return []BatchItem{{DedupeKey: j.DedupeKey, Summary: j.Summary, Detail: j.Detail, Labels: j.Labels, Params: j.Params}}
}
