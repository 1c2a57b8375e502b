package config

import (
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/batch"
	"github.com/roundsman/roundsman/jobtype"
)

func (l *loader) batch(e entry) *contract.BatchSpec {
	n, path := e.node.Get("batch"), e.path+".batch"
	if n == nil || !l.object(n, path, "by", "max_size") {
		return nil
	}
	read := &contract.BatchSpec{MaxSize: jobtype.MaxBatchSize}
	if e.handler != nil && !e.handler.descriptor.Batches {
		l.fault(n.Place(), path, "handler %s does one proposal at a time (its descriptor has no batches): leave batch out", e.handler.descriptor.Name)
	}
	if size := n.Get("max_size"); size != nil {
		before := len(l.faults)
		l.integer(size, path+".max_size", &read.MaxSize)
		if len(l.faults) == before && (read.MaxSize < 1 || read.MaxSize > jobtype.MaxBatchSize) {
			l.fault(size.Place(), path+".max_size", "%d is out of range: use 1 to %d", read.MaxSize, jobtype.MaxBatchSize)
		}
	}
	by := n.Get("by")
	if by == nil {
		l.fault(n.Place(), path+".by", "is missing: write a template over the proposal, for example '{{.Labels.volume}}'")
		return read
	}
	before := len(l.faults)
	l.text(by, path+".by", &read.By)
	if len(l.faults) > before {
		return read
	}
	if _, err := batch.Parse(read.By); err != nil {
		l.fault(by.Place(), path+".by", "%s", err)
	}
	return read
}

func batchSchema() object {
	return closed(object{
		"by":       described("string", "a template over the proposal: proposals with the same text share a job; one with an empty text stands alone"),
		"max_size": object{"type": "integer", "minimum": 1, "maximum": jobtype.MaxBatchSize, "description": "how many share one job; default 100"},
	})
}
