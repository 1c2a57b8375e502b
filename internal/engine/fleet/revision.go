package fleet

import (
	"cmp"
	"slices"
)

// revisions lists the workers in the order of their last changes. So the changes since a view
// are found without a visit of the others. With 5,000 workers a change moves at most 120 KiB, a
// few microseconds.
type revisions struct {
	list []revision
	// floor is the oldest view since which all changes are listed: before it, workers were
	// dropped or the registry was not complete.
	floor int64
}

type revision struct {
	seq int64
	id  string
}

func compareRevision(a revision, seq int64) int { return cmp.Compare(a.seq, seq) }

func (s *revisions) revise(w *worker, seq int64) {
	s.drop(w)
	w.Revision = seq
	s.list = append(s.list, revision{seq, w.ID})
}

func (s *revisions) drop(w *worker) {
	if at, found := slices.BinarySearchFunc(s.list, w.Revision, compareRevision); found {
		s.list = slices.Delete(s.list, at, at+1)
	}
}

// forget drops a worker and raises the floor: a watcher without the worker's end would never
// receive it.
func (s *revisions) forget(w *worker) {
	s.drop(w)
	s.floor = max(s.floor, w.Revision)
}

// since returns the changes after a view; false if they are incomplete.
func (s *revisions) since(seq int64) ([]revision, bool) {
	if seq < max(s.floor, 1) {
		return nil, false
	}
	at, _ := slices.BinarySearchFunc(s.list, seq+1, compareRevision)
	return s.list[at:], true
}

// restore adds a worker; the list is in order after [revisions.sort].
func (s *revisions) restore(w *worker) { s.list = append(s.list, revision{w.Revision, w.ID}) }

func (s *revisions) sort() {
	slices.SortFunc(s.list, func(a, b revision) int { return cmp.Or(cmp.Compare(a.seq, b.seq), cmp.Compare(a.id, b.id)) })
}
