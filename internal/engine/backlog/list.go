package backlog

import (
	"cmp"
	"slices"

	"github.com/roundsman/roundsman/contract"
)

// Range is the jobs First to Last.
type Range struct{ First, Last int }

// Has reports whether a number waits.
func (b *Backlog) Has(number int) bool {
	q, _ := b.find(number - b.base)
	return q != nil
}

func (b *Backlog) find(relative int) (*queue, int) {
	for _, q := range b.queues {
		at, found := slices.BinarySearchFunc(q.runs, relative, func(r run, n int) int {
			switch {
			case n < r.first:
				return 1
			case n >= r.first+r.count:
				return -1
			}
			return 0
		})
		if found {
			return q, at
		}
	}
	return nil, 0
}

// List returns the waiting job with that number, or, if it is 0, at most limit of all from offset on. total counts all.
func (b *Backlog) List(number, offset, limit int) (list []Job, total int) {
	if number > 0 {
		q, _ := b.find(number - b.base)
		if q == nil {
			return nil, 0
		}
		if offset == 0 && limit > 0 {
			list = []Job{b.job(number-b.base, q)}
		}
		return list, 1
	}
	for _, q := range b.queues {
		if offset >= q.waiting {
			offset -= q.waiting
			continue
		}
		for _, r := range q.runs {
			for k := min(offset, r.count); k < r.count && len(list) < limit; k++ {
				list = append(list, b.job(r.first+k, q))
			}
			if offset = max(offset-r.count, 0); len(list) >= limit {
				return list, b.waiting
			}
		}
	}
	return list, b.waiting
}

// Opened returns a job of the window, by its number and queue. It returns false if there is no such job.
func (b *Backlog) Opened(number, index int) (Job, bool) {
	if index < 0 || index >= len(b.queues) || number <= b.base || number > b.base+b.last {
		return Job{}, false
	}
	return b.job(number-b.base, b.queues[index]), true
}

func (b *Backlog) job(relative int, q *queue) Job {
	j := Job{Number: b.base + relative, Queue: q.index, Class: q.class}
	at, found := slices.BinarySearchFunc(b.pages, relative, func(p page, n int) int { return cmp.Compare(p.First, n) })
	if !found {
		at--
	}
	p := b.pages[at]
	j.Page, j.Position, j.Estimate, j.At = p.Name, relative-p.First, p.Estimate, p.At
	return j
}

// Numbers lists the numbers of the waiting jobs in ranges, by number.
func (b *Backlog) Numbers() []Range { return b.numbers(false) }

func (b *Backlog) numbers(keyed bool) []Range {
	var runs []run
	for _, q := range b.queues {
		if q.class.Keyed || !keyed {
			runs = append(runs, q.runs...)
		}
	}
	slices.SortFunc(runs, func(x, y run) int { return cmp.Compare(x.first, y.first) })
	var list []Range
	for _, r := range runs {
		if n := len(list); n > 0 && list[n-1].Last == b.base+r.first-1 {
			list[n-1].Last += r.count
			continue
		}
		list = append(list, Range{First: b.base + r.first, Last: b.base + r.first + r.count - 1})
	}
	return list
}

// Table lists the pages with the numbers of their jobs.
func (b *Backlog) Table() []contract.ProposalTable {
	var table []contract.ProposalTable
	for _, p := range b.pages {
		table = append(table, contract.ProposalTable{Page: p.Name, First: b.base + p.First, Last: b.base + p.First + p.Count - 1})
	}
	return table
}
