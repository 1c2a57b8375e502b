package jobs

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/roundsman/roundsman/jobtype"
)

// mergeParams replaces whole values; objects are not merged deeper.
func mergeParams(base, overlay json.RawMessage) (json.RawMessage, error) {
	if len(overlay) == 0 {
		return base, nil
	}
	if len(base) == 0 {
		return overlay, nil
	}
	merged, err := object("the job type's params", base)
	if err != nil {
		return nil, err
	}
	own, err := object("the proposal's params", overlay)
	if err != nil {
		return nil, err
	}
	maps.Copy(merged, own)
	return json.Marshal(merged)
}

func completeItems(job jobtype.Job) ([]jobtype.BatchItem, error) {
	if len(job.Batch) == 0 {
		return nil, nil
	}
	items := slices.Clone(job.Batch)
	for i := range items {
		params, err := mergeParams(job.Params, items[i].Params)
		if err != nil {
			return nil, fmt.Errorf("item %d of the batch: %w", i+1, err)
		}
		items[i].Params, items[i].Labels = orEmpty(params), job.Labels
	}
	return items, nil
}

// orEmpty returns an object for a block that the configuration leaves out, as a schema sees it.
func orEmpty(block json.RawMessage) json.RawMessage {
	if len(block) == 0 {
		return json.RawMessage("{}")
	}
	return block
}

func object(what string, data json.RawMessage) (map[string]json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, fmt.Errorf("%s must be a JSON object: %w", what, err)
	}
	if fields == nil {
		fields = map[string]json.RawMessage{}
	}
	return fields, nil
}
