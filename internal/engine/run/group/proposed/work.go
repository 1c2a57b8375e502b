package proposed

import (
	"maps"
	"slices"
	"strconv"

	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/instant"
	"github.com/roundsman/roundsman/internal/engine/record"
	"github.com/roundsman/roundsman/jobtype"
)

// Work is the proposal of a job, or the proposals of its batch.
type Work struct {
	Proposal jobtype.Proposal `json:"p"`
	// BatchKey names its batch. Items are the proposals of a batch of several; Proposal has the
	// fields that they share.
	BatchKey string              `json:"bk,omitempty"`
	Items    []jobtype.BatchItem `json:"it,omitempty"`
	// Parts are the other fields of these proposals, one for each item.
	Parts []jobtype.Proposal `json:"pt,omitempty"`
}

// Batched joins jobs of one bucket, in their order. A job for which work returns nil joins no
// batch.
func Batched[J any](found []J, work func(J) *Work, most int) []J {
	open := map[string]*Work{}
	sizes := map[*Work]int{}
	var list []J
	for _, j := range found {
		w, key := work(j), ""
		if w != nil {
			key = w.bucket()
		}
		if key == "" {
			list = append(list, j)
			continue
		}
		size := Bytes(w.Proposal)
		if first := open[key]; first != nil && first.takes(w, most) && sizes[first]+size <= jobtype.MaxBatchBytes {
			first.join(w)
			sizes[first] += size
			continue
		}
		list = append(list, j)
		open[key], sizes[w] = w, size
	}
	return list
}

// bucket is equal for proposals that may share a job; empty: this one stands alone.
func (w *Work) bucket() string {
	if w.BatchKey == "" || w.Proposal.DAG != "" {
		return ""
	}
	return strconv.Quote(w.BatchKey) + "\x00" + w.Proposal.Node + "\x00" + explain.Labels(w.Proposal.Labels)
}

// takes reports whether another proposal may join. If its time to start had no moment in common
// with that of the batch, the batch would never start.
func (w *Work) takes(other *Work, most int) bool {
	if max(len(w.Items), 1) >= most {
		return false
	}
	from := instant.Later(w.Proposal.NotBefore, other.Proposal.NotBefore)
	until := instant.Earlier(w.Proposal.ExpiresAt, other.Proposal.ExpiresAt)
	return until.IsZero() || from.Before(until)
}

// join adds a proposal. The job claims the keys and objects of all proposals, and has the highest
// priority of them. One handler does all items, so it takes the largest amount of each pool.
func (w *Work) join(other *Work) {
	if len(w.Items) == 0 {
		w.Items, w.Parts = []jobtype.BatchItem{ItemOf(w.Proposal)}, []jobtype.Proposal{record.Part(w.Proposal)}
		w.Proposal.Exclusive, w.Proposal.Shared = slices.Clone(w.Proposal.Exclusive), slices.Clone(w.Proposal.Shared)
	}
	w.Items, w.Parts = append(w.Items, ItemOf(other.Proposal)), append(w.Parts, record.Part(other.Proposal))
	p, q := &w.Proposal, other.Proposal
	if q.Priority.Rank() > p.Priority.Rank() {
		p.Priority = q.Priority
	}
	p.Resources = Largest(p.Resources, q.Resources)
	p.Exclusive = union(p.Exclusive, q.Exclusive)
	p.Shared = union(p.Shared, q.Shared)
	p.NotBefore, p.ExpiresAt = instant.Later(p.NotBefore, q.NotBefore), instant.Earlier(p.ExpiresAt, q.ExpiresAt)
	p.EstimatedRuntime = min(p.EstimatedRuntime+q.EstimatedRuntime, jobtype.MaxEstimatedRuntime)
}

