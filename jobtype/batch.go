package jobtype

import "encoding/json"

// MaxBatchSize is the maximum number of proposals in one job, MaxBatchBytes their maximum size together.
const (
	MaxBatchSize  = 100
	MaxBatchBytes = 256 << 10
)

// BatchItem is one proposal of a batched job. See [Job.Batch].
type BatchItem struct {
	DedupeKey string   `json:"dedupe_key,omitempty"`
	Summary   string   `json:"summary,omitempty"`
	Detail    string   `json:"detail,omitempty"`
	Priority  Priority `json:"priority,omitempty"`
	// Labels are equal for all items of a job.
	Labels map[string]string `json:"labels,omitempty"`
	// Params are the job type's params overlaid by the proposal's, key by key.
	Params json.RawMessage `json:"params,omitempty"`
}

// Items returns the batch of the job. Without `batch:` it is the job itself as one item.
func (j Job) Items() []BatchItem {
	if len(j.Batch) > 0 {
		return j.Batch
	}
	return []BatchItem{{DedupeKey: j.DedupeKey, Summary: j.Summary, Detail: j.Detail, Labels: j.Labels, Params: j.Params}}
}
