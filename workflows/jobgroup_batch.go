package workflows

import (
	"encoding/json"

	"github.com/roundsman/roundsman/internal/dispatch"
	"github.com/roundsman/roundsman/jobtype"
)

func (r *groupRun) batchSize() int {
	if r.in.Spec.Batch == nil {
		return 0
	}
	return r.in.Spec.Batch.MaxSize
}

func (r *groupRun) batchBy() string {
	if r.in.Spec.Batch == nil {
		return ""
	}
	return r.in.Spec.Batch.By
}

// ownParams are the proposal's, unless they travel with the items of its batch.
func ownParams(d dispatch.StartJob) json.RawMessage {
	if d.Batch != nil {
		return nil
	}
	return d.Proposal.Params
}

// batchShown lists the items of a batch where one job was asked for; a page of
// jobs with all their items would not fit into an answer.
func batchShown(v dispatch.JobView, filter dispatch.Filter) []jobtype.BatchItem {
	if filter.Job == 0 && filter.DedupeKey == "" {
		return nil
	}
	var shown []jobtype.BatchItem
	for _, item := range v.Items {
		shown = append(shown, jobtype.BatchItem{DedupeKey: item.DedupeKey, Summary: item.Summary})
	}
	return shown
}