// Close removes the fields from the proposal that differ between the items.
func (w *Work) Close() {
	if len(w.Items) == 0 {
		w.BatchKey = ""
		return
	}
	p := &w.Proposal
	p.DedupeKey, p.Detail, p.Params = "", "", nil
	p.Summary = w.batchSummary()
	p.Shared = slices.DeleteFunc(p.Shared, func(object string) bool { return slices.Contains(p.Exclusive, object) })
	if len(p.Shared) == 0 {
		p.Shared = nil // As a snapshot gives it back.
	}
}

func (w *Work) batchSummary() string {
	return jobtype.OneLine(w.BatchKey+": "+explain.TextBatch(len(w.Items)), jobtype.MaxSummaryBytes)
}

// ItemOf returns the part of a proposal that travels in a batch.
func ItemOf(p jobtype.Proposal) jobtype.BatchItem {
	return jobtype.BatchItem{DedupeKey: p.DedupeKey, Summary: p.Summary, Detail: p.Detail, Priority: p.Priority, Params: p.Params}
}

// Keys are the dedupe keys of all proposals.
func (w *Work) Keys() []string {
	var keys []string
	for _, item := range w.Items {
		if item.DedupeKey != "" {
			keys = append(keys, item.DedupeKey)
		}
	}
	if len(w.Items) == 0 && w.Proposal.DedupeKey != "" {
		keys = append(keys, w.Proposal.DedupeKey)
	}
	return keys
}

// FirstKey is the name of the job in lists.
func (w *Work) FirstKey() string {
	if keys := w.Keys(); len(keys) > 0 {
		return keys[0]
	}
	return ""
}

// Carries reports whether a proposal of the job has this dedupe key.
func (w *Work) Carries(key string) bool {
	return key != "" && (w.Proposal.DedupeKey == key || slices.ContainsFunc(w.Items, func(item jobtype.BatchItem) bool { return item.DedupeKey == key }))
}

// DropItem takes a proposal out of a batch that does not run.
func (w *Work) DropItem(key string) {
	w.Items, w.Parts = record.Without(w.Items, w.Parts, key)
	w.Proposal.Summary = w.batchSummary()
}

// ShortItems are the items without the fields that no list shows after the end of the job.
func (w *Work) ShortItems() []jobtype.BatchItem {
	var short []jobtype.BatchItem
	for _, item := range w.Items {
		short = append(short, jobtype.BatchItem{DedupeKey: item.DedupeKey, Summary: item.Summary})
	}
	return short
}

func union(have, more []string) []string {
	for _, object := range more {
		if !slices.Contains(have, object) {
			have = append(have, object)
		}
	}
	return have
}

// Largest returns the larger amount of each pool. It changes neither argument.
func Largest(a, b map[string]int) map[string]int {
	if len(a) == 0 {
		return b
	}
	if len(b) == 0 {
		return a
	}
	merged := maps.Clone(a)
	//workflowcheck:ignore each pool has its own maximum, in any order
	for pool, amount := range b {
		merged[pool] = max(merged[pool], amount)
	}
	return merged
}

// Bytes is the size of the proposals in an attempt.
func (w *Work) Bytes() int {
	size := Bytes(w.Proposal)
	for _, item := range w.Items {
		size += len(item.DedupeKey) + len(item.Summary) + len(item.Detail) + len(item.Params)
	}
	return size
}

// Bytes estimates the size of p as JSON without encoding it again.
func Bytes(p jobtype.Proposal) int {
	const fieldNames = 64
	size := fieldNames + len(p.DedupeKey) + len(p.Summary) + len(p.Detail) + len(p.Params) + len(p.DAG)
	//workflowcheck:ignore a sum does not depend on the order
	for key, value := range p.Labels {
		size += len(key) + len(value)
	}
	//workflowcheck:ignore a sum does not depend on the order
	for key := range p.Resources {
		size += len(key)
	}
	for _, object := range p.Exclusive {
		size += len(object)
	}
	for _, object := range p.Shared {
		size += len(object)
	}
	return size
}
