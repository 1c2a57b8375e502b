package record

import (
	"encoding/json"
	"slices"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// Part returns the fields of a proposal that differ within a batch and that its item lacks.
func Part(p jobtype.Proposal) jobtype.Proposal {
	return jobtype.Proposal{
		Resources: p.Resources, Exclusive: p.Exclusive, Shared: p.Shared, NotBefore: p.NotBefore, ExpiresAt: p.ExpiresAt, EstimatedRuntime: p.EstimatedRuntime,
	}
}

// Data returns the data of a done job from the stored rest of its result; nil if the job was not done.
func Data(left string, done bool) json.RawMessage {
	if !done || left == "" {
		return nil
	}
	return json.RawMessage(left)
}

// Without removes the items with a key from a batch, and their parts.
func Without(items []jobtype.BatchItem, parts []jobtype.Proposal, key string) (left []jobtype.BatchItem, leftParts []jobtype.Proposal) {
	for i, item := range items {
		if item.DedupeKey != key {
			left, leftParts = append(left, item), append(leftParts, parts[i])
		}
	}
	return left, leftParts
}

// Work encodes the [contract.JobWork] of a job: its proposal, or those of its batch before they were joined.
func Work(own jobtype.Proposal, items []jobtype.BatchItem, parts []jobtype.Proposal, batchKey string) string {
	work := contract.JobWork{Proposals: []jobtype.Proposal{own}, BatchKey: batchKey}
	if len(items) > 0 {
		work.Proposals = slices.Clone(parts)
	}
	for i, item := range items {
		p := &work.Proposals[i]
		p.DedupeKey, p.Summary, p.Detail, p.Priority, p.Params = item.DedupeKey, item.Summary, item.Detail, item.Priority, item.Params
		p.Node, p.Labels = own.Node, own.Labels
	}
	encoded, err := json.Marshal(work)
	if err != nil {
		return "" // Its params were valid when it was proposed.
	}
	return string(encoded)
}
