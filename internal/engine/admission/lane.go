package admission

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
)

type lanes struct {
	byName map[string]*lane
	names  *sorted[string]
	open   map[string]bool
	weight int
}

func newLanes() lanes {
	return lanes{byName: map[string]*lane{}, names: newSorted(strings.Compare), open: map[string]bool{}}
}

// lane admits one holder at a time. The waiting job types take turns alphabetically, except that a type that had its
// turn while another waited goes behind that one.
type lane struct {
	holder  *request
	waiting *sorted[*request]
	// common counts the waiting requests that a second group of the type would repeat.
	ofType map[string]*sorted[*request]
	common map[string]int
	next   *sorted[string]
	// Arrival number of a type's last turn, kept while an older request waits, and the same by that number.
	had   map[string]int64
	turns *sorted[pastTurn]
}

type pastTurn struct {
	at      int64
	jobType string
}

func (s *lanes) lane(name string) *lane {
	l := s.byName[name]
	if l == nil {
		l = &lane{
			waiting: newSorted(bySeq), ofType: map[string]*sorted[*request]{}, common: map[string]int{},
			next: newSorted(strings.Compare), had: map[string]int64{},
			turns: newSorted(func(a, b pastTurn) int { return cmp.Compare(a.at, b.at) }),
		}
		s.byName[name] = l
		s.names.add(name)
	}
	return l
}

// Two groups of one job type would repeat the same work. So the second joins the waiting one, unless either is distinct.
func (c *Core) askLane(r *request) {
	l := c.lanes.lane(r.Lane)
	if !r.Distinct && l.common[r.JobType] > 0 {
		for other := range l.ofType[r.JobType].all() {
			if !other.Distinct {
				c.refuse(r, contract.AdmissionRefusal{Code: contract.RefusedCoalesced, Object: r.Lane, By: other.Holder.WorkflowID})
				return
			}
		}
	}
	c.add(r)
	l.enqueue(r)
	c.lanes.open[r.Lane] = true
}

func (l *lane) enqueue(r *request) {
	l.waiting.add(r)
	ofType := l.ofType[r.JobType]
	if ofType == nil {
		ofType = newSorted(bySeq)
		l.ofType[r.JobType] = ofType
	}
	ofType.add(r)
	if !r.Distinct {
		l.common[r.JobType]++
	}
	if _, had := l.had[r.JobType]; !had {
		l.next.add(r.JobType)
	}
}

func (l *lane) dequeue(r *request) {
	l.waiting.remove(r)
	if !r.Distinct {
		if l.common[r.JobType]--; l.common[r.JobType] == 0 {
			delete(l.common, r.JobType)
		}
	}
	ofType := l.ofType[r.JobType]
	if ofType.remove(r); ofType.len() == 0 {
		delete(l.ofType, r.JobType)
		l.next.remove(r.JobType)
	}
}

func (s *lanes) leave(r *request) {
	l := s.byName[r.Lane]
	if l.holder == r {
		l.holder = nil
	} else if l.ofType[r.JobType] != nil {
		l.dequeue(r)
	}
	s.open[r.Lane] = true
	if l.holder == nil && l.waiting.len() == 0 {
		for _, had := range l.turns.list() {
			s.forgetTurn(l, had)
		}
		delete(s.byName, r.Lane)
		delete(s.open, r.Lane)
		s.names.remove(r.Lane)
	}
}

func (c *Core) serveLanes(now time.Time) {
	if len(c.lanes.open) == 0 {
		return
	}
	open := slices.Sorted(maps.Keys(c.lanes.open))
	clear(c.lanes.open)
	for _, name := range open {
		l := c.lanes.byName[name]
		if l == nil || l.holder != nil || l.waiting.len() == 0 {
			continue
		}
		r := c.lanes.pick(l)
		l.dequeue(r)
		l.holder = r
		c.seq++
		c.lanes.hadTurn(l, r.JobType, c.seq, c.hasRoom)
		c.grant(r, now)
	}
}

func (s *lanes) pick(l *lane) *request {
	oldest := l.waiting.first()
	for l.turns.len() > 0 && l.turns.first().at < oldest.Seq {
		had := l.turns.first()
		s.forgetTurn(l, had)
		if l.ofType[had.jobType] != nil {
			l.next.add(had.jobType)
		}
	}
	if l.next.len() == 0 || oldest.JobType <= l.next.first() {
		return oldest
	}
	return l.ofType[l.next.first()].first()
}

// Without room for the time of its turn, the type may get another turn before those that wait.
func (s *lanes) hadTurn(l *lane, jobType string, at int64, hasRoom func(weight int) bool) {
	if before, had := l.had[jobType]; had {
		s.forgetTurn(l, pastTurn{before, jobType})
	}
	l.next.remove(jobType)
	if weight := turnWeight + len(jobType); hasRoom(weight) {
		s.weight += weight
		l.had[jobType] = at
		l.turns.add(pastTurn{at, jobType})
	} else if l.ofType[jobType] != nil {
		l.next.add(jobType)
	}
}

func (s *lanes) forgetTurn(l *lane, had pastTurn) {
	s.weight -= turnWeight + len(had.jobType)
	delete(l.had, had.jobType)
	l.turns.remove(had)
}
