package group

import (
	"github.com/roundsman/roundsman/internal/engine/run/group/proposed"
	"github.com/roundsman/roundsman/jobtype"
)

// Batching makes one job of several proposals. They are gathered once the keys are
// claimed: a proposal that another group has is in no batch, and batches are as full
// as they can be.
//
// Proposals of one batch key, one node and the same labels share a job, in the
// order of detection, until it is full. One that carries a DAG stands alone.

// gather makes jobs out of proposals.
func (g *work) gather(found []*job) []*job {
	if g.cfg.BatchSize == 0 {
		return found
	}
	list := proposed.Batched(found, batchable, g.cfg.BatchSize)
	g.tally.Batch(len(found) - len(list))
	for _, j := range list {
		j.Close()
	}
	return list
}

// batchable returns the proposals of a job that may share it; nil: it is canceled.
func batchable(j *job) *proposed.Work {
	if j.Canceling != "" {
		return nil
	}
	return &j.Work
}

// countBatches counts the jobs that there would be, and leaves the proposals as they
// were found.
func (g *work) countBatches() {
	if g.cfg.BatchSize == 0 {
		return
	}
	var copies []*job
	for _, j := range g.jobs.Sorted() {
		copies = append(copies, new(*j))
	}
	n := len(proposed.Batched(copies, batchable, g.cfg.BatchSize))
	g.tally.Batch(g.tally.Counts.Accepted - n)
}

// batchOf returns the proposals of a job for the handler; nil in a job type without batches.
func (c Config) batchOf(j *job) []jobtype.BatchItem {
	switch {
	case c.BatchSize == 0 || j.Proposal.DAG != "":
		return nil
	case len(j.Items) > 0:
		return j.Items
	}
	return []jobtype.BatchItem{proposed.ItemOf(j.Proposal)}
}
