package backlog

import (
	"encoding/binary"
	"errors"
	"slices"

	"github.com/roundsman/roundsman/contract"
)

// Saved is the state of a backlog.
type Saved struct {
	Base   int          `json:"base,omitempty"`
	Last   int          `json:"last,omitempty"`
	Pages  []page       `json:"pages,omitempty"`
	Queues []savedQueue `json:"queues,omitempty"`
}

type savedQueue struct {
	Class contract.JobClass `json:"c,omitzero"`
	// Runs are the waiting numbers: pairs of the distance to the run before and the length.
	Runs []byte `json:"r,omitempty"`
	// Open counts its jobs in the window.
	Open int `json:"o,omitempty"`
}

var errDamaged = errors.New("the state of the backlog is damaged")

// Save returns the state as if those jobs of the window were waiting again.
func (b *Backlog) Save(back []Job) *Saved {
	if b.last == 0 {
		return nil
	}
	returned := make([][]int, len(b.queues))
	for _, j := range back {
		returned[j.Queue] = append(returned[j.Queue], j.Number-b.base)
	}
	s := &Saved{Base: b.base, Last: b.last, Pages: b.pages}
	for i, q := range b.queues {
		numbers := returned[i]
		slices.Sort(numbers)
		merged := queue{}
		for _, r := range q.runs {
			for len(numbers) > 0 && numbers[0] < r.first {
				merged.push(numbers[0], 1)
				numbers = numbers[1:]
			}
			merged.push(r.first, r.count)
		}
		for _, n := range numbers {
			merged.push(n, 1)
		}
		s.Queues = append(s.Queues, savedQueue{Class: q.class, Runs: packRuns(merged.runs), Open: q.open - len(returned[i])})
	}
	return s
}

// Restore is the inverse of [Backlog.Save]; nil is an empty backlog.
func Restore(window int, s *Saved) (*Backlog, error) {
	b := New(window)
	if s == nil {
		return b, nil
	}
	b.base, b.last, b.pages = s.Base, s.Last, s.Pages
	for _, saved := range s.Queues {
		q := b.queueOf(saved.Class)
		runs, err := unpackRuns(saved.Runs)
		if err != nil {
			return nil, err
		}
		for _, r := range runs {
			if r.first < 1 || r.count < 1 || r.first+r.count-1 > b.last {
				return nil, errDamaged
			}
			q.push(r.first, r.count)
		}
		q.open = saved.Open
		b.opened(q, q.open)
		b.wait(q, q.waiting)
	}
	if len(b.queues) != len(s.Queues) {
		return nil, errDamaged
	}
	for _, q := range b.queues {
		b.recount(q)
	}
	return b, nil
}

func packRuns(runs []run) []byte {
	var out []byte
	end := 0
	for _, r := range runs {
		out = binary.AppendUvarint(out, uint64(r.first-end))
		out = binary.AppendUvarint(out, uint64(r.count))
		end = r.first + r.count
	}
	return out
}

func unpackRuns(in []byte) ([]run, error) {
	var runs []run
	end := 0
	for len(in) > 0 {
		gap, n := binary.Uvarint(in)
		if n <= 0 {
			return nil, errDamaged
		}
		count, m := binary.Uvarint(in[n:])
		if m <= 0 || gap > 1<<31 || count > 1<<31 {
			return nil, errDamaged
		}
		in = in[n+m:]
		runs = append(runs, run{end + int(gap), int(count)})
		end += int(gap + count)
	}
	return runs, nil
}
