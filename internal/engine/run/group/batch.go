package group

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/record"
	"github.com/roundsman/roundsman/jobtype"
)

// Batching makes one job of several proposals. They are gathered once the keys are
// claimed: a proposal that another group has is in no batch, and batches are as full
// as they can be.
//
// Proposals of one batch key, one node and the same labels share a job, in the
// order of detection, until it is full. One that carries a DAG stands alone.

// gather makes the jobs of a group out of its proposals.
func (g *Group) gather() {
	if g.cfg.BatchSize == 0 {
		return
	}
	list := batched(g.jobs.sorted(), g.cfg.BatchSize)
	g.counts.Batched += g.counts.Accepted - len(list)
	g.counts.Accepted = len(list)
	g.jobs.replace(list)
	for _, j := range list {
		j.closeBatch()
	}
}

// batched joins jobs of one bucket, in their order.
func batched(found []*job, most int) []*job {
	open := map[string]*job{}
	sizes := map[*job]int{}
	var list []*job
	for _, j := range found {
		key := j.bucket()
		size := proposalBytes(j.Proposal)
		first := open[key]
		if key != "" && first != nil && first.takes(j, most) && sizes[first]+size <= jobtype.MaxBatchBytes {
			first.join(j)
			sizes[first] += size
			continue
		}
		list = append(list, j)
		if key != "" {
			open[key], sizes[j] = j, size
		}
	}
	return list
}

// countBatches counts the jobs that there would be, and leaves the proposals as they
// were found.
func (g *Group) countBatches() {
	if g.cfg.BatchSize == 0 {
		return
	}
	var copies []*job
	for _, j := range g.jobs.sorted() {
		copies = append(copies, new(*j))
	}
	n := len(batched(copies, g.cfg.BatchSize))
	g.counts.Batched += g.counts.Accepted - n
	g.counts.Accepted = n
}

// bucket tells proposals apart that cannot share a job; empty: it stands alone.
func (j *job) bucket() string {
	if j.BatchKey == "" || j.Proposal.DAG != "" || j.Canceling != "" {
		return ""
	}
	return strconv.Quote(j.BatchKey) + "\x00" + j.Proposal.Node + "\x00" + explain.Labels(j.Proposal.Labels)
}

// takes reports whether another proposal may join. One whose time to start has
// no moment in common with that of the batch would keep all of it from starting.
func (j *job) takes(other *job, most int) bool {
	if max(len(j.Items), 1) >= most {
		return false
	}
	from := latestOf(j.Proposal.NotBefore, other.Proposal.NotBefore)
	until := earliestSet(j.Proposal.ExpiresAt, other.Proposal.ExpiresAt)
	return until.IsZero() || from.Before(until)
}

// join adds a proposal. The job claims what any of them claims; of a
// pool it takes as much as the one that needs most, since the items are done by
// one handler. It is as urgent as the most urgent one.
func (j *job) join(other *job) {
	if len(j.Items) == 0 {
		j.Items, j.Parts = []jobtype.BatchItem{itemOf(j.Proposal)}, []jobtype.Proposal{record.Part(j.Proposal)}
		j.Proposal.Exclusive, j.Proposal.Shared = slices.Clone(j.Proposal.Exclusive), slices.Clone(j.Proposal.Shared)
	}
	j.Items, j.Parts = append(j.Items, itemOf(other.Proposal)), append(j.Parts, record.Part(other.Proposal))
	p, q := &j.Proposal, other.Proposal
	if q.Priority.Rank() > p.Priority.Rank() {
		p.Priority = q.Priority
	}
	p.Resources = largest(p.Resources, q.Resources)
	p.Exclusive = union(p.Exclusive, q.Exclusive)
	p.Shared = union(p.Shared, q.Shared)
	p.NotBefore, p.ExpiresAt = latestOf(p.NotBefore, q.NotBefore), earliestSet(p.ExpiresAt, q.ExpiresAt)
	p.EstimatedRuntime = min(p.EstimatedRuntime+q.EstimatedRuntime, jobtype.MaxEstimatedRuntime)
}

// closeBatch leaves only what all items have in common in the proposal.
func (j *job) closeBatch() {
	if len(j.Items) == 0 {
		j.BatchKey = ""
		return
	}
	p := &j.Proposal
	p.DedupeKey, p.Detail, p.Params = "", "", nil
	p.Summary = j.batchSummary()
	p.Shared = slices.DeleteFunc(p.Shared, func(object string) bool { return slices.Contains(p.Exclusive, object) })
	if len(p.Shared) == 0 {
		p.Shared = nil // As a snapshot gives it back.
	}
}

func (j *job) batchSummary() string {
	return jobtype.OneLine(fmt.Sprintf("%s: batch of %d", j.BatchKey, len(j.Items)), jobtype.MaxSummaryBytes)
}

func itemOf(p jobtype.Proposal) jobtype.BatchItem {
	return jobtype.BatchItem{DedupeKey: p.DedupeKey, Summary: p.Summary, Detail: p.Detail, Priority: p.Priority, Params: p.Params}
}

// batchOf is what the handler receives: nothing in a job type without batches, else
// every proposal that the job stands for.
func (g *Group) batchOf(j *job) []jobtype.BatchItem {
	switch {
	case g.cfg.BatchSize == 0 || j.Proposal.DAG != "":
		return nil
	case len(j.Items) > 0:
		return j.Items
	}
	return []jobtype.BatchItem{itemOf(j.Proposal)}
}

// keys are the dedupe keys of all that the job stands for.
func (j *job) keys() []string {
	var keys []string
	for _, item := range j.Items {
		if item.DedupeKey != "" {
			keys = append(keys, item.DedupeKey)
		}
	}
	if len(j.Items) == 0 && j.Proposal.DedupeKey != "" {
		keys = append(keys, j.Proposal.DedupeKey)
	}
	return keys
}

// firstKey names the job where there is room for one key only.
func (j *job) firstKey() string {
	if keys := j.keys(); len(keys) > 0 {
		return keys[0]
	}
	return ""
}

func (j *job) carries(key string) bool {
	return key != "" && (j.Proposal.DedupeKey == key || slices.ContainsFunc(j.Items, func(item jobtype.BatchItem) bool { return item.DedupeKey == key }))
}

// dropItem takes a proposal out of a batch that does not run.
func (j *job) dropItem(key string) {
	j.Items, j.Parts = record.Without(j.Items, j.Parts, key)
	j.Proposal.Summary = j.batchSummary()
}

// shortItems are what people still ask for when the job has ended.
func (j *job) shortItems() []jobtype.BatchItem {
	var short []jobtype.BatchItem
	for _, item := range j.Items {
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

// itemsText says of a job that stands for several proposals that it does.
func (j *job) itemsText() string {
	if len(j.Items) == 0 {
		return ""
	}
	return fmt.Sprintf(" (with all %d items of its batch)", len(j.Items))
}

// largest has of each pool as much as the larger of both takes. Neither is changed.
func largest(a, b map[string]int) map[string]int {
	if len(a) == 0 {
		return b
	}
	if len(b) == 0 {
		return a
	}
	merged := maps.Clone(a)
	//workflowcheck:ignore each pool has its own maximum, whatever the order
	for pool, amount := range b {
		merged[pool] = max(merged[pool], amount)
	}
	return merged
}
